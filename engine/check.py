"""Checks every name a pattern uses when its class is made: a mistake names the pattern, the state and the trigger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.errors import PatternError
from engine.records import CONTROL
from engine.shape import EDGE_KEYS, children_of, edge_of, walk

if TYPE_CHECKING:
    from engine.pattern import Pattern

STATE_KEYS = frozenset(
    {
        'name',
        'initial',
        'children',
        'states',
        'parallel',
        'transitions',
        'final',
        'on_enter',
        'on_exit',
        'label',
    }
    | {'invoke', 'within', 'retry', 'outcome', 'waits', 'agent'}
)


def check(pattern: Pattern) -> None:
    """Raise `PatternError` for the first mistake in a pattern's states and transitions."""
    states = list(walk(pattern.chart_states()))
    paths = {path for path, _, _ in states}
    if len(paths) != len(states):
        twice = next(path for path in paths if sum(path == other for other, _, _ in states) > 1)
        raise PatternError(pattern.name, 'there are two states of this name', where=f'state {twice!r}')
    if pattern.initial not in paths:
        raise PatternError(pattern.name, f'initial names no state: {pattern.initial!r}', where='initial')
    if pattern.answer and pattern.answer not in pattern.Memory.model_fields:
        raise PatternError(pattern.name, f'Memory has no field {pattern.answer!r}', where='answer')
    for path, _, state in states:
        _check_state(pattern, path, state)
        inside = {child for child in paths if child.startswith(f'{path}.')}
        _check_edges(
            pattern, state.get('transitions', ()), path, {child[len(path) + 1 :] for child in inside}
        )
    _check_edges(pattern, pattern.chart_transitions(), '', paths)
    _check_endings(pattern, states)


def _check_state(pattern: Pattern, path: str, state: Mapping[str, Any]) -> None:
    where = f'state {path!r}'
    unknown = set(state) - STATE_KEYS
    if unknown:
        known = ', '.join(sorted(STATE_KEYS))
        raise PatternError(pattern.name, f'unknown key {min(unknown)!r}; there are: {known}', where=where)
    if '.' in state['name'] or not state['name']:
        raise PatternError(pattern.name, 'a name must not be empty or hold a dot', where=where)
    children = {child['name'] for child in children_of(state)}
    initial = state.get('initial')
    if children and not state.get('parallel') and initial not in children:
        raise PatternError(
            pattern.name, f'initial must name one of {sorted(children)}, not {initial!r}', where=where
        )
    if state.get('outcome', 'done') not in ('done', 'failed'):
        raise PatternError(
            pattern.name, f"outcome is 'done' or 'failed', not {state['outcome']!r}", where=where
        )
    for key in ('on_enter', 'on_exit', 'invoke'):
        _check_methods(pattern, state.get(key), where, key)
    if 'agent' in state:
        _check_methods(pattern, state['agent'].prompt, where, 'prompt')


def _check_edges(pattern: Pattern, edges: Sequence[Any], scope: str, known: set[str]) -> None:
    for item in edges:
        edge = edge_of(item)
        trigger = edge.get('trigger', '?')
        where = f'trigger {trigger!r} from {edge.get("source", "?")!r}' + (
            f' in state {scope!r}' if scope else ''
        )
        missing = {'trigger', 'source', 'dest'} - set(edge)
        if missing or set(edge) - set(EDGE_KEYS):
            problem = (
                f'lacks {sorted(missing)}'
                if missing
                else f'unknown keys {sorted(set(edge) - set(EDGE_KEYS))}'
            )
            raise PatternError(pattern.name, problem, where=where)
        if trigger in CONTROL:
            raise PatternError(pattern.name, 'this name belongs to the engine', where=where)
        sources = [edge['source']] if isinstance(edge['source'], str) else list(edge['source'])
        for name in [*sources, edge['dest']]:
            if name not in known and name not in ('*', '=', None):
                raise PatternError(pattern.name, f'there is no state {name!r}', where=where)
        for key in ('conditions', 'unless', 'before', 'after', 'prepare'):
            _check_methods(pattern, edge.get(key), where, key)


def _check_methods(pattern: Pattern, value: Any, where: str, key: str) -> None:
    for name in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(name, str) and not callable(getattr(pattern, name, None)):
            raise PatternError(pattern.name, f'there is no method {name!r} (named as {key})', where=where)


def _check_endings(pattern: Pattern, states: list[tuple[Any, Any, Mapping[str, Any]]]) -> None:
    handled = {(edge['trigger'], source) for edge, source in _all_edges(pattern, states)}
    for path, parent, state in states:
        taken = ('done', path) in handled or (not parent and ('done', '*') in handled)
        if 'invoke' in state and not taken:
            raise PatternError(
                pattern.name, 'its activity ends in `done`, which no edge takes', where=f'state {path!r}'
            )
    for edge, source in _all_edges(pattern, states):
        if edge['trigger'] == 'always' and edge['dest'] is None:
            raise PatternError(
                pattern.name, 'an `always` edge must lead somewhere', where=f'state {source!r}'
            )


def _all_edges(
    pattern: Pattern, states: list[tuple[Any, Any, Mapping[str, Any]]]
) -> Iterator[tuple[dict[str, Any], str]]:
    scopes = [
        ('', pattern.chart_transitions()),
        *((path, state.get('transitions', ())) for path, _, state in states),
    ]
    for scope, edges in scopes:
        for edge in map(edge_of, edges):
            for source in [edge['source']] if isinstance(edge['source'], str) else edge['source']:
                yield edge, f'{scope}.{source}' if scope and source != '*' else source
