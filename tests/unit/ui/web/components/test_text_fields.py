"""Text fields that the server fills while somebody may be typing."""

from nicegui import ui
from nicegui.element import Element
from nicegui.testing import User

from tests.support.harness import until
from ui.web.components.widgets import text_input
from ui.web.routing import serve_page


async def test_text_typed_into_a_new_field_is_not_replaced_by_its_initial_value(
    user: User, monkeypatch
) -> None:
    serve_page('/field')(lambda: ui.label('the page'))
    await user.open('/field')
    called: list[str] = []
    monkeypatch.setattr(Element, 'run_method', lambda field, name, *_, **__: called.append(name))
    with user.client:
        field = text_input('default')
        field.set_value('of the run')
        assert called == [], 'its first value comes with it'
        await until(lambda: not user.client.outbox.updates)
        field.set_value('of the server')
        assert called == ['updateValue'], 'the browser has the field already'
