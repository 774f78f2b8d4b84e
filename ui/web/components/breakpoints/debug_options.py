"""Debugging options of the launch form: start paused, and initial breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from nicegui import ui

from engine import Breakpoint, InvalidInput
from engine.records import Shape
from engine.runtime import parse_condition
from ui.formatting.debugger import pause_scope
from ui.web.components.breakpoints.condition import ConditionFeedback, Probe
from ui.web.components.breakpoints.editor import BreakpointActions, draw_breakpoint, edit_breakpoint
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text

PAUSED_HELP = 'Enters the first state, but starts no work until you continue or step.'
NONE = 'Set breakpoints now or during the run.'


class DebugOptions:
    """A collapsible section; all of it is optional."""

    def __init__(
        self, shape: Callable[[], Shape | None], fields: Collection[str], *, on_change: Callable[[], None]
    ) -> None:
        """Draw it, collapsed.

        Args:
            shape: the chart for the current state of the form.
            fields: the fields of the pattern's memory.
            on_change: called after every change.
        """
        self._shape, self._fields, self._on_change = shape, fields, on_change
        self._items: list[Breakpoint] = []
        self._actions = BreakpointActions(change=self._change, edit=self._edit, remove=self._remove)
        with Box('fold', 'details') as self._fold:
            Text('summary', 'Debugging')
            with Box('form'):
                with Box('field boolean'):
                    self._paused = ui.checkbox('Start paused', on_change=on_change)
                    Text('p', PAUSED_HELP, 'help')
                with Box('launch-breakpoints'):
                    self._list = Box()
                    self._problem = Text('p', '', 'problem', role='alert')
                    with Box():
                        button('Add breakpoint', icon='add', kind='small').on('click', self._add)
        self._draw()

    @property
    def raw(self) -> dict[str, Any]:
        """The content of the form."""
        return {'paused': bool(self._paused.value), 'breakpoints': [asdict(item) for item in self._items]}

    @property
    def options(self) -> dict[str, Any]:
        """The start options of the run; empty if nothing is filled in."""
        return {name: value for name, value in self.raw.items() if value}

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Restore a value of `raw`, or an earlier run's options, dropping anything unreadable."""
        self._paused.set_value(bool(raw.get('paused')))
        self._items = list(_parse_breakpoints(raw.get('breakpoints')))
        self._draw()

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems with breakpoints; a problem's name begins with its index in the list."""
        texts = []
        for name, problem in problems.items():
            number = name.partition('.')[0]
            texts.append(f'Breakpoint {int(number) + 1}: {problem}.' if number.isdigit() else f'{problem}.')
        self._problem.show(' '.join(texts))
        if texts:
            self._fold.props('open')

    def _draw(self) -> None:
        self._problem.show('')
        self._list.clear()
        with self._list:
            if not self._items:
                Text('p', NONE, 'muted small')
                return
            with Box('breakpoint-list', 'ul', aria_label='Breakpoints'):
                for number, item in enumerate(self._items, 1):
                    facts = [pause_scope(item), *(['once'] if item.once else [])]
                    draw_breakpoint(item, facts, self._actions, number=str(number))

    async def _add(self) -> None:
        shape = self._shape()
        if shape is not None:
            added = await edit_breakpoint(shape, Breakpoint(enter=shape.initial), self._probe)
            if added is not None:
                self._set([*self._items, replace(added, id=str(len(self._items) + 1))])

    async def _edit(self, item: Breakpoint) -> None:
        shape = self._shape()
        if shape is not None:
            changed = await edit_breakpoint(shape, item, self._probe)
            if changed is not None:
                self._change(changed)

    def _change(self, item: Breakpoint) -> None:
        self._set([item if other.id == item.id else other for other in self._items])

    def _remove(self, item: Breakpoint) -> None:
        rest = [other for other in self._items if other.id != item.id]
        self._set([replace(other, id=str(number)) for number, other in enumerate(rest, 1)])

    def _set(self, items: list[Breakpoint]) -> None:
        self._items = items
        self._draw()
        self._on_change()

    @property
    def _probe(self) -> Probe:
        return Probe(evaluate=self._check_condition, fields=dict.fromkeys(self._fields, ''))

    async def _check_condition(self, text: str) -> ConditionFeedback:
        try:
            parsed = parse_condition(text)
        except InvalidInput as error:
            return ConditionFeedback(problem='; '.join(error.problems.values()))
        for name, column in parsed.fields.items():
            if name not in self._fields:
                listed = ', '.join(self._fields)
                return ConditionFeedback(
                    problem=f'column {column}: memory has no field {name!r}; available: {listed}'
                )
        return ConditionFeedback(evaluation='Valid; its value is known once the run starts.')


def _parse_breakpoints(values: Any) -> tuple[Breakpoint, ...]:
    try:
        return tuple(
            replace(Breakpoint(**item), id=str(number), hits=0, problem='')
            for number, item in enumerate(values or (), 1)
        )
    except (TypeError, ValueError):
        return ()
