"""Mentions: everything in a chart's text that names something else in it, by place in the format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import yaml

from engine.charts.compiling.templates import is_template
from engine.charts.edits.outline import Outline, is_empty, pairs_of, scalars, value_at
from engine.records import RUN, StatePath
from engine.records.shape import parent_of

Named = Literal['state', 'role', 'field', 'parameter', 'guard', 'action', 'record', 'definition']
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
    this: str = ''
    """For an expression that checks a record, an input or the parameters: what `this` is."""


DECLARED: Mapping[str, Kind] = {
    'parameters': 'parameter',
    'memory': 'field',
    'records': 'record',
    'roles': 'role',
    'guards': 'guard',
    'actions': 'action',
    'define': 'definition',
}
"""The keys of a chart whose own keys are names."""
LISTED: Mapping[str, Kind] = {
    'answer': 'field', 'caveat': 'field', 'panels': 'field', 'marks': 'field', 'projects': 'parameter',
}  # fmt: skip
"""The keys of a chart whose values are names."""
KEYED: Mapping[str, Kind] = {
    'words': 'guard', 'prose': 'record', 'checks': 'record', 'stubs': 'answerer', 'parameters': 'parameter',
}  # fmt: skip
"""The keys, of a chart or a scenario, whose own keys name what is declared elsewhere."""
WITHIN: Mapping[str, Kind] = {
    **dict.fromkeys(('if', 'unless'), 'condition'),
    **dict.fromkeys(('when', 'cast', 'visit', 'within', 'most_visits', 'must'), 'expression'),
    **dict.fromkeys(('prompt', 'error', 'name'), 'template'),
    **dict.fromkeys(('role', 'roles'), 'role'),
    'for': 'loop',
}
"""The keys of the parts of a chart, and what their values are."""
STEPS = ('then', 'enter', 'exit', 'on_step', 'on_retry', 'changed', 'do', 'after', 'else')
"""The keys with actions."""


def mentions(outline: Outline) -> Iterator[Mention]:
    """Yield all mentions."""
    root = outline.document.root
    for key, kind in DECLARED.items():
        for name, part in pairs_of(value_at(root, key)):
            yield Mention(kind, name, defines=True)
            yield from _declared(kind, part)
    for key, kind in LISTED.items():
        yield from (Mention(kind, name) for name in _scalars_in(value_at(root, key)))
    for key in ('facts', 'prose'):
        yield from _values(value_at(root, key))
    for _, part in pairs_of(value_at(root, 'inputs')):
        yield from _types(part, fields=True)
    for name, checks in pairs_of(value_at(root, 'checks')):
        yield from (replace(mention, this=name.value) for mention in _part(checks))
    yield from _steps(value_at(root, 'on_retry'))
    yield from _keys(root)
    yield from _inside(root, RUN)
    for state in outline.states:
        yield Mention('state', state.name, scope=parent_of(state.path), defines=True)
        yield from _part(state.body)
        yield from _all('role', value_at(state.body, 'agent'))
        yield from _all('record', value_at(state.body, 'output'))
        yield from _inside(state.body, state.path)


def _declared(kind: Kind, part: yaml.Node) -> Iterator[Mention]:
    """Yield what is said where a name is declared."""
    if kind in ('role', 'guard'):
        yield from _part(part) if isinstance(part, yaml.MappingNode) else _all('condition', part)
    elif kind == 'action':
        yield from _steps(part)
    elif kind == 'definition':
        yield from _values(part)
    else:
        yield from _types(part, fields=kind == 'record')


def _keys(root: yaml.MappingNode) -> Iterator[Mention]:
    """Yield the names that are keys where they are not declared."""
    for holder in (root, *_items(value_at(root, 'scenarios'))):
        for key, kind in KEYED.items():
            if (holder, key) != (root, 'parameters'):
                yield from (Mention(kind, name) for name, _ in pairs_of(value_at(holder, key)))


def _part(node: yaml.Node) -> Iterator[Mention]:
    """Yield what a part of the chart says itself, and in the parts of it that have no names."""
    for item in _items(node):
        yield from _part(item)
    for key, value in pairs_of(node):
        if key.value in STEPS:
            yield from _steps(value)
        elif key.value in WITHIN:
            yield from _all(WITHIN[key.value], value)
        elif key.value in ('agent', 'until', 'checks', 'refuse', 'seat'):
            yield from _part(value)
            yield from _values(value_at(value, 'output'))


def _inside(body: yaml.Node, path: StatePath) -> Iterator[Mention]:
    """Yield what a state, or the chart, says of the states in it."""
    for name in scalars(value_at(body, 'initial')):
        yield Mention('state', name, scope=path)
    for edge in _items(value_at(body, 'transitions')):
        yield from _part(edge)
        for key in ('from', 'to'):
            for name in scalars(value_at(edge, key)):
                if name.value not in ('*', '=') and not is_empty(name):
                    yield Mention('state', name, scope=path)


def _steps(node: yaml.Node | None) -> Iterator[Mention]:
    if isinstance(node, yaml.ScalarNode):
        yield Mention('action', node)
        return
    for step in _items(node) if isinstance(node, yaml.SequenceNode) else filter(None, (node,)):
        if isinstance(step, yaml.ScalarNode):
            yield Mention('action', step)
        for key, value in pairs_of(step):
            yield from _step(key.value, value)


def _step(name: str, value: yaml.Node) -> Iterator[Mention]:
    if name in STEPS:
        yield from _steps(value)
    elif name in ('if', 'unless'):
        yield from _all('condition', value)
    elif name == 'for':
        yield from _all('loop', value)
    elif name == 'let':
        yield from _values(value)
    elif name == 'action':
        yield from _all('action', value)
    else:
        yield from _all('path', value)
        for path, inner in pairs_of(value):
            yield Mention('path', path)
            yield from _values(inner)


def _values(node: yaml.Node | None) -> Iterator[Mention]:
    """Yield the expressions and templates in a value."""
    match node:
        case yaml.ScalarNode(tag='tag:yaml.org,2002:str', value=text):
            yield Mention('template' if is_template(text) else 'expression', node)
        case yaml.SequenceNode(value=items):
            for item in items:
                yield from _values(item)
        case yaml.MappingNode(value=pairs):
            for _, item in pairs:
                yield from _values(item)


def _scalars_in(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """Yield all texts in a value, without keys."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    for item in (*_items(node), *(value for _, value in pairs_of(node))):
        yield from _scalars_in(item)


def _types(node: yaml.Node | None, *, fields: bool) -> Iterator[Mention]:
    """Yield the records that the type of a field, or of each field of a record, names."""
    if fields:
        for _, field in pairs_of(node):
            yield from _types(field, fields=False)
        return
    yield from _all('record', node)
    for key in ('type', 'items', 'additionalProperties'):
        if (inner := value_at(node, key)) is not None:
            yield from _types(inner, fields=False)
    yield from _types(value_at(node, 'properties'), fields=True)


def _all(kind: Kind, node: yaml.Node | None) -> Iterator[Mention]:
    """Yield a value, or those of a list."""
    return (Mention(kind, item) for item in scalars(node))


def _items(node: yaml.Node | None) -> list[yaml.Node]:
    return node.value if isinstance(node, yaml.SequenceNode) else []
