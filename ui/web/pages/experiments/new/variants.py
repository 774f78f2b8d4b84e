"""The variants of a new experiment: each shown by its change; in an order, with a way back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from engine.operations.experiments import MAX_VARIANTS, Variant
from engine.records import Launch
from ui.app.backend import Backend
from ui.formatting.experiments.words import AS_IT_IS, ChangePart, change_parts, free_name, without_part
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.experiments.new.variant_dialog import SAME, VariantDialog, draw_changes, with_change

NO_CHANGE = 'Runs as it is.'
FIRST = 'compared with'


class VariantList:
    """The variants, the first of which is what the others are compared with."""

    def __init__(
        self,
        backend: Backend,
        *,
        base: Callable[[], Launch | None],
        without: Callable[[], Collection[str]],
        on_change: Callable[[], None],
    ) -> None:
        """Draw one that changes nothing.

        Args:
            backend: the way to the conductor.
            base: returns the launch that variants change; None if it is not valid yet.
            without: returns what is given elsewhere, see `LaunchChoice`.
            on_change: called after every change.
        """
        self._backend, self._base, self._without, self._on_change = backend, base, without, on_change
        self.variants: tuple[Variant, ...] = (Variant(name=AS_IT_IS),)
        self._before: list[tuple[Variant, ...]] = []
        """What the variants were before each change."""
        self._place = CachedElement('variant-list', data_redrawn=True)
        with Box('row-actions'):
            self._add = button('Add variant', icon='add', kind='small')
            self._add.on('click', self._add_one)
            self._undo = button('Undo', icon='undo', kind='small')
            self._undo.on('click', self._go_back)
        self._show()

    def set_variants(self, variants: Sequence[Variant]) -> None:
        """Show these variants."""
        self.variants = tuple(variants)
        self._show()

    def _show(self) -> None:
        self._add.set_visibility(len(self.variants) < MAX_VARIANTS)
        self._undo.set_visibility(bool(self._before))
        if not self._place.clear_if_changed(self.variants):
            return
        with self._place:
            for place, variant in enumerate(self.variants):
                self._draw(place, variant)

    def _draw(self, place: int, variant: Variant) -> None:
        with Box('variant-row'):
            with Box('variant-words'):
                with Box('chips'):
                    Text('b', variant.name, dir='auto')
                    if not place and len(self.variants) > 1:
                        Text('span', FIRST, 'chip strong', title='What the others are compared with')
                parts = change_parts(variant.change)
                if parts:
                    with Box('change-chips'):
                        draw_changes(parts, lambda part: self._take_back(place, part))
                else:
                    Text('span', SAME if place else NO_CHANGE, 'muted small')
            with Box('row-actions'):
                self._draw_actions(place, variant.name)

    def _draw_actions(self, place: int, name: str) -> None:
        if place:
            up = button('', icon='arrow_upward', kind='small', label=f'Move up: {name}')
            up.on('click', lambda: self._move(place, place - 1))
        if place < len(self.variants) - 1:
            down = button('', icon='arrow_downward', kind='small', label=f'Move down: {name}')
            down.on('click', lambda: self._move(place, place + 1))
        button('Edit', kind='small', aria_label=f'Edit: {name}').on('click', lambda: self._edit(place))
        if len(self.variants) < MAX_VARIANTS:
            copy = button('Duplicate', kind='small', aria_label=f'Duplicate: {name}')
            copy.on('click', lambda: self._copy(place))
        if len(self.variants) > 1:
            drop = button('Remove', kind='small', aria_label=f'Remove: {name}')
            drop.on('click', lambda: self._set(self._others(place)))

    def _others(self, place: int) -> tuple[Variant, ...]:
        return (*self.variants[:place], *self.variants[place + 1 :])

    def _names(self, variants: Sequence[Variant]) -> set[str]:
        return {variant.name for variant in variants}

    def _set(self, variants: Sequence[Variant]) -> None:
        if tuple(variants) == self.variants:
            return
        self._before.append(self.variants)
        self.set_variants(variants)
        self._on_change()

    def _go_back(self) -> None:
        self.set_variants(self._before.pop())
        self._on_change()

    def _move(self, place: int, to: int) -> None:
        others = self._others(place)
        self._set((*others[:to], self.variants[place], *others[to:]))

    def _take_back(self, place: int, part: ChangePart) -> None:
        """Take one difference of a variant back."""
        old = self.variants[place]
        new = with_change(old, without_part(old.change, part), self._names(self._others(place)))
        self._set((*self.variants[:place], new, *self.variants[place + 1 :]))

    def _copy(self, place: int) -> None:
        old = self.variants[place]
        copy = replace(old, name=free_name(old.name, self._names(self.variants)))
        self._set((*self.variants[: place + 1], copy, *self.variants[place + 1 :]))

    async def _add_one(self) -> None:
        if added := await self._ask(Variant(name=''), self.variants):
            self._set((*self.variants, added))

    async def _edit(self, place: int) -> None:
        if edited := await self._ask(self.variants[place], self._others(place)):
            self._set((*self.variants[:place], edited, *self.variants[place + 1 :]))

    async def _ask(self, variant: Variant, others: Sequence[Variant]) -> Variant | None:
        base = self._base()
        if base is None:
            return None  # the field that is wrong has the focus
        dialog = VariantDialog(self._backend, base, taken=self._names(others), without=self._without)
        return await dialog.ask(variant)
