"""Edits that add a state, an agent or a transition."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engine.charts.edits.base import ChartEdit, guards, keys_of, relative
from engine.charts.edits.outline import INSIDES, EdgeText, Outline, is_empty, pair_at, value_at
from engine.charts.format import RoleName, StateName, Trigger
from engine.errors import InvalidInput
from engine.records import RUN, StatePath, is_within
from engine.records.shape import ancestry, parent_of


class AddEdge(ChartEdit):
    """Add a transition: after the others from its source, but before one that is always taken."""

    kind: Literal['add edge'] = 'add edge'
    trigger: Trigger
    source: StatePath
    dest: str = ''
    """'' leads nowhere: the state stays as it is."""
    conditions: tuple[str, ...] = ()
    """Guards that must hold, by name, or expressions."""
    unless: tuple[str, ...] = ()
    """Guards that must not hold."""

    def change(self, outline: Outline) -> None:
        """Add it to the list of the innermost state around both ends that has one."""
        for field in ('source', 'dest') if self.dest else ('source',):
            outline.find(getattr(self, field), field)
        add_edge(outline, self)


def add_edge(outline: Outline, edge: AddEdge) -> None:
    """Add a transition, one of whose ends may be about to be added."""
    around = [
        path
        for path in ancestry(parent_of(edge.source))
        if not edge.dest or (is_within(edge.dest, path) and edge.dest != path)
    ]
    scope = next((path for path in around if _has_edges(outline, path)), RUN)
    item = {
        'on': edge.trigger,
        'from': relative(edge.source, scope),
        'to': relative(edge.dest, scope) or None,
        'if': guards(*edge.conditions),
        'unless': guards(*edge.unless),
    }
    value = {key: part for key, part in item.items() if part is not None}
    keys_of(outline, scope).append('transitions', value, _place(outline, scope, edge))


def _place(outline: Outline, scope: StatePath, edge: AddEdge) -> int | None:
    """Return the index at which a transition can still be taken; None for the end."""
    after = None
    for other in outline.edges:
        if other.scope != scope or edge.source not in [source for source, _ in other.ends]:
            continue
        if other.trigger == edge.trigger and not _is_guarded(other):
            named = value_at(other.body, 'from')
            if not edge.conditions + edge.unless and named is not None and named.value != '*':
                line = outline.document.line(other.body)
                problem = f'line {line} is always taken, so it needs a guard, or that line does'
                raise InvalidInput({'conditions': problem})
            return other.index
        after = other.index + 1
    return after


def _is_guarded(edge: EdgeText) -> bool:
    return any(value_at(edge.body, key) is not None for key in ('if', 'unless'))


def _has_edges(outline: Outline, path: StatePath) -> bool:
    items = value_at(outline.body(path), 'transitions')
    return items is not None and not is_empty(items)


class _Addition(ChartEdit):
    """A new state."""

    name: StateName
    parent: StatePath = RUN
    """The state to put it in; '' is the chart."""
    position: int | None = Field(None, ge=0)
    """Its place among the states there, from 0; by default, the last."""
    to: str = ''
    """The state that a transition then leads to from it, if any."""

    def add(self, outline: Outline, body: dict[str, Any], trigger: str) -> None:
        """Add a state with a body, and the transition out of it."""
        path = outline.resolve(self.parent, self.name)
        if path in [state.path for state in outline.states]:
            raise InvalidInput({'name': f'there is already a state {path!r}'})
        holder = outline.body(self.parent, 'parent')
        if any(value_at(holder, key) is not None for key in ('agent', 'final', 'waits', 'for')):
            problem = 'is an agent, waits, ends a run or is repeated, so it cannot hold states'
            raise InvalidInput({'parent': f'{self.parent!r} {problem}'})
        if self.parent and is_empty(holder):
            state, inside = outline.state(self.parent), {self.name: body}
            outline.document.fill(state.key, holder, {'initial': self.name, 'states': inside})
        else:
            keys = keys_of(outline, self.parent)
            if not outline.children(self.parent) and pair_at(holder, 'initial') is None:
                keys.set('initial', self.name)
            inside_key = next((key for key in INSIDES if pair_at(holder, key)), 'states')
            keys.add(inside_key, self.name, body, self.position)
        if self.to:
            outline.find(self.to, 'to')
            add_edge(outline, AddEdge(trigger=trigger, source=path, dest=self.to))


class AddState(_Addition):
    """Add a state without an agent."""

    kind: Literal['add state'] = 'add state'
    final: bool = False
    waits: str = ''
    """What it waits for from a person, if it does."""
    trigger: Trigger = 'always'
    """The event of the transition out of it."""

    def change(self, outline: Outline) -> None:
        """Add it."""
        body = {'final': True} if self.final else {'waits': self.waits} if self.waits else {}
        self.add(outline, body, self.trigger)


class AddAgent(_Addition):
    """Add a state in which an agent works, and its role if that is new."""

    kind: Literal['add agent'] = 'add agent'
    role: RoleName
    prompt: str = 'Write the task of this agent here.'
    """Its task, a template."""
    instructions: str = ''
    """The standing instructions of its role, if that is new."""

    def change(self, outline: Outline) -> None:
        """Add it."""
        root = outline.document.root
        roles = value_at(root, 'roles')
        if roles is None or pair_at(roles, self.role) is None:
            keys_of(outline, RUN).add('roles', self.role, {'instructions': self.instructions})
        elif self.instructions:
            raise InvalidInput({'instructions': f'there is already a role {self.role!r}, which has its own'})
        self.add(outline, {'agent': self.role, 'prompt': self.prompt}, 'done')
