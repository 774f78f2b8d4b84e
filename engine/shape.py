"""Draws a pattern's states and transitions as a Shape: plain data that needs no pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.records import EdgeShape, Shape, StatePath, StateShape

if TYPE_CHECKING:
    from engine.pattern import Pattern

START = StatePath('[*]')
"""The pseudo-state in which every run begins, as Mermaid writes it."""

EDGE_KEYS = ('trigger', 'source', 'dest', 'conditions', 'unless', 'before', 'after')
"""Those of `transitions`, but for `prepare`: it would write memory even where the edge is not taken."""


def draw(pattern: Pattern) -> Shape:
    """The shape of a pattern with its parameters."""
    said = list(walk(pattern.chart_states()))
    states: list[StateShape] = []
    start = EdgeShape(trigger='start', source=START, dest=pattern.initial)
    for path, parent, state in said:
        children = children_of(state)
        kind = 'parallel' if state.get('parallel') else 'compound' if children else 'atomic'
        if kind == 'parallel':
            initial = tuple(StatePath(f'{path}.{child["name"]}') for child in children)
        else:
            initial = tuple(StatePath(f'{path}.{name}') for name in listed(state.get('initial')))
        states.append(
            StateShape(
                path=path,
                name=state['name'],
                parent=parent,
                kind='final' if state.get('final') else kind,  # type: ignore[arg-type]
                initial=initial,
                outcome=state.get('outcome', 'done'),
                role=state['agent'].role if 'agent' in state else '',
                roles=tuple(role.name for role in state['agent'].roles) if 'agent' in state else (),
                invokes='invoke' in state,
                waits=state.get('waits', ''),
                within=None if isinstance(state.get('within'), str) else state.get('within'),
                criteria=_criteria(state),
            )
        )
    return Shape(
        pattern=pattern.name,
        title=pattern.title,
        initial=StatePath(pattern.initial),
        states=tuple(states),
        edges=(start, *(edge for edge, _ in stated(pattern, said))),
        answer=pattern.answer,
        plan=pattern.plan,
        debate=pattern.debate,
        candidates=pattern.candidates,
        messages=pattern.messages,
        report=pattern.report,
        clock=pattern.clock,
        oversight=pattern.oversight,
        compared=pattern.compared,
    )


def stated(
    pattern: Pattern, states: Iterable[tuple[StatePath, StatePath, Mapping[str, Any]]]
) -> Iterator[tuple[EdgeShape, Mapping[str, Any]]]:
    """Every edge of a pattern but the first, in the order of the chart; and what the pattern says of it.

    Args:
        pattern: whose edges.
        states: all of its states, as `walk` gives them.
    """
    top = []
    for path, parent, state in states:
        if not parent and not state.get('final'):
            top.append(str(path))
        inside = [child['name'] for child in children_of(state)]
        yield from _edges(state.get('transitions', ()), path, inside)
    yield from _edges(pattern.chart_transitions(), '', top)


def walk(
    states: Sequence[str | Mapping[str, Any]], parent: str = ''
) -> Iterator[tuple[StatePath, StatePath, Mapping[str, Any]]]:
    """Every state of nested lists, outermost first: its path, its parent's path and what is said of it."""
    for item in states:
        state = {'name': item} if isinstance(item, str) else item
        path = StatePath(f'{parent}.{state["name"]}' if parent else state['name'])
        yield path, StatePath(parent), state
        yield from walk(children_of(state), path)


def children_of(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The states inside a state, under whichever key `transitions` allows."""
    found = state.get('parallel') or state.get('children') or state.get('states') or ()
    return [{'name': item} if isinstance(item, str) else item for item in found]


def edge_of(item: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """A transition as a mapping, whether it was written as one or as a list."""
    return dict(item) if isinstance(item, Mapping) else dict(zip(EDGE_KEYS, item, strict=False))


def names(value: Any) -> tuple[str, ...]:
    """The names of callbacks, which `transitions` allows as one or as a list, by name or as functions."""
    return tuple(map(name_of, listed(value)))


def name_of(callback: Any) -> str:
    """The name of a callback: its own, or its function's."""
    return callback if isinstance(callback, str) else getattr(callback, 'func', callback).__name__


def _edges(
    items: Sequence[Any], scope: str, siblings: Sequence[str]
) -> Iterator[tuple[EdgeShape, Mapping[str, Any]]]:
    prefix = f'{scope}.' if scope else ''
    for edge in map(edge_of, items):
        sources = siblings if edge['source'] == '*' else listed(edge['source'])
        for source in sources:
            dest = source if edge['dest'] == '=' else edge['dest']
            if not (edge['source'] == '*' and source == dest):
                made = EdgeShape(
                    trigger=edge['trigger'],
                    source=StatePath(prefix + source),
                    dest=prefix + dest if dest else '',
                    conditions=names(edge.get('conditions')),
                    unless=names(edge.get('unless')),
                )
                yield made, edge


def _criteria(state: Mapping[str, Any]) -> tuple[str, ...]:
    until = state['agent'].until if 'agent' in state else None
    return tuple(check.name for check in until.all) if until else ()


def listed(value: Any) -> list[Any]:
    """What `transitions` allows as one or as a list, as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
