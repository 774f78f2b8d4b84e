"""Mentions: everything in a chart's text that names something else in it, by place in the format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import yaml

from engine.charts.edits.outline import Outline, StateText, is_empty, scalars, value_at
from engine.records import RUN, StatePath
from engine.records.shape import parent_of

Named = Literal['state', 'role', 'field', 'parameter', 'guard', 'action', 'record']
Kind = Literal[Named, 'answerer', 'path', 'condition', 'expression', 'template', 'loop']
"""What a value is. `answerer` is the path of an agent or its role; `path` begins with a memory field, as
`drafts[-1].text`; `condition` is the name of a guard or an expression; `loop` is `item in expression`."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A value, or a key, that names something or consists of text that does."""

    kind: Kind
    node: yaml.ScalarNode
    scope: StatePath = RUN
    """For a state: what the name is relative to."""
    defines: bool = False
    """Whether it is here that the thing gets its name."""


CHART_KEYS: dict[str, Kind] = {
    'parameters': 'parameter',
    'memory': 'field',
    'records': 'record',
    'roles': 'role',
    'guards': 'guard',
    'actions': 'action',
}
"""The keys of a chart whose own keys are names."""
STEPS = ('then', 'enter', 'exit', 'on_step', 'on_retry', 'do', 'after', 'else')
"""The keys with actions."""


def mentions(outline: Outline) -> Iterator[Mention]:
    """Yield all mentions."""
    root = outline.document.root
    yield from _declarations(root)
    yield from _display(root)
    for _, guard in _pairs(value_at(root, 'guards')):
        yield from _all('condition', value_at(guard, 'if') if isinstance(guard, yaml.MappingNode) else guard)
    for _, steps in _pairs(value_at(root, 'actions')):
        yield from _steps(steps)
    yield from _steps(value_at(root, 'on_retry'))
    yield from _keys('answerer', value_at(root, 'stubs'))
    for scenario in _items(value_at(root, 'scenarios')):
        yield from _keys('parameter', value_at(scenario, 'parameters'))
        yield from _keys('answerer', value_at(scenario, 'stubs'))
    yield from _inside(root, RUN)
    for state in outline.states.values():
        yield Mention('state', state.key, scope=parent_of(state.path), defines=True)
        yield from _state(state)


def _declarations(root: yaml.Node) -> Iterator[Mention]:
    """Yield the names that a chart declares, and the types of what has them."""
    for key, kind in CHART_KEYS.items():
        for name, _ in _pairs(value_at(root, key)):
            yield Mention(kind, name, defines=True)
    for key in ('memory', 'records', 'inputs'):
        for _, record in _pairs(value_at(root, key)):
            yield from _types(record, fields=key != 'memory')


def _display(root: yaml.Node) -> Iterator[Mention]:
    """Yield what a chart says of how its runs are shown."""
    for key in ('answer', 'caveat'):
        yield from _all('field', value_at(root, key))
    for key in ('panels', 'marks'):
        for _, parts in _pairs(value_at(root, key)):
            yield from _all('field', parts)
            for _, part in _pairs(parts):
                yield from _all('field', part)
    yield from _keys('guard', value_at(root, 'words'))
    yield from _all('parameter', value_at(root, 'projects'))


def _state(state: StateText) -> Iterator[Mention]:
    agent = value_at(state.body, 'agent')
    yield from _all('role', agent)
    for key in ('role', 'roles'):
        yield from _all('role', value_at(agent, key) if agent else None)
    for key, kind in (('cast', 'expression'), ('within', 'expression'), ('output', 'record')):
        for holder in filter(None, (agent, state.body)):
            yield from _all(kind, value_at(holder, key))  # type: ignore[arg-type]
    yield from _all('template', value_at(state.body, 'prompt'))
    yield from _all('loop', value_at(state.body, 'for'))
    for key in STEPS:
        yield from _steps(value_at(state.body, key))
    yield from _inside(state.body, state.path)


def _inside(body: yaml.Node, path: StatePath) -> Iterator[Mention]:
    """Yield what a state, or the chart, says of the states in it."""
    for name in scalars(value_at(body, 'initial')):
        yield Mention('state', name, scope=path)
    for edge in _items(value_at(body, 'transitions')):
        for key in ('from', 'to'):
            for name in scalars(value_at(edge, key)):
                if name.value not in ('*', '=') and not is_empty(name):
                    yield Mention('state', name, scope=path)
        for key in ('if', 'unless'):
            yield from _all('condition', value_at(edge, key))
        for key in STEPS:
            yield from _steps(value_at(edge, key))


def _steps(node: yaml.Node | None) -> Iterator[Mention]:
    if isinstance(node, yaml.ScalarNode):
        yield Mention('action', node)
        return
    for step in _items(node) if isinstance(node, yaml.SequenceNode) else filter(None, (node,)):
        if isinstance(step, yaml.ScalarNode):
            yield Mention('action', step)
        for key, value in _pairs(step):
            yield from _step(key.value, value)


def _step(name: str, value: yaml.Node) -> Iterator[Mention]:
    if name in STEPS:
        yield from _steps(value)
    elif name in ('if', 'unless'):
        yield from _all('condition', value)
    elif name == 'for':
        yield from _all('loop', value)
    else:
        yield from _all('path', value)
        for path, inner in _pairs(value):
            yield Mention('path', path)
            yield from _values(inner)


def _values(node: yaml.Node) -> Iterator[Mention]:
    """Yield the expressions in a value: a text is one, unless it is a template."""
    match node:
        case yaml.ScalarNode(tag='tag:yaml.org,2002:str'):
            yield Mention('expression', node)
        case yaml.SequenceNode(value=items):
            for item in items:
                yield from _values(item)
        case yaml.MappingNode(value=[(yaml.ScalarNode(value='text'), yaml.ScalarNode() as text)]):
            yield Mention('template', text)
        case yaml.MappingNode(value=pairs):
            for _, item in pairs:
                yield from _values(item)


def _types(node: yaml.Node, *, fields: bool) -> Iterator[Mention]:
    """Yield the records that the type of a field, or of each field of a record, names."""
    if fields:
        for _, field in _pairs(node):
            yield from _types(field, fields=False)
        return
    yield from _all('record', node)
    for key in ('type', 'items'):
        if (inner := value_at(node, key)) is not None:
            yield from _types(inner, fields=False)


def _all(kind: Kind, node: yaml.Node | None) -> Iterator[Mention]:
    """Yield a value, or those of a list."""
    return (Mention(kind, item) for item in scalars(node))


def _keys(kind: Kind, node: yaml.Node | None) -> Iterator[Mention]:
    return (Mention(kind, key) for key, _ in _pairs(node))


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else []
