"""The variants of a new experiment: each shown by its change, and edited as a launch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel, Field

from engine import InvalidInput
from engine.operations.experiments import MAX_VARIANTS, Variant, change_between, launch_of
from engine.records import Launch
from ui.app.backend import Backend
from ui.formatting.experiments.words import change_lines
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions, notify_error
from ui.web.components.forms.form import Form
from ui.web.components.forms.record_form import form_model
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.shared.launching.launch_choice import LaunchChoice

NO_CHANGE = 'Runs as it is: what the others are compared with.'
SAME = 'No change yet: it differs only by chance.'

ABOUT = 'Change what this variant does differently. Everything else is as in all runs.'
MORE = ('instructions', 'tools', 'stubs', 'version')
"""Fields of a launch that are changed as JSON."""


class MoreChanges(BaseModel):
    """What a variant changes that the fields of a launch do not show."""

    more: dict[str, Any] = Field(
        {},
        title='Instructions, tools, stubs and version',
        description='As JSON, by role: {"instructions": {"writer": "Be short."}, "tools": {"writer": []}}',
        json_schema_extra={'group': 'More changes'},
    )


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
        """Draw two.

        Args:
            backend: the way to the conductor.
            base: returns the launch that variants change; None if it is not valid yet.
            without: returns what is given elsewhere, see `LaunchChoice`.
            on_change: called after every change.
        """
        self._backend, self._base, self._without, self._on_change = backend, base, without, on_change
        self.variants: tuple[Variant, ...] = (Variant(name='as it is'),)
        self._place = CachedElement('variant-list', data_redrawn=True)
        with Box() as self._add:
            button('Add variant', icon='add', kind='small').on('click', self._add_one)
        self._show()

    def set_variants(self, variants: Sequence[Variant]) -> None:
        """Show these variants."""
        self.variants = tuple(variants)
        self._show()

    def _show(self) -> None:
        if not self._place.clear_if_changed(self.variants):
            return
        with self._place:
            for place, variant in enumerate(self.variants):
                self._draw(place, variant)
        self._add.set_visibility(len(self.variants) < MAX_VARIANTS)

    def _draw(self, place: int, variant: Variant) -> None:
        with Box('variant-row'):
            with Box('variant-words'):
                Text('b', variant.name, dir='auto')
                lines = change_lines(variant.change)
                Text('span', ', '.join(lines) or (SAME if place else NO_CHANGE), 'muted small', dir='auto')
            with Box('row-actions'):
                name = variant.name
                button('Edit', kind='small', aria_label=f'Edit: {name}').on(
                    'click', lambda: self._edit(place)
                )
                if len(self.variants) < MAX_VARIANTS:
                    copy = button('Duplicate', kind='small', aria_label=f'Duplicate: {name}')
                    copy.on('click', lambda: self._copy(place))
                if len(self.variants) > 1:
                    drop = button('Remove', kind='small', aria_label=f'Remove: {name}')
                    drop.on('click', lambda: self._set((*self.variants[:place], *self.variants[place + 1 :])))

    def _set(self, variants: Sequence[Variant]) -> None:
        self.set_variants(variants)
        self._on_change()

    def _copy(self, place: int) -> None:
        old = self.variants[place]
        self._set((*self.variants, replace(old, name=self._free_name(f'{old.name} 2'))))

    def _free_name(self, wanted: str) -> str:
        taken = {variant.name for variant in self.variants}
        stem = wanted.rstrip('0123456789 ')
        numbers = (f'{stem} {number}' for number in range(2, MAX_VARIANTS + 2))
        return wanted if wanted not in taken else next(name for name in numbers if name not in taken)

    async def _add_one(self) -> None:
        letter = chr(ord('A') + len(self.variants))
        added = await self._ask(Variant(name=self._free_name(letter)))
        if added:
            self._set((*self.variants, added))

    async def _edit(self, place: int) -> None:
        edited = await self._ask(self.variants[place])
        if edited:
            self._set((*self.variants[:place], edited, *self.variants[place + 1 :]))

    async def _ask(self, variant: Variant) -> Variant | None:
        """Ask for the name and the launch of a variant."""
        base = self._base()
        if base is None:
            return None  # the field that is wrong has the focus
        more = {key: value for key, value in variant.change.items() if key in MORE}
        formed = {key: value for key, value in variant.change.items() if key not in MORE}
        try:
            launch = launch_of(base, replace(variant, change=formed))
        except InvalidInput as error:
            notify_error(error)
            launch = base
        with dialog_frame('Variant', 'wide') as dialog:
            Text('p', ABOUT, 'muted')
            name = Form(form_model(Variant), on_change=lambda: None)
            name.set_values({'name': variant.name})
            choice = LaunchChoice(self._backend, launch, without=self._without)
            choice.show()
            others = Form(MoreChanges, on_change=lambda: None)
            others.set_values({'more': more})

            def save() -> None:
                changes, chosen, named = others.submit(), choice.submit(), name.submit()
                if chosen is None or named is None or not isinstance(changes, MoreChanges):
                    return
                given = named.model_dump()
                if given['name'] != variant.name and given['name'] in {item.name for item in self.variants}:
                    name.show_problems({'name': 'must be another name: there is such a variant already'})
                    return
                if wrong := [key for key in changes.more if key not in MORE]:
                    text = f'there is no {wrong[0]!r} here; available: {", ".join(MORE)}'
                    others.show_problems({'more': text})
                    others.focus_problem()
                    return
                try:
                    whole = launch_of(chosen, Variant(**given, change=changes.more))
                except InvalidInput as error:
                    others.show_problems(
                        {'more': '; '.join(f'{key}: {text}' for key, text in error.problems.items())}
                    )
                    others.focus_problem()
                    return
                dialog.submit(Variant(**given, change=change_between(base, whole)))

            draw_dialog_actions(dialog, 'Save', save)
        return cast(Variant | None, await await_answer(dialog))
