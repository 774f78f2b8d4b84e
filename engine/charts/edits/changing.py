"""Edits that change a transition, or a simple key of a state."""

from __future__ import annotations

from typing import Any, Literal

import yaml

from engine.charts.edits.base import EDGE_ORDER, ChartEdit, EdgeEdit, Keys, guards, keys_of, relative
from engine.charts.edits.deleting import delete_key, stubs_of_nobody
from engine.charts.edits.outline import Outline, is_empty, value_at
from engine.charts.format import Trigger
from engine.errors import InvalidInput
from engine.records import RUN, StatePath, is_within


class ChangeEdge(EdgeEdit):
    """Change the event, the destination or the guards of a transition; None leaves as it is.

    One with several sources changes for all of them.
    """

    kind: Literal['change edge'] = 'change edge'
    new_trigger: Trigger | None = None
    new_dest: StatePath | None = None
    conditions: tuple[str, ...] | None = None
    """Guards that must hold, by name, or expressions."""
    unless: tuple[str, ...] | None = None
    """Guards that must not hold."""

    def change(self, outline: Outline) -> None:
        """Change it."""
        edge = outline.edge(self.trigger, self.source, self.dest, self.number)
        changes: dict[str, Any] = {}
        if self.new_trigger is not None:
            changes['on'] = self.new_trigger
        if self.new_dest is not None:
            outline.find(self.new_dest, 'new_dest')
            if edge.scope and (self.new_dest == edge.scope or not is_within(self.new_dest, edge.scope)):
                raise InvalidInput(
                    {'new_dest': f'it is declared in {edge.scope!r}, and can only lead to states in it'}
                )
            changes['to'] = relative(self.new_dest, edge.scope)
        for key, names in (('if', self.conditions), ('unless', self.unless)):
            if names is not None:
                changes[key] = guards(*names)
        for key, value in changes.items():
            Keys(outline.document, edge.body, EDGE_ORDER).set(key, value)


class SetKey(ChartEdit):
    """Set a simple key of a state, or of the chart; None deletes it.

    The stubs of a role that nobody plays any more go with it.
    """

    kind: Literal['set key'] = 'set key'
    state: StatePath = RUN
    """'' is the chart."""
    key: Literal[
        'title',
        'summary',
        'answer',
        'caveat',
        'initial',
        'role',
        'prompt',
        'output',
        'within',
        'outcome',
        'waits',
    ]
    value: str | bool | int | float | None

    def change(self, outline: Outline) -> None:
        """Set it."""
        body = outline.body(self.state)
        key = 'agent' if self.key == 'role' else self.key
        if self.key == 'role' and isinstance(self.value, str):
            others = [state for state in outline.states if state.path != self.state]
            for stubs in stubs_of_nobody(outline, others, (self.state, self.value)):
                delete_key(outline.document, *stubs)
        if isinstance(agent := value_at(body, 'agent'), yaml.MappingNode) and self.key == 'role':
            Keys(outline.document, agent, ('role',)).set('role', self.value)
        elif self.state and is_empty(body):
            if self.value is not None:
                outline.document.fill(outline.state(self.state).key, body, {key: self.value})
        else:
            keys = keys_of(outline, self.state)
            if key not in keys.order:
                raise InvalidInput({'key': f'{"a state" if self.state else "a chart"} has no {self.key!r}'})
            keys.set(key, self.value)
