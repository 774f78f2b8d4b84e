"""Elements made with their classes and attributes."""

from nicegui import ui
from nicegui.testing import User

from ui.web.components.theme import button
from ui.web.components.widgets import Box
from ui.web.routing import serve_page


async def test_an_attribute_may_be_any_text(user: User) -> None:
    serve_page('/boxes')(lambda: ui.label('the page'))
    await user.open('/boxes')
    name = 'He said: "a=b" \\ \'c\' [d] open'
    with user.client:
        box = Box('card wide', 'section', aria_label=name, for_='x', open=True, hidden=False)
        icon = button('', icon='close', label=name, data_part='x')
    assert (box.tag, list(box.classes)) == ('section', ['card', 'wide'])
    assert dict(box.props) == {'aria-label': name, 'for': 'x', 'open': True}
    assert dict(icon.props) == {'type': 'button', 'data-part': 'x', 'aria-label': name}
