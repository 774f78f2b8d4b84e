"""Lists of resources: what they say when there is nothing to show."""

from typing import Any

from nicegui import ui
from nicegui.testing import User

from engine import EngineError
from tests.support.pages.clicks import see
from ui.web.components.widgets import Text
from ui.web.pages.shared.resource_list import RowList


class Shelf(RowList):
    """Items that a test sets, or the problem of reading them."""

    PART, TITLE, EMPTY, ICON = 'schedules', 'Shelf', 'The shelf is empty.', 'inbox'
    items: Any = ()

    def draw_controls(self) -> None:
        ui.label('sorted by name')

    async def read(self) -> Any:
        if isinstance(self.items, EngineError):
            raise self.items
        return self.items

    def draw(self, item: str) -> None:
        Text('b', item)


async def test_a_problem_is_said_once_however_often_the_list_is_refreshed(user: User):
    shelves: list[Shelf] = []

    @ui.page('/shelf')
    def page() -> None:
        shelves.append(Shelf(None))  # type: ignore[arg-type]

    await user.open('/shelf')
    (shelf,) = shelves
    with user:
        await shelf.refresh()
        await see(user, 'sorted by name', 'The shelf is empty.')
        for items in (EngineError('It is locked.'), EngineError('It is locked.'), ['Cup'], []):
            shelf.items = items
            await shelf.refresh()
        assert user.notify.messages == ['It is locked.']
        shelf.items = EngineError('It is locked.')
        await shelf.refresh()
        assert user.notify.messages == ['It is locked.', 'It is locked.']
