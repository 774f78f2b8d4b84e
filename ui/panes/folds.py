"""Which states of a run's diagram are drawn as one: a list to choose from, kept by the browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import app, ui

from engine import Shape
from ui.drawing.folding import around, foldable, readable, unfolded
from ui.parts import Text, attach
from ui.presenters.reading import place
from ui.theme import button

NAME = 'What is drawn inside states'


class Folds:
    """The states that hold others, each drawn with what is inside it or as one."""

    def __init__(
        self,
        shape: Shape,
        on_change: Callable[[], Awaitable[None]],
        *,
        first: Callable[[Shape], frozenset[str]] = readable,
        kept: str = 'folded',
    ) -> None:
        """Begin with what this browser remembers of the pattern as `kept`, or else with `first`.

        `on_change` is told of each change.
        """
        self._shape, self._on_change, self._first, self._kept = shape, on_change, first, kept
        self._holders = foldable(shape)
        self._boxes: dict[str, ui.checkbox] = {}
        self.folded = self._remembered()

    def draw(self) -> None:
        """Draw the button with its list; nothing where there is nothing to fold."""
        if not self._holders:
            return
        opener = button('', icon='unfold_less', kind='quiet small', label=NAME)
        opener.props('aria-haspopup="dialog"')
        with opener, ui.menu().classes('popover').props('role="dialog"') as popover:
            attach(popover, aria_label=NAME)
            with ui.element('div').classes('folds'):
                Text('b', 'Draw what is inside')
                with ui.element('div').classes('folds-all'):
                    button('All', kind='small').on('click', lambda: self._fold(frozenset()))
                    button('None', kind='small').on('click', lambda: self._fold(frozenset(self._holders)))
                    button('As at first', kind='small').on(
                        'click', lambda: self._fold(self._first(self._shape))
                    )
                for path, depth in self._holders.items():
                    box = ui.checkbox(place(path.rpartition('.')[2]), value=self._seen(path)).props('dense')
                    attach(box.style(f'margin-left: {depth * 18}px'), aria_label=place(path))
                    box.on_value_change(lambda event, path=path: self._set(path, drawn=event.value))
                    self._boxes[path] = box

    async def turn(self, path: str) -> None:
        """Fold the innermost state in or around which `path` is, or unfold it."""
        holder = around(self._shape, self.folded, path)
        if holder:
            await self._set(holder, drawn=holder in self.folded)

    def _seen(self, path: str) -> bool:
        return unfolded(self.folded, path) == self.folded

    async def _set(self, path: str, *, drawn: bool) -> None:
        if drawn != self._seen(path):
            await self._fold(unfolded(self.folded, path) if drawn else self.folded | {path})

    async def _fold(self, folded: frozenset[str]) -> None:
        if folded == self.folded:
            return
        self.folded = folded
        app.storage.user[self._kept] = {
            **app.storage.user.get(self._kept, {}),
            self._shape.pattern: sorted(folded),
        }
        for path, box in self._boxes.items():
            box.value = self._seen(path)
        await self._on_change()

    def _remembered(self) -> frozenset[str]:
        known = app.storage.user.get(self._kept, {}).get(self._shape.pattern)
        if not isinstance(known, list):
            return self._first(self._shape)
        return frozenset(self._holders) & frozenset(known)
