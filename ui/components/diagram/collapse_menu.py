"""A checklist of the collapsed states of a run's diagram, remembered by the browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import app, ui

from engine.records import Shape
from ui.components.diagram.folding import default_folds, enclosing_drawn, foldable, unfold
from ui.components.theme import button
from ui.components.widgets import Text, set_attributes
from ui.formatting.steps import path_text

NAME = 'Expanded states'


class CollapseMenu:
    """The composite states, each drawn expanded or as a single state."""

    def __init__(
        self,
        shape: Shape,
        on_change: Callable[[], Awaitable[None]],
        *,
        first: Callable[[Shape], frozenset[str]] = default_folds,
        kept: str = 'folded',
    ) -> None:
        """Start with the choice that this browser remembers for the pattern under `kept`, or with `first`.

        `on_change` is called after each change.
        """
        self._shape, self._on_change, self._first, self._kept = shape, on_change, first, kept
        self._holders = foldable(shape)
        self._boxes: dict[str, ui.checkbox] = {}
        remembered = self._recall()
        self.by_hand = remembered is not None
        """Whether a person chose what is collapsed."""
        self.folded = first(shape) if remembered is None else remembered

    def draw(self) -> None:
        """Draw the button with its list; nothing if there is nothing to collapse."""
        if not self._holders:
            return
        opener = button('', icon='unfold_less', kind='quiet small', label=NAME)
        opener.props('aria-haspopup="dialog"')
        with opener, ui.menu().classes('popover').props('role="dialog"') as popover:
            set_attributes(popover, aria_label=NAME)
            with ui.element('div').classes('folds'):
                Text('b', 'Expand')
                with ui.element('div').classes('folds-all'):
                    button('All', kind='small').on('click', lambda: self._fold(frozenset()))
                    button('None', kind='small').on('click', lambda: self._fold(frozenset(self._holders)))
                    button('Reset', kind='small').on('click', self._forget)
                for path, depth in self._holders.items():
                    box = ui.checkbox(path_text(path.rpartition('.')[2]), value=self._is_drawn(path)).props(
                        'dense'
                    )
                    set_attributes(box.style(f'margin-left: {depth * 18}px'), aria_label=path_text(path))
                    box.on_value_change(lambda event, path=path: self._set(path, drawn=event.value))
                    self._boxes[path] = box

    async def turn(self, path: str) -> None:
        """Collapse or expand the innermost composite state at or around `path`."""
        holder = enclosing_drawn(self._shape, self.folded, path)
        if holder:
            await self._set(holder, drawn=holder in self.folded)

    def _is_drawn(self, path: str) -> bool:
        return unfold(self.folded, path) == self.folded

    async def _set(self, path: str, *, drawn: bool) -> None:
        if drawn != self._is_drawn(path):
            await self._fold(unfold(self.folded, path) if drawn else self.folded | {path})

    def show(self, folded: frozenset[str]) -> None:
        """Show other states as collapsed, without recording them as a person's choice."""
        self.folded = folded
        for path, box in self._boxes.items():
            box.value = self._is_drawn(path)

    async def _fold(self, folded: frozenset[str]) -> None:
        if folded == self.folded:
            return
        self.by_hand = True
        self._remember(sorted(folded))
        self.show(folded)
        await self._on_change()

    async def _forget(self) -> None:
        self.by_hand = False
        self._remember(None)
        self.show(self._first(self._shape))
        await self._on_change()

    def _remember(self, folded: list[str] | None) -> None:
        known = {**app.storage.user.get(self._kept, {}), self._shape.pattern: folded}
        app.storage.user[self._kept] = {name: value for name, value in known.items() if value is not None}

    def _recall(self) -> frozenset[str] | None:
        known = app.storage.user.get(self._kept, {}).get(self._shape.pattern)
        return frozenset(self._holders) & frozenset(known) if isinstance(known, list) else None
