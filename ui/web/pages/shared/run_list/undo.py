"""A message with an Undo button, shown long enough to notice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.events import KeyEventArguments

from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes

SECONDS = 10.0


class Undo:
    """A place at the bottom of the window for one message; the next one replaces it."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._place = Box('toasts', role='status')

    def offer(self, done: str, undo: Callable[[], Awaitable[object]]) -> None:
        """Show what was done; `undo` reverts it."""
        if self._place.is_deleted:
            return
        self._place.clear()
        with self._place, Box('toast') as toast:
            Text('span', done, 'toast-text')
            back = button('Undo', icon='undo', kind='small')
            set_attributes(back, aria_keyshortcuts='Control+Z', title='Undo (Ctrl+Z)')
            close = button('', icon='close', kind='quiet small', label='Close')
            waits = ui.timer(SECONDS, lambda: self._end(toast), once=True)

        async def take_back() -> None:
            self._end(toast)
            await undo()

        async def press(event: KeyEventArguments) -> None:
            is_shortcut = event.modifiers.ctrl or event.modifiers.meta
            if event.action.keydown and is_shortcut and event.key == 'z' and not event.modifiers.shift:
                await take_back()

        back.on('click', take_back)
        close.on('click', lambda: self._end(toast))
        toast.on('focusin', waits.cancel)  # no time limit once the focus is in it
        with toast:
            ui.keyboard(press, ignore=['input', 'textarea'], repeating=False)

    @staticmethod
    def _end(toast: ui.element) -> None:
        if not toast.is_deleted:
            toast.delete()
