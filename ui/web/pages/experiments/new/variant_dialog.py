"""The dialog of a variant: a launch, of which what differs from the base is kept and shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from engine import InvalidInput
from engine.operations.experiments import Variant, change_between, launch_of
from engine.records import Launch
from ui.app.backend import Backend
from ui.formatting.experiments.words import ChangePart, change_parts, proposed_name, without_part
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions, notify_error
from ui.web.components.forms.form import Form
from ui.web.components.forms.record_form import form_model
from ui.web.components.menus import PickerItem, picker
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.shared.launching.launch_choice import LaunchChoice

ABOUT = 'Change what this variant does differently. Everything else is as in all runs.'
SAME = 'No change yet: it differs only by chance.'
TAKEN = 'must be another name: there is such a variant already'


class VariantDialog:
    """Asks for a variant.

    Args:
        backend: the way to the conductor.
        base: the launch that it changes.
        taken: the names of the other variants.
        without: returns what is given elsewhere, see `LaunchChoice`.
    """

    def __init__(
        self,
        backend: Backend,
        base: Launch,
        *,
        taken: Collection[str],
        without: Callable[[], Collection[str]],
    ) -> None:
        self._backend, self._base, self._taken, self._without = backend, base, taken, without
        self._own: set[str] = set()
        self._change: Mapping[str, Any] = {}
        """The parameters that it changes, among which may be some that cases give."""

    async def ask(self, variant: Variant) -> Variant | None:
        """Ask for the name and the launch of a variant; None if the dialog is cancelled."""
        with dialog_frame('Variant', 'wide') as dialog:
            Text('p', ABOUT, 'muted')
            self._name = Form(form_model(Variant), on_change=lambda: None)
            self._name.set_values({'name': variant.name})
            self._proposed = variant.name if is_named_by_change(variant) else ''
            Text('span', 'What differs', 'label')
            self._chips = CachedElement('change-chips', data_redrawn=True)
            self._given = CachedElement('row-actions', data_redrawn=True)
            self._own = set(variant.change.get('parameters', {}))
            self._choice = LaunchChoice(
                self._backend,
                self._launch(variant.change),
                without=lambda: [name for name in self._without() if name not in self._own],
            )
            self._choice.show()
            self._choice.on_edit = self._follow
            self._offer_given()
            self._show(variant.change)

            def save() -> None:
                if edited := self._read():
                    dialog.submit(edited)

            draw_dialog_actions(dialog, 'Save', save)
        return cast(Variant | None, await await_answer(dialog))

    def _offer_given(self) -> None:
        """Offer to change, in all cases alike, a parameter that each of them gives."""
        given = {name: title for name, title in self._choice.parameters.items() if name in self._without()}
        offered = {name: title for name, title in given.items() if name not in self._own}
        if self._given.clear_if_changed(offered) and offered:
            with self._given:
                picker(
                    'Change what cases give',
                    'add',
                    [
                        PickerItem(title=title, on_choose=partial(self._change_given, name))
                        for name, title in offered.items()
                    ],
                    kind='small',
                )

    def _change_given(self, name: str) -> None:
        self._own.add(name)
        self._choice.show()
        self._offer_given()
        self._follow()

    def _launch(self, change: Mapping[str, Any]) -> Launch:
        try:
            return launch_of(self._base, Variant(name='', change=change))
        except InvalidInput as error:
            notify_error(error)
            return self._base

    def _follow(self) -> None:
        """Show what differs now, and name the variant by it unless a person has named it."""
        launch = self._choice.parse()
        if launch is None:
            return  # a field that is wrong says so
        change = change_between(self._base, launch)
        self._show(change)
        control = self._name.controls['name']
        if control.raw in ('', self._proposed):
            self._proposed = proposed_name(change, self._taken)
            control.set_content(self._proposed)

    def _show(self, change: Mapping[str, Any]) -> None:
        self._change = change
        parts = change_parts(change)
        if self._chips.clear_if_changed(parts):
            with self._chips:
                draw_changes(parts, self._drop)
                if not parts:
                    Text('span', SAME, 'muted small')

    def _drop(self, part: ChangePart) -> None:
        if part.field == 'parameters' and part.key:
            self._own.discard(part.key)  # What each case gives is no longer changed.
        self._choice.set_launch(self._launch(without_part(self._change, part)))
        self._offer_given()
        self._follow()

    def _read(self) -> Variant | None:
        """Return the variant; if a field is invalid, focus it and return None."""
        launch = self._choice.submit()
        if launch is None:
            return None
        change = change_between(self._base, launch)
        control = self._name.controls['name']
        if not control.raw:
            control.set_content(proposed_name(change, self._taken))
        named = self._name.submit()
        if named is None:
            return None
        name = named.model_dump()['name']
        if name in self._taken:
            self._name.show_problems({'name': TAKEN})
            self._name.focus_problem()
            return None
        return Variant(name=name, change=change)


def draw_changes(parts: Collection[ChangePart], on_remove: Callable[[ChangePart], None]) -> None:
    """Draw a chip for each difference from the base, with a button that takes it back."""
    for part in parts:
        with Box('chip change-chip', 'span'):
            Text('span', part.words, dir='auto')
            drop = button('', icon='close', kind='quiet small', label=f'Take back: {part.words}')
            drop.on('click', partial(on_remove, part))


def is_named_by_change(variant: Variant) -> bool:
    """Whether a variant has the name that its change proposes, or none."""
    proposed = re.escape(proposed_name(variant.change))
    return not variant.name or bool(re.fullmatch(rf'{proposed}( \(\d+\))?', variant.name))


def with_change(variant: Variant, change: Mapping[str, Any], taken: Collection[str]) -> Variant:
    """Return a variant with another change, and named by it if it was before."""
    name = proposed_name(change, taken) if is_named_by_change(variant) else variant.name
    return replace(variant, name=name, change=change)
