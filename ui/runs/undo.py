"""Says what was done, with a button that takes it back, for as long as a person needs to notice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.events import KeyEventArguments

from ui.parts import Text, attach
from ui.theme import button

SECONDS = 10.0


class Undo:
    """A place at the foot of the window for one such message; the next takes the place of the one before."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._place = ui.element('div').classes('toasts').props('role="status"')

    def offer(self, done: str, undo: Callable[[], Awaitable[object]]) -> None:
        """Say what was done; `undo` takes it back."""
        if self._place.is_deleted:
            return
        self._place.clear()
        with self._place, ui.element('div').classes('toast') as toast:
            Text('span', done, 'toast-said')
            back = button('Undo', icon='undo', kind='small')
            attach(back, aria_keyshortcuts='Control+Z', title='Undo (Ctrl+Z)')
            close = button('', icon='close', kind='quiet small', label='Close')
            waits = ui.timer(SECONDS, lambda: self._end(toast), once=True)

        async def take_back() -> None:
            self._end(toast)
            await undo()

        async def press(event: KeyEventArguments) -> None:
            wanted = event.modifiers.ctrl or event.modifiers.meta
            if event.action.keydown and wanted and event.key == 'z' and not event.modifiers.shift:
                await take_back()

        back.on('click', take_back)
        close.on('click', lambda: self._end(toast))
        toast.on('focusin', waits.cancel)  # who has got there by the Tab key needs no haste
        with toast:
            ui.keyboard(press, ignore=['input', 'textarea'], repeating=False)

    @staticmethod
    def _end(toast: ui.element) -> None:
        if not toast.is_deleted:
            toast.delete()
