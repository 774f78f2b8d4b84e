"""Shape builder: builds a Shape, plain data, from a pattern's states and transitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.records import EdgeShape, MarkField, PanelField, Shape, StatePath, StateShape
from engine.statechart.definition import PatternDefinition

START = StatePath('[*]')
"""The pseudo-state in which every run begins, in Mermaid's notation."""

OUR_KEYS = (
    'invoke', 'within', 'retry', 'outcome', 'waits', 'agent', 'caption', 'seat', 'most_visits', 'most_calls',
)  # fmt: skip
"""The keys that states have in addition to those of `transitions`."""
EDGE_KEYS = ('trigger', 'source', 'dest', 'conditions', 'unless', 'before', 'after', 'history')
"""The keys of `transitions` except `prepare`, which would write memory even if the edge is not taken; and our
`history`, which edges written as lists do not have."""


def build_shape(pattern: PatternDefinition) -> Shape:
    """Return the shape of a pattern with its parameters."""
    listed = list(walk(pattern.chart_states()))
    states: list[StateShape] = []
    start = EdgeShape(trigger='start', source=START, dest=pattern.initial)
    for path, parent, state in listed:
        children = children_of(state)
        kind = 'parallel' if state.get('parallel') else 'compound' if children else 'atomic'
        if kind == 'parallel':
            initial = tuple(StatePath(f'{path}.{child["name"]}') for child in children)
        else:
            initial = tuple(StatePath(f'{path}.{name}') for name in listify(state.get('initial')))
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
                within=within if isinstance(within := state.get('within'), int | float) else None,
                criteria=_criteria(state),
                caption=state.get('caption', ''),
                seat=state.get('seat', ''),
            )
        )
    return Shape(
        pattern=pattern.name,
        title=pattern.title,
        initial=StatePath(pattern.initial),
        states=tuple(states),
        edges=(start, *(edge for edge, _ in declared_edges(pattern, listed))),
        answer=pattern.answer,
        caveat=pattern.caveat,
        panels=panel_fields(pattern),
        marks=tuple(MarkField(kind=kind, field=field) for kind, field in pattern.marks.items()),
    )


def panel_fields(pattern: PatternDefinition) -> tuple[PanelField, ...]:
    """Return the memory fields that a pattern's panels show."""
    return tuple(
        PanelField(panel=panel, part=part, field=field)
        for panel, parts in pattern.chart_panels().items()
        for part, field in ({'': parts} if isinstance(parts, str) else parts).items()
    )


def declared_edges(
    pattern: PatternDefinition, states: Iterable[tuple[StatePath, StatePath, Mapping[str, Any]]]
) -> Iterator[tuple[EdgeShape, Mapping[str, Any]]]:
    """Yield all edges of a pattern but the initial one, each with its declaration.

    Of edges with one source, those declared in the innermost state come first, as they are tried.

    Args:
        pattern: the pattern.
        states: all of its states, as yielded by `walk`.
    """
    listed = [(path, state) for path, _, state in states]
    for path, state in sorted(listed, key=lambda item: -item[0].count('.')):
        yield from _edges(state.get('transitions', ()), path, children_of(state), pattern.words)
    outermost = [state for path, state in listed if '.' not in path]
    yield from _edges(pattern.chart_transitions(), '', outermost, pattern.words)


def walk(
    states: Sequence[str | Mapping[str, Any]], parent: str = ''
) -> Iterator[tuple[StatePath, StatePath, Mapping[str, Any]]]:
    """Yield all states of nested lists, outermost first: path, parent's path and declaration."""
    for item in states:
        state = {'name': item} if isinstance(item, str) else item
        path = StatePath(f'{parent}.{state["name"]}' if parent else state['name'])
        yield path, StatePath(parent), state
        yield from walk(children_of(state), path)


def children_of(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the children of a state, under any of the keys that `transitions` allows."""
    children = state.get('parallel') or state.get('children') or state.get('states') or ()
    return [{'name': item} if isinstance(item, str) else item for item in children]


def edge_of(item: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return a transition as a mapping, whether written as a mapping or as a list."""
    return dict(item) if isinstance(item, Mapping) else dict(zip(EDGE_KEYS, item, strict=False))


def ends_of(
    edge: Mapping[str, Any], siblings: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, str | None]]:
    """Yield the sources of an edge, each with its destination; names are relative to the state around."""
    every = (state['name'] for state in siblings if not state.get('final'))
    for source in every if edge['source'] == '*' else listify(edge['source']):
        yield source, source if edge['dest'] == '=' else edge['dest']


def callback_names(value: Any) -> tuple[str, ...]:
    """Return the names of callbacks: one or a list of them, as names or functions."""
    return tuple(map(callback_name, listify(value)))


def callback_name(callback: Any) -> str:
    """Return a callback's name: itself, or its function's name."""
    return callback if isinstance(callback, str) else getattr(callback, 'func', callback).__name__


Words = Mapping[str, str | tuple[str, str]]
"""Phrases for guards by name, or pairs: if it must hold, and if it must not. '' leaves it out."""

NEGATIONS = {'is': 'not', 'has': 'no', 'can': 'cannot', 'may': 'may not', 'must': 'need not'}
"""The negation of a guard's first word, for guards that must not hold."""


def guard_words(edge: EdgeShape, words: Words) -> tuple[str, ...]:
    """Return the guards of an edge in words, by default from their names: *approved* for `is_approved`."""
    return (
        *(_phrase(name, words.get(name), holds=True) for name in edge.conditions),
        *(_phrase(name, words.get(name), holds=False) for name in edge.unless),
    )


def _phrase(name: str, words: str | tuple[str, str] | None, *, holds: bool) -> str:
    if isinstance(words, tuple):
        return words[not holds]
    first, *rest = name.split('_')
    if words is not None:
        return words if holds else f'not {words}'
    if holds:
        return ' '.join(rest if first in ('is', 'has') and rest else [first, *rest])
    return ' '.join([NEGATIONS[first], *rest] if first in NEGATIONS and rest else ['not', first, *rest])


def _edges(
    items: Sequence[Any], scope: str, siblings: Iterable[Mapping[str, Any]], words: Words
) -> Iterator[tuple[EdgeShape, Mapping[str, Any]]]:
    prefix = f'{scope}.' if scope else ''
    for edge in map(edge_of, items):
        for source, dest in ends_of(edge, siblings):
            shape = EdgeShape(
                trigger=edge['trigger'],
                source=StatePath(prefix + source),
                dest=prefix + dest if dest else '',
                conditions=callback_names(edge.get('conditions')),
                unless=callback_names(edge.get('unless')),
                history=edge.get('history', ''),
            )
            named = not words.keys().isdisjoint(shape.conditions + shape.unless)
            yield (replace(shape, words=guard_words(shape, words)) if named else shape), edge


def _criteria(state: Mapping[str, Any]) -> tuple[str, ...]:
    until = state['agent'].until if 'agent' in state else None
    return tuple(check.name for check in until.all) if until else ()


def listify(value: Any) -> list[Any]:
    """Wrap a single value in a list; `transitions` allows either."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]
