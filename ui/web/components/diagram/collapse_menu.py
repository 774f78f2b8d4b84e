"""A checklist of the collapsed states of a run's diagram, remembered by the browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import app, ui

from engine.records import Shape
from ui.formatting.diagram.folding import default_folds, enclosing_composite, foldable_states, unfold
from ui.formatting.steps import path_text
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes

NAME = 'Expanded states'


class CollapseMenu:
    """The composite states, each drawn expanded or as a single state."""

    def __init__(
        self,
        shape: Shape,
        on_change: Callable[[], Awaitable[None]],
        *,
        default: Callable[[Shape], frozenset[str]] = default_folds,
        storage_key: str = 'folded',
    ) -> None:
        """Start with what this browser remembers for the pattern under `storage_key`, or with `default`.

        `on_change` is called after each change.
        """
        self._shape, self._on_change, self._default, self._storage_key = (
            shape,
            on_change,
            default,
            storage_key,
        )
        self._composites = foldable_states(shape)
        self._boxes: dict[str, ui.checkbox] = {}
        remembered = self._load()
        self.by_user = remembered is not None
        """Whether a person chose what is collapsed."""
        self.folded = default(shape) if remembered is None else remembered

    def draw(self) -> None:
        """Draw the button with its list; nothing if there is nothing to collapse."""
        if not self._composites:
            return
        opener = button('', icon='unfold_less', kind='quiet small', label=NAME, aria_haspopup='dialog')
        with opener, ui.menu().classes('popover').props('role="dialog"') as popover:
            set_attributes(popover, aria_label=NAME)
            with Box('folds'):
                Text('b', 'Expand')
                with Box('folds-all'):
                    button('All', kind='small').on('click', lambda: self._fold(frozenset()))
                    button('None', kind='small').on('click', lambda: self._fold(frozenset(self._composites)))
                    button('Reset', kind='small').on('click', self._reset)
                for path, depth in self._composites.items():
                    box = ui.checkbox(
                        path_text(path.rpartition('.')[2]), value=self._is_expanded(path)
                    ).props('dense')
                    set_attributes(box.style(f'margin-left: {depth * 18}px'), aria_label=path_text(path))
                    box.on_value_change(
                        lambda event, path=path: self._set_expanded(path, expanded=event.value)
                    )
                    self._boxes[path] = box

    async def toggle(self, path: str) -> None:
        """Collapse or expand the innermost composite state at or around `path`."""
        holder = enclosing_composite(self._shape, self.folded, path)
        if holder:
            await self._set_expanded(holder, expanded=holder in self.folded)

    def _is_expanded(self, path: str) -> bool:
        return unfold(self.folded, path) == self.folded

    async def _set_expanded(self, path: str, *, expanded: bool) -> None:
        if expanded != self._is_expanded(path):
            await self._fold(unfold(self.folded, path) if expanded else self.folded | {path})

    def show(self, folded: frozenset[str]) -> None:
        """Show other states as collapsed, without recording them as a person's choice."""
        self.folded = folded
        for path, box in self._boxes.items():
            box.value = self._is_expanded(path)

    async def _fold(self, folded: frozenset[str]) -> None:
        if folded == self.folded:
            return
        self.by_user = True
        self._store(sorted(folded))
        self.show(folded)
        await self._on_change()

    async def _reset(self) -> None:
        self.by_user = False
        self._store(None)
        self.show(self._default(self._shape))
        await self._on_change()

    def _store(self, folded: list[str] | None) -> None:
        stored = {**app.storage.user.get(self._storage_key, {}), self._shape.pattern: folded}
        app.storage.user[self._storage_key] = {
            name: value for name, value in stored.items() if value is not None
        }

    def _load(self) -> frozenset[str] | None:
        stored = app.storage.user.get(self._storage_key, {}).get(self._shape.pattern)
        return frozenset(self._composites) & frozenset(stored) if isinstance(stored, list) else None
