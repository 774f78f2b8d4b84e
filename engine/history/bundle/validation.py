"""Checks on a bundle's runs beyond field types, since their origin is not trusted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from engine.errors import BundleError, WorkspaceError
from engine.records import Shape, Transition
from engine.records.message import message_of
from engine.statechart.run_state import AgentState
from engine.statechart.shape_builder import START
from engine.workspace.confined_dir import MAX_DEPTH
from engine.workspace.directories import snapshot_limits
from engine.workspace.object_store import ObjectStore
from engine.workspace.snapshots import entries_of

MAX_STATES, MAX_EDGES = 1_000, 5_000
"""Maximum size of a chart: viewing it requires laying it out."""
MAX_DOCUMENT = 64 << 20
"""Maximum bytes of a run's data at any step, as JSON."""
NAME = re.compile(r'[^.\x00-\x1f]{1,200}')


def check_shape(line: int, shape: Shape) -> None:
    """Raise `BundleError` if this is not a valid chart."""
    if len(shape.states) > MAX_STATES or len(shape.edges) > MAX_EDGES:
        raise BundleError(line, f'at most {MAX_STATES} states and {MAX_EDGES} edges', field='shape')
    paths = {''}
    for number, state in enumerate(shape.states):
        parent, _, name = state.path.rpartition('.')
        if not NAME.fullmatch(name) or name != state.name or parent != state.parent or parent not in paths:
            raise BundleError(
                line, f'{state.path[:80]!r} is not a valid state', field=f'shape.states.{number}.path'
            )
        if state.path in paths:
            raise BundleError(line, f'{state.path!r} is listed twice', field=f'shape.states.{number}.path')
        paths.add(state.path)
    for number, edge in enumerate(shape.edges):
        if edge.source not in paths | {START} or edge.dest not in paths:
            raise BundleError(line, 'it does not join two states of the chart', field=f'shape.edges.{number}')


def check_step(line: int, step: Transition, paths: frozenset[str]) -> None:
    """Raise `BundleError` if a chart with these states cannot have this step."""
    for field in ('left', 'entered', 'active'):
        for path in getattr(step, field):
            if path not in paths:
                raise BundleError(line, f'the chart has no state {path[:80]!r}', field=field)
    message = step.event.data.get('message') if step.event.name == 'done' else None
    if isinstance(message, Mapping):
        try:
            message_of(message)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise BundleError(
                line, f'it is not a valid message: {first["msg"]}', field='event.data.message'
            ) from None


def check_document(line: int, document: Mapping[str, Any]) -> None:
    """Raise `BundleError` if a run's data is too large or its agents are invalid."""
    size = len(orjson.dumps(document, default=str))
    if size > MAX_DOCUMENT:
        raise BundleError(
            line, f'its data takes {size:,} bytes by then; at most {MAX_DOCUMENT:,} are allowed'
        )
    agents = document.get('agents')
    if not isinstance(agents, Mapping) or not isinstance(document.get('memory'), Mapping):
        raise BundleError(line, 'it leaves the run without memory or agents', field='changes')
    for path, agent in agents.items():
        try:
            AgentState.model_validate(agent)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = '/'.join(map(str, ('', 'agents', path, *first['loc'])))
            raise BundleError(line, f'{where[:200]}: {first["msg"]}', field='changes') from None


def check_trees(line: int, objects: ObjectStore, trees: Iterable[str]) -> None:
    """Raise `BundleError` if a snapshot is malformed, nested too deeply or too large."""
    sizes: dict[str, tuple[int, int]] = {}
    try:
        for tree in trees:
            _measure(objects, tree, sizes, 0)
    except WorkspaceError as error:
        raise BundleError(line, str(error)) from None


def _measure(
    objects: ObjectStore, tree: str, sizes: dict[str, tuple[int, int]], depth: int
) -> tuple[int, int]:
    """Return the number of files and bytes in a folder tree; each subfolder is read once."""
    if tree in sizes or tree not in objects:
        return sizes.get(tree, (0, 0))  # The object was already missing when the run was exported.
    if depth > MAX_DEPTH:
        raise WorkspaceError(f'its folders are nested more than {MAX_DEPTH} deep')
    if objects.size(tree) > MAX_DOCUMENT:
        raise WorkspaceError(f'the content {tree[:12]} is not a snapshot')
    files = size = 0
    for kind, *what in entries_of(objects, tree).values():
        inner = _measure(objects, what[0], sizes, depth + 1) if kind == 'folder' else (0, 0)
        files += 1 + inner[0]
        size += inner[1] + (int(what[1]) if kind == 'file' else 0)
    most_files, most_bytes = snapshot_limits()
    if files > most_files or size > most_bytes:
        raise WorkspaceError(f'it contains more than {most_files:,} files or {most_bytes >> 20:,} MiB')
    sizes[tree] = files, size
    return sizes[tree]
