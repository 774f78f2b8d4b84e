"""Lists of resources, such as schedules: a section with a row each, and a dialog to add or edit one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from typing_extensions import override

from engine import EngineError, InvalidInput
from ui.app.backend import Backend
from ui.web.components.dialogs import (
    await_answer,
    confirm,
    dialog_frame,
    draw_dialog_actions,
    notify_error,
    notify_errors,
    show_secret,
)
from ui.web.components.theme import button, empty_state, section_head
from ui.web.components.widgets import Box, CachedElement
from ui.web.permission import is_permitted, refusal

Action = Callable[[], Awaitable[object]]


class RowList(ABC):
    """A section with a heading and a row for each item; it is redrawn only when the items have changed."""

    PART: ClassVar[str]
    """Its service's name in permissions."""
    TITLE: ClassVar[str]
    ID: ClassVar[str] = ''
    """The id of its heading, if not the title in lower case."""
    EMPTY: ClassVar[str]
    """What is said if there are no items."""
    ICON: ClassVar[str]

    def __init__(self, backend: Backend) -> None:
        """Draw it, without rows; `refresh` reads them."""
        self.backend, self._problem = backend, ''
        id = self.ID or self.TITLE.lower()
        with Box('section', 'section', aria_labelledby=id):
            with section_head(self.TITLE, id):
                self.draw_controls()
            self._place = CachedElement('ghost', data_redrawn=True)

    @abstractmethod
    def draw_controls(self) -> None:
        """Draw what is at the other end of the heading."""

    @abstractmethod
    async def read(self) -> Sequence[Any]:
        """Read the items, each with all that its row shows. Raises `EngineError`."""

    @abstractmethod
    def draw(self, item: Any) -> None:
        """Draw the row of an item that `read` has returned."""

    async def refresh(self) -> None:
        """Bring the list up to date."""
        items: Sequence[Any] = ()
        why = refusal(f'{self.PART}.list')
        try:
            items = items if why else await self.read()
        except EngineError as error:
            if self._problem != str(error):  # said once, however often the list is refreshed
                notify_error(error)
            self._problem = str(error)
            return
        self._problem = ''
        if not self._place.clear_if_changed((why, items)):
            return
        with self._place:
            if why:
                empty_state('lock', f'{why}.')
            elif not items:
                empty_state(self.ICON, self.EMPTY)
            else:
                with Box('card rows', 'ul'):
                    for item in items:
                        with Box(tag='li'):
                            self.draw(item)

    def draw_actions(self, name: str, actions: Mapping[str, Action]) -> None:
        """Draw a button for each action on what has this name; afterwards the list is refreshed."""
        with Box('row-actions'):
            for text, act in actions.items():
                button(text, kind='small', aria_label=f'{text}: {name}').on(
                    'click', lambda _, act=act: self._perform(act)
                )

    async def _perform(self, act: Action) -> None:
        await notify_errors(act())
        await self.refresh()


T = TypeVar('T', bound=Any)
"""A record with an id and a name."""


class Editor(Protocol):
    """The form of a record in a dialog."""

    def submit(self) -> dict[str, Any] | None:
        """Return the record's values; if a field is invalid, focus the first and return None."""

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems, by the paths of the record's fields, and focus the first."""


class ResourceList(RowList, Generic[T]):
    """A list of records that people add, change and remove."""

    DIALOG: ClassVar[str] = ''
    """The kind of its dialog."""
    NEW: ClassVar[str]
    """What the button to add one says."""
    REMOVED: ClassVar[str]
    """What removing one means."""
    SECRET: ClassVar[tuple[str, str]] = ('', '')
    """Title and explanation of the dialog with the secret of a new one, which has {name} for its name."""

    @property
    @abstractmethod
    def service(self) -> Any:
        """The service that stores the records."""

    @abstractmethod
    def draw_editor(self, item: T | None) -> Editor:
        """Draw the form of a record, or of a new one."""

    @abstractmethod
    def make(self, values: dict[str, Any]) -> T:
        """Return a new record with these values. Raises `InvalidInput`."""

    async def details(self, item: T) -> Any:
        """Read what a row says beside the record itself. Raises `EngineError`."""

    @abstractmethod
    def summarize(self, item: T, details: Any) -> None:
        """Draw what a row says of a record."""

    @abstractmethod
    def actions(self, item: T) -> Mapping[str, Action]:
        """Return what can be done with a record, by button label."""

    @override
    def draw_controls(self) -> None:
        add = button(self.NEW, icon='add', kind='small', requires=f'{self.PART}.add')
        add.on('click', lambda: self.edit(None))

    @override
    async def read(self) -> Sequence[tuple[T, Any]]:
        return [(record, await self.details(record)) for record in await self.service.list()]

    @override
    def draw(self, item: tuple[T, Any]) -> None:
        record, details = item
        with Box('row-summary'):
            self.summarize(record, details)
        if is_permitted(f'{self.PART}.change'):
            self.draw_actions(record.name, self.actions(record))

    async def pause(self, item: Any) -> None:
        """Pause a record, or resume a paused one."""
        await self.service.change(item.id, paused=not item.paused)

    async def remove(self, item: T) -> None:
        """Ask, then remove a record."""
        if await confirm(f'Remove {item.name}?', self.REMOVED, yes='Remove', no='Cancel'):
            await self.service.remove(item.id)

    async def edit(self, item: T | None) -> None:
        """Open the dialog to edit a record, or to add one, whose secret is shown once."""
        with dialog_frame(f'Edit {item.name}' if item else self.NEW, self.DIALOG) as dialog:
            editor = self.draw_editor(item)

            async def save() -> None:
                if (values := editor.submit()) is None:
                    return
                try:
                    dialog.submit(await self._store(item, values))
                except InvalidInput as error:
                    editor.show_problems(error.problems)
                except EngineError as error:
                    editor.show_problems({'': str(error)})

            draw_dialog_actions(dialog, 'Save', save)
        stored: Any = await await_answer(dialog)
        await self.refresh()
        if item is None and stored is not None and self.SECRET[0] and stored.secret:
            title, explanation = self.SECRET
            await show_secret(title.format(name=stored.name), explanation, stored.secret)

    async def _store(self, item: T | None, values: dict[str, Any]) -> T:
        stored: T = await (
            self.service.change(item.id, **values) if item else self.service.add(self.make(values))
        )
        return stored
