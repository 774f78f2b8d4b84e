"""Pattern validation: checks every name a pattern uses when its class is created; locates mistakes."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from engine.errors import PatternError
from engine.records import CONTROL, EdgeShape, StatePath, is_within
from engine.statechart.definition import PatternDefinition
from engine.statechart.retry import Retry
from engine.statechart.shape_builder import (
    EDGE_KEYS,
    OUR_KEYS,
    callback_name,
    children_of,
    declared_edges,
    edge_of,
    listify,
    panel_fields,
    walk,
)

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
        *OUR_KEYS,
    }
)
MEMORY_IS_ENOUGH = ('prompt', 'cast')
"""The keys whose methods may omit the second argument after `self`."""

NAME = re.compile(r'\w([\w -]*\w)?')
"""State and trigger names: they stand in addresses, conditions and drawings."""
RESERVED_TRIGGERS = CONTROL | {'state'}
"""Triggers that a pattern may not use: the engine's own events, and a word of the library's."""
MAY_BE_METHODS = frozenset({'states', 'transitions', 'panels'})
METHODS = frozenset({FunctionType, property, classmethod, staticmethod})

States = list[tuple[StatePath, StatePath, Mapping[str, Any]]]


def validate_overrides(pattern: type[PatternDefinition], base: type[PatternDefinition]) -> None:
    """Raise `PatternError` for an attribute that hides one of `base`, which the engine would misuse."""
    for name in {name for cls in pattern.__mro__ if cls not in base.__mro__ for name in vars(cls)}:
        if name.startswith('_') or name in MAY_BE_METHODS or not hasattr(base, name):
            continue
        member, hidden = (inspect.getattr_static(cls, name) for cls in (pattern, base))
        if not _is_substitute(member, hidden):
            problem = f'it hides `Pattern.{name}`, which is something else: choose another name'
            raise PatternError(pattern.__name__, problem, where=f'attribute {name!r}')


def _is_substitute(member: Any, hidden: Any) -> bool:
    """Return whether the engine can use an attribute in place of the one it hides."""
    if isinstance(hidden, str):
        return isinstance(member, str)
    if type(member) is not type(hidden) and METHODS & {type(member), type(hidden)}:
        return False
    method = getattr(hidden, '__func__', hidden)
    if not inspect.isfunction(method):
        return True
    member = getattr(member, '__func__', member)
    same_kind = inspect.iscoroutinefunction(member) == inspect.iscoroutinefunction(method)
    accepted = accepts_arguments(member, len(inspect.signature(method).parameters))
    return same_kind and accepted and not hasattr(method, '__final__')


def validate_pattern(pattern: PatternDefinition) -> None:
    """Raise `PatternError` for the first mistake in a pattern's states and transitions."""
    _check_form(pattern, pattern.chart_states())
    states: States = list(walk(pattern.chart_states()))
    paths = [path for path, _, _ in states]
    all_paths: set[str] = set(paths)
    for path, count in Counter(paths).items():
        if count > 1:
            raise PatternError(pattern.name, 'there are two states of this name', where=f'state {path!r}')
    if pattern.initial not in all_paths:
        raise PatternError(pattern.name, f'it names no state: {pattern.initial!r}', where='initial')
    for where, field in _display_fields(pattern):
        if field and field not in pattern.Memory.model_fields:
            raise PatternError(pattern.name, f'Memory has no field {field!r}', where=where)
    for path, _, state in states:
        _check_state(pattern, path, state)
        if edges := state.get('transitions', ()):
            inside = {child[len(path) + 1 :] for child in all_paths if child.startswith(f'{path}.')}
            _check_edges(pattern, edges, path, inside)
    _check_edges(pattern, pattern.chart_transitions(), '', all_paths)
    _check_endings(pattern, states)


def _display_fields(pattern: PatternDefinition) -> Iterator[tuple[str, str]]:
    """Yield the declarations for display, each with the memory field it names."""
    yield from (('answer', pattern.answer), ('caveat', pattern.caveat))
    yield from ((f'marks.{kind}', field) for kind, field in pattern.marks.items())
    for panel_field in panel_fields(pattern):
        yield '.'.join(filter(None, ('panels', panel_field.panel, panel_field.part))), panel_field.field


def _check_form(pattern: PatternDefinition, states: Any, inside: str = '') -> None:
    """Check the form all other checks rely on: lists of names and of mappings with a name."""
    where = f'state {inside!r}' if inside else 'states'
    if isinstance(states, (str, Mapping)) or not isinstance(states, Sequence):
        raise PatternError(pattern.name, 'it must be a list of states', where=where)
    for item in states:
        name = item.get('name') if isinstance(item, Mapping) else item
        if not isinstance(name, str) or not NAME.fullmatch(name):
            problem = f'a state needs a name of letters, digits, spaces, "-" and "_", not {name!r}'
            raise PatternError(pattern.name, problem, where=where)
        for key in ('parallel', 'children', 'states'):
            if isinstance(item, Mapping) and item.get(key):
                _check_form(pattern, item[key], f'{inside}.{name}' if inside else name)


def _check_state(pattern: PatternDefinition, path: str, state: Mapping[str, Any]) -> None:
    def error(problem: str) -> PatternError:
        return PatternError(pattern.name, problem, where=f'state {path!r}')

    unknown = set(state) - STATE_KEYS
    if unknown:
        raise error(f'unknown key {min(unknown)!r}; allowed: {", ".join(sorted(STATE_KEYS))}')
    children = [child['name'] for child in children_of(state)]
    initial = None if state.get('parallel') else state.get('initial')
    if children and not state.get('parallel') and initial not in children:
        raise error(f'initial must name one of {sorted(children)}, not {initial!r}')
    for problem in _contradictions(state, bool(children)):
        raise error(problem)
    for key in ('on_enter', 'on_exit', 'invoke', 'within'):
        _check_methods(pattern, state.get(key), f'state {path!r}', key)
    if 'agent' in state:
        _check_methods(pattern, state['agent'].prompt, f'state {path!r}', 'prompt')
        _check_methods(pattern, state['agent'].cast or None, f'state {path!r}', 'cast')


def _contradictions(state: Mapping[str, Any], composite: bool) -> Iterator[str]:
    if state.get('outcome', 'done') not in ('done', 'failed'):
        yield f"outcome is 'done' or 'failed', not {state['outcome']!r}"
    if state.get('final') and (composite or 'invoke' in state or state.get('transitions')):
        yield 'a final state holds nothing, invokes nothing and leads nowhere'
    if composite and 'invoke' in state:
        yield 'a state with children cannot invoke anything: let one of its children do it'
    seconds = state.get('within')
    if not (
        seconds is None
        or isinstance(seconds, str)
        or callable(seconds)
        or (type(seconds) in (int, float) and seconds > 0)
    ):
        yield f'within is a number of seconds above 0 or the name of a method, not {seconds!r}'
    visits, calls = state.get('most_visits', 1), state.get('most_calls', 0)
    if type(visits) is not int or visits < 1:
        yield f'most_visits is a whole number, 1 or more, not {visits!r}'
    if type(calls) not in (int, float) or not calls >= 0:
        yield f'most_calls is a number, 0 or more, not {calls!r}'
    if not isinstance(state.get('retry', Retry()), Retry):
        yield f'retry is an engine.Retry, not {state["retry"]!r}'


def _check_edges(pattern: PatternDefinition, edges: Sequence[Any], scope: str, all_paths: set[str]) -> None:
    for item in edges:
        if not isinstance(item, Mapping) and not 3 <= len(item) < len(EDGE_KEYS):
            raise PatternError(
                pattern.name, f'an edge is trigger, source, dest ..., not {item!r}', where=scope
            )
        edge = edge_of(item)
        trigger = edge.get('trigger', '?')
        inside = f' in state {scope!r}' if scope else ''
        where = f'trigger {trigger!r} from {edge.get("source", "?")!r}{inside}'
        missing, unknown = {'trigger', 'source', 'dest'} - set(edge), set(edge) - set(EDGE_KEYS)
        if missing or unknown:
            problem = f'lacks {sorted(missing)}' if missing else f'unknown keys {sorted(unknown)}'
            raise PatternError(pattern.name, problem, where=where)
        if not isinstance(trigger, str) or not NAME.fullmatch(trigger) or trigger in RESERVED_TRIGGERS:
            problem = 'a trigger needs a name of letters, digits, spaces, "-" and "_"; reserved are '
            raise PatternError(pattern.name, problem + ', '.join(sorted(RESERVED_TRIGGERS)), where=where)
        for name in [*listify(edge['source']), edge['dest']]:
            if name not in all_paths and name not in ('*', '=', None):
                raise PatternError(pattern.name, f'there is no state {name!r}', where=where)
        for key in ('conditions', 'unless', 'before', 'after'):
            _check_methods(pattern, edge.get(key), where, key)
        if edge.get('history', 'deep') not in ('shallow', 'deep'):
            problem = f"history is 'shallow' or 'deep', not {edge['history']!r}"
            raise PatternError(pattern.name, problem, where=where)


def _check_methods(pattern: PatternDefinition, value: Any, where: str, key: str) -> None:
    for item in listify(value):
        if not isinstance(item, str) and not callable(item):
            continue
        method = getattr(pattern, item, None) if isinstance(item, str) else item
        name = callback_name(item)
        if not callable(method):
            raise PatternError(pattern.name, f'there is no method {name!r} (named as {key})', where=where)
        if not accepts_arguments(method, 2) and not (
            key in MEMORY_IS_ENOUGH and accepts_arguments(method, 1)
        ):
            second = 'activity' if key == 'invoke' else 'event'
            problem = f'{name!r} (named as {key}) must take memory and {second}'
            raise PatternError(pattern.name, problem, where=where)
        if inspect.iscoroutinefunction(method) != (key == 'invoke'):
            kind = 'must be' if key == 'invoke' else 'must not be'
            raise PatternError(pattern.name, f'{name!r} (named as {key}) {kind} async', where=where)


def accepts_arguments(method: Any, count: int) -> bool:
    """Return whether it accepts that many arguments."""
    if isinstance(method, partial) and not (method.keywords or vars(method)):
        return accepts_arguments(method.func, count + len(method.args))
    if not isinstance(method, type) and isinstance(call := vars(type(method)).get('__call__'), FunctionType):
        return accepts_arguments(call, count + 1)
    bound = inspect.ismethod(method)
    if not inspect.isfunction(function := method.__func__ if bound else method) or vars(function):
        return _binds(method, count)  # A decorator may have declared a different signature.
    # The same result in a tenth of the time: every start that loads the patterns checks 1,600 callbacks.
    code, count = function.__code__, count + bound
    defaults, keywords = function.__defaults__ or (), function.__kwdefaults__ or {}
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    enough = code.co_argcount - len(defaults) <= count and all(name in keywords for name in named)
    return enough and (count <= code.co_argcount or bool(code.co_flags & inspect.CO_VARARGS))


def _binds(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    return True


def _check_endings(pattern: PatternDefinition, states: States) -> None:
    declared = list(declared_edges(pattern, states))
    edges = [edge for edge, _ in declared]
    done = {edge.source for edge in edges if edge.trigger == 'done'}
    stated = {path: state for path, _, state in states}
    for path, _, state in states:
        if 'invoke' in state and path not in done:
            problem = 'its activity ends in `done`, which no edge takes'
            raise PatternError(pattern.name, problem, where=f'state {path!r}')
    for edge, declaration in declared:
        where = f'trigger {edge.trigger!r} from {str(edge.source)!r}'
        state = stated[edge.source]
        if edge.trigger == 'always' and not edge.dest:
            raise PatternError(pattern.name, 'an `always` edge must lead somewhere', where=where)
        if state.get('final'):
            raise PatternError(pattern.name, 'nothing leads out of a final state', where=where)
        ends = 'invoke' in state or children_of(state) or declaration['source'] == '*'
        if edge.history and not children_of(stated.get(StatePath(edge.dest), {})):
            problem = f'history leads back into a state with children, which {edge.dest!r} is not'
            raise PatternError(pattern.name, problem, where=where)
        if edge.trigger == 'done' and not ends:
            raise PatternError(pattern.name, 'nothing in this state can become done', where=where)
    for path, _, state in states:
        if _is_endless(path, state, edges):
            problem = 'nothing leads out of it: give it an edge, or make it final'
            raise PatternError(pattern.name, problem, where=f'state {path!r}')


def _is_endless(path: StatePath, state: Mapping[str, Any], edges: Sequence[EdgeShape]) -> bool:
    """Return whether no edge leads out of an atomic state, or of one around it that has not ended."""
    if children_of(state) or state.get('final'):
        return False
    return not any(
        edge.dest and (edge.source == path or (edge.trigger != 'done' and is_within(path, edge.source)))
        for edge in edges
    )
