"""Changed patterns: whether a run still fits the pattern that it was recorded with."""

from __future__ import annotations

from engine.configuration.catalog import Catalog
from engine.errors import InvalidInput, PatternError, UnknownPattern, UnknownVersion
from engine.records import RunInfo, Shape
from engine.runtime.run_factory import workflow_of
from engine.statechart.shape_builder import build_shape


def find_change(catalog: Catalog, info: RunInfo, recorded: Shape) -> str:
    """Return why a run cannot be continued or forked midway with today's patterns, or ''."""
    if info.is_imported_trace:
        return ''
    try:
        workflow = workflow_of(catalog, info)
        today = build_shape(workflow)
    except UnknownVersion as error:
        return str(error)
    except UnknownPattern:
        return f'there is no pattern {info.pattern!r} any more'
    except (InvalidInput, PatternError) as error:
        return f'its pattern {info.pattern!r} has changed: {error}'
    if not contains_shape(today, recorded):
        return f'its pattern {info.pattern!r} has changed since: other states or transitions'
    return ''


def contains_shape(today: Shape, recorded: Shape) -> bool:
    """Return whether a chart still has all states and edges of a recorded one; timeouts may differ.

    It may have additional nested states, and edges to and from them, but no additional top-level states or
    regions. Any active states of the recorded chart are then valid in this one.
    """
    recorded_paths = {state.path for state in recorded.states}
    regions = {state.path for state in today.states if state.kind == 'parallel'}
    added = {state.path for state in today.states} - recorded_paths
    if any(state.path in added and state.parent in {'', *regions} for state in today.states):
        return False

    def outline(shape: Shape) -> object:
        states = [
            (state.path, state.kind, state.initial, state.roles, state.waits)
            for state in shape.states
            if state.path not in added
        ]
        return states, [edge for edge in shape.edges if not added & {edge.source, edge.dest}], shape.initial

    return outline(today) == outline(recorded)
