"""What is checked of a run from a bundle beyond the types of its fields: nobody vouches for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from engine.agent import message_of
from engine.errors import BundleError, WorkspaceError
from engine.files.beneath import MOST_DEPTH
from engine.files.objects import Objects
from engine.files.tree import MOST_BYTES, MOST_FILES, entries_of
from engine.records import Shape, Transition
from engine.shape import START
from engine.state import AgentState

MOST_STATES, MOST_EDGES = 1_000, 5_000
"""Of a chart: whoever looks at it has it laid out."""
MOST_DOCUMENT = 64 << 20
"""Bytes of a run's data at any step, as JSON."""
NAME = re.compile(r'[^.\x00-\x1f]{1,200}')


def check_shape(line: int, shape: Shape) -> None:
    """Raises `BundleError` where a chart cannot be one."""
    if len(shape.states) > MOST_STATES or len(shape.edges) > MOST_EDGES:
        raise BundleError(line, f'at most {MOST_STATES} states and {MOST_EDGES} edges', field='shape')
    known = {''}
    for number, state in enumerate(shape.states):
        parent, _, name = state.path.rpartition('.')
        if not NAME.fullmatch(name) or name != state.name or parent != state.parent or parent not in known:
            raise BundleError(line, f'{state.path[:80]!r} is no state', field=f'shape.states.{number}.path')
        if state.path in known:
            raise BundleError(line, f'{state.path!r} is there twice', field=f'shape.states.{number}.path')
        known.add(state.path)
    for number, edge in enumerate(shape.edges):
        if edge.source not in known | {START} or edge.dest not in known:
            raise BundleError(line, 'it joins no states of the chart', field=f'shape.edges.{number}')


def check_step(line: int, step: Transition, known: frozenset[str]) -> None:
    """Raises `BundleError` where a step cannot be one of a chart with these states."""
    for field in ('left', 'entered', 'active'):
        for path in getattr(step, field):
            if path not in known:
                raise BundleError(line, f'the chart has no state {path[:80]!r}', field=field)
    message = step.event.data.get('message') if step.event.name == 'done' else None
    if isinstance(message, Mapping):
        try:
            message_of(message)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise BundleError(line, f'it is no message: {first["msg"]}', field='event.data.message') from None


def check_document(line: int, document: Mapping[str, Any]) -> None:
    """Raises `BundleError` where a run's data is larger than any is, or its agents are none."""
    size = len(orjson.dumps(document, default=str))
    if size > MOST_DOCUMENT:
        raise BundleError(line, f'its data takes {size:,} bytes by then, and at most {MOST_DOCUMENT:,} may')
    agents = document.get('agents')
    if not isinstance(agents, Mapping) or not isinstance(document.get('memory'), Mapping):
        raise BundleError(line, 'it leaves no memory or no agents', field='changes')
    for path, agent in agents.items():
        try:
            AgentState.model_validate(agent)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = '/'.join(map(str, ('', 'agents', path, *first['loc'])))
            raise BundleError(line, f'{where[:200]}: {first["msg"]}', field='changes') from None


def check_trees(line: int, objects: Objects, trees: Iterable[str]) -> None:
    """Raises `BundleError` where a snapshot names files outside of its folder, or more than any holds."""
    sizes: dict[str, tuple[int, int]] = {}
    try:
        for tree in trees:
            _measure(objects, tree, sizes, 0)
    except WorkspaceError as error:
        raise BundleError(line, str(error)) from None


def _measure(objects: Objects, tree: str, sizes: dict[str, tuple[int, int]], depth: int) -> tuple[int, int]:
    """The files and the bytes of a folder with all in it; each is looked into once."""
    if tree in sizes or tree not in objects:
        return sizes.get(tree, (0, 0))  # What was not kept any more when it was exported is not kept here.
    if depth > MOST_DEPTH:
        raise WorkspaceError(f'its folders are nested more than {MOST_DEPTH} deep')
    if objects.size(tree) > MOST_DOCUMENT:
        raise WorkspaceError(f'the content {tree[:12]} is no snapshot')
    files = size = 0
    for kind, *what in entries_of(objects, tree).values():
        inner = _measure(objects, what[0], sizes, depth + 1) if kind == 'folder' else (0, 0)
        files += 1 + inner[0]
        size += inner[1] + (int(what[1]) if kind == 'file' else 0)
    if files > MOST_FILES or size > MOST_BYTES:
        raise WorkspaceError(f'it holds more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB')
    sizes[tree] = files, size
    return sizes[tree]
