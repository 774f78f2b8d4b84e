"""The form of one breakpoint: where it stops, on what condition, what it holds; checked as one types."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from nicegui import ui

from engine import Breakpoint, Shape
from ui.dialogs import framed, settled
from ui.parts import Choice, Text, attach, label
from ui.presenters.reading import place
from ui.stepping.condition import ConditionField, Probe
from ui.stepping.words import edges
from ui.theme import button

KINDS = {
    'enter': 'When a state is entered',
    'leave': 'When a state is left',
    'edge': 'When an edge is taken',
    '': 'Anywhere, as soon as the condition holds',
}
HOLDS = {'run': 'The whole run', 'region': 'Only the region where it is hit; the others go on'}
MISSING = 'Say when it stops: without a place it needs a condition.'


class Editor:
    """The fields of a breakpoint, drawn where it is made."""

    def __init__(self, shape: Shape, item: Breakpoint, probe: Probe) -> None:
        """Draw them with what `item` has; `probe` reads conditions."""
        self._item = item
        states = {str(state.path): place(state.path) for state in shape.states}
        known = edges(shape)
        kind = next((name for name in ('enter', 'leave', 'edge') if getattr(item, name)), '')
        with ui.element('div').classes('form breakpoint-form'):
            with ui.element('div').classes('field choice'):
                self._kind = Choice(KINDS, value=kind, on_change=self._show_kind)
                label('Where', self._kind).move(target_index=0)
            with ui.element('div').classes('field choice') as self._state_field:
                first = item.enter or item.leave or next(iter(states), '')
                self._state = Choice(states, value=first)
                label('State', self._state).move(target_index=0)
            with ui.element('div').classes('field choice') as self._edge_field:
                self._edge = Choice(known, value=item.edge or next(iter(known), ''))
                label('Edge', self._edge).move(target_index=0)
            self._when = ConditionField(item.when, probe, on_change=lambda: self._problem.show(''))
            with ui.element('div').classes('field choice') as holds:
                self._stop = Choice(HOLDS, value=item.stop)
                label('What is held', self._stop).move(target_index=0)
            holds.set_visibility(any(state.kind == 'parallel' for state in shape.states))
            self._once = ui.checkbox('Only once: it is off when it has been hit', value=item.once)
            self._enabled = ui.checkbox('On', value=item.enabled)
            self._problem = Text('p', '', 'problem', role='alert')
        self._show_kind()

    async def read(self) -> Breakpoint | None:
        """The breakpoint as it is filled in; None where something is wrong, which is said then."""
        kind, when = self._kind.value, self._when.text
        self._problem.show(MISSING if not kind and not when else '')
        if self._problem.text or not await self._when.check():
            self._when.focus()
            return None
        path = self._edge.value if kind == 'edge' else self._state.value
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
        self._when.placed(bool(self._kind.value))
        self._problem.show('')


async def edit_breakpoint(shape: Shape, item: Breakpoint, probe: Probe) -> Breakpoint | None:
    """Ask for a breakpoint, beginning with `item`; None where nothing is to be changed."""
    title = f'Breakpoint {item.id}' if item.id else 'Add a breakpoint'
    with framed(title) as dialog:
        editor = Editor(shape, item, probe)

        async def save() -> None:
            if (made := await editor.read()) is not None:
                dialog.submit(made)

        with ui.element('div').classes('dialog-actions'):
            button('Leave it').on('click', lambda: dialog.submit(None))
            done = button('Save' if item.id else 'Add', kind='primary').on('click', save)
            attach(done, data_testid='save-breakpoint')
    dialog.on('keydown.enter', save, js_handler=ENTER)
    return cast(Breakpoint | None, await settled(dialog))


ENTER = "(event) => { if (event.target.tagName === 'INPUT' && event.target.type === 'text') emit(); }"
"""In a line of text, Enter saves; on a button, it presses the button."""
