"""One breakpoint: its form, and its row in a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from nicegui import ui

from engine import Breakpoint
from engine.records import Shape
from ui.formatting.debugger import edge_labels, location_text
from ui.formatting.steps import path_text
from ui.web.components.breakpoints.condition import ConditionField, Probe
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions
from ui.web.components.elements import Combobox
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, label, set_attributes

PLACES = {
    'enter': 'When a state is entered',
    'leave': 'When a state is left',
    'edge': 'When a transition is taken',
    '': 'Anywhere, once the condition is met',
}
PAUSE_SCOPES = {'run': 'The whole run', 'region': 'Only the region that hit it; others continue'}
UNKNOWN = 'Choose one of the listed {}s.'
MISSING = 'Enter a condition, or choose a state or transition.'


class BreakpointEditor:
    """The fields of a breakpoint, drawn where the editor is created."""

    def __init__(self, shape: Shape, item: Breakpoint, probe: Probe) -> None:
        """Draw the fields, filled from `item`; `probe` evaluates conditions."""
        self._item = item
        states = {str(state.path): path_text(state.path) for state in shape.states}
        labels = edge_labels(shape)
        kind = next((name for name in ('enter', 'leave', 'edge') if getattr(item, name)), '')
        self._states = states | {path: path_text(path) for path in (item.enter or item.leave,) if path}
        self._edges = labels | ({item.edge: item.edge} if item.edge and item.edge not in labels else {})
        with Box('form breakpoint-form'):
            with Box('field choice'):
                self._kind = NativeSelect(PLACES, value=kind, on_change=self._show_kind)
                label('Where', self._kind).move(target_index=0)
            with Box('field choice') as self._state_field:
                first = item.enter or item.leave or next(iter(states), '')
                self._state = _picker(self._states, first, 'States')
                label('State', self._state).move(target_index=0)
            with Box('field choice') as self._edge_field:
                self._edge = _picker(self._edges, item.edge or next(iter(labels), ''), 'Edges')
                label('Edge', self._edge).move(target_index=0)
            self._when = ConditionField(item.when, probe, on_change=lambda: self._problem.show(''))
            with Box('field choice') as holds:
                self._stop = NativeSelect(PAUSE_SCOPES, value=item.stop)
                label('Pauses', self._stop).move(target_index=0)
            holds.set_visibility(any(state.kind == 'parallel' for state in shape.states))
            self._once = ui.checkbox('Once: disable after the first hit', value=item.once)
            self._enabled = ui.checkbox('Enabled', value=item.enabled)
            self._problem = Text('p', '', 'problem', role='alert')
        self._show_kind()

    async def read(self) -> Breakpoint | None:
        """Return the breakpoint as filled in; None if something is invalid, which is then shown."""
        kind, when = self._kind.value, self._when.text
        path = (
            _selected_path(self._edge, self._edges)
            if kind == 'edge'
            else _selected_path(self._state, self._states)
        )
        if kind and not path:
            self._problem.show(UNKNOWN.format('edge' if kind == 'edge' else 'state'))
            (self._edge if kind == 'edge' else self._state).run_method('focus')
            return None
        self._problem.show(MISSING if not kind and not when else '')
        if self._problem.text or not await self._when.check():
            self._when.focus()
            return None
        return replace(
            self._item,
            enter=path if kind == 'enter' else '',
            leave=path if kind == 'leave' else '',
            edge=path if kind == 'edge' else '',
            when=when,
            stop=cast(Literal['run', 'region'], self._stop.value),
            once=bool(self._once.value),
            enabled=bool(self._enabled.value),
            problem=self._item.problem if when == self._item.when else '',
        )

    def _show_kind(self) -> None:
        self._state_field.set_visibility(self._kind.value in ('enter', 'leave'))
        self._edge_field.set_visibility(self._kind.value == 'edge')
        self._when.set_optional(bool(self._kind.value))
        self._problem.show('')


def _picker(options: Mapping[str, str], value: str, name: str) -> Combobox:
    """Draw a field that searches many states or edges by their texts."""
    box = Combobox(options.get(value, value), label=name, empty_text='Nothing matches.', single=True)
    box.set_groups([{'label': '', 'note': '', 'options': list(options.values())}])
    return box


def _selected_path(box: Combobox, options: Mapping[str, str]) -> str:
    """Return the state or edge with the text in the field; '' if there is none."""
    text = str(box.value or '').strip()
    return next((name for name, label_text in options.items() if label_text == text), '')


async def edit_breakpoint(shape: Shape, item: Breakpoint, probe: Probe) -> Breakpoint | None:
    """Show the form for a breakpoint, starting from `item`; None if it is cancelled."""
    title = f'Breakpoint {item.id}' if item.id else 'New breakpoint'
    with dialog_frame(title) as dialog:
        editor = BreakpointEditor(shape, item, probe)

        async def save() -> None:
            if (edited := await editor.read()) is not None:
                dialog.submit(edited)

        done = draw_dialog_actions(dialog, 'Save' if item.id else 'Add', save)
        set_attributes(done, data_testid='save-breakpoint')
    return cast(Breakpoint | None, await await_answer(dialog))


BreakpointAction = Callable[[Breakpoint], Awaitable[Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointActions:
    """The actions offered for a breakpoint in a list."""

    change: BreakpointAction
    """Gets the changed breakpoint."""
    edit: BreakpointAction
    remove: BreakpointAction


def draw_breakpoint(
    item: Breakpoint,
    facts: Sequence[str],
    actions: BreakpointActions | None,
    *,
    number: str,
    hit: bool = False,
) -> None:
    """Draw a breakpoint as an entry of a list.

    Args:
        item: the breakpoint.
        facts: details in small print.
        actions: what can be done with it; None if it is read-only.
        number: its number.
        hit: whether it has paused the run.
    """
    kind = f'{"" if item.enabled else "off"} {"hit" if hit else ""}'
    with Box(f'breakpoint-row {kind}', 'li'):
        box = ui.checkbox(value=item.enabled).props('dense')
        set_attributes(box, aria_label=f'Breakpoint {number} enabled')
        if actions is None:
            box.disable()
        else:
            change = actions.change
            box.on_value_change(lambda event: change(replace(item, enabled=bool(event.value))))
        with Box('breakpoint-text'):
            with Box('breakpoint-where'):
                Text('span', number, 'num muted')
                Text('b', location_text(item))
                if hit:
                    Text('span', 'paused here', 'chip held')
            if item.when:
                Text('code', item.when, 'breakpoint-when')
            if item.problem:
                Text('p', f'Its condition could not be evaluated: {item.problem}', 'problem')
            Text('span', ' · '.join([*facts, *([] if item.enabled else ['off'])]), 'muted small')
        if actions is not None:
            edit, remove = actions.edit, actions.remove
            for icon, label, act in (('edit', 'Edit', edit), ('delete', 'Remove', remove)):
                action_button = button(
                    '', icon=icon, kind='quiet small', label=f'{label} breakpoint {number}'
                )
                action_button.on('click', lambda _, act=act: act(item))
