"""A pattern as a few words and arrows for its card: its main path, without failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine import Pattern
from engine.records import Shape, StateShape
from ui.web.components.widgets import Box, Text, set_attributes

MAX_PARTS = 7
"""Maximum number of parts of a thumbnail; beyond that, states that only branch are omitted."""
FEW_PARTS = 4
"""Maximum number of parts for which their contents are shown."""
MAX_INSIDE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A station on the path: its name, its contents, and where it may loop back to."""

    name: str
    kind: str
    """`agent`, `parallel`, `compound`, `atomic`, `final` or `tools`."""
    inside: tuple[str, ...] = ()
    more: int = 0
    """How many more states or tools are inside."""
    loops_to: str = ''


def build_thumbnail(shape: Shape, tools: Iterable[str] = ()) -> list[Station]:
    """Return the main path through a chart; agents are shown with `tools`."""
    top = [state for state in shape.states if not state.parent and _is_on_main_path(state)]
    ends = [state for state in top if state.kind == 'final']
    stations = [state for state in top if state not in ends[1:]]
    if len(stations) > MAX_PARTS:
        stations = [state for state in stations if state.invokes or state.kind != 'atomic']
    open_to_see = len(stations) <= FEW_PARTS
    parts: list[Station] = []
    for state in stations:
        inside = _inner_names(shape, state, tuple(tools), opened=open_to_see)
        if any(inside[:MAX_INSIDE] == part.inside for part in parts):
            inside = ()  # the same as before
        parts.append(
            Station(
                name=state.name.replace('_', ' '),
                kind='agent' if state.role else state.kind,
                inside=inside[:MAX_INSIDE],
                more=max(0, len(inside) - MAX_INSIDE),
                loops_to=_find_loop(shape, state, stations),
            )
        )
    return parts


def draw_thumbnail(pattern: type[Pattern], shape: Shape) -> None:
    """Draw it: boxes and arrows that wrap on a narrow card."""
    parts = build_thumbnail(shape, pattern.tool_names())
    with Box('sketch', role='img') as drawn:
        set_attributes(drawn, aria_label=f'{pattern.title}: {", then ".join(map(_label, parts))}')
        for number, part in enumerate(parts):
            with Box('sketch-step', 'span'):
                if number:
                    Text('span', '→', 'sketch-arrow')
                with Box(f'sketch-part sketch-{part.kind}', 'span'):
                    Text('span', part.name, 'sketch-name')
                    if part.inside:
                        with Box('sketch-inside', 'span'):
                            for name in part.inside:
                                Text('span', name)
                            if part.more:
                                Text('span', f'+{part.more}', 'muted')
                if part.loops_to:
                    Text('span', '↺', 'sketch-back', title=f'May lead back to {part.loops_to}')


def _label(part: Station) -> str:
    inside = (
        f' ({", ".join(part.inside)}{f" and {part.more} more" if part.more else ""})' if part.inside else ''
    )
    return f'{part.name}{inside}{f", or back to {part.loops_to}" if part.loops_to else ""}'


def _is_on_main_path(state: StateShape) -> bool:
    return not state.waits and not (state.kind == 'final' and state.outcome != 'done')


def _inner_names(shape: Shape, state: StateShape, tools: tuple[str, ...], *, opened: bool) -> tuple[str, ...]:
    if state.role:
        return tools
    if state.kind != 'parallel' and not opened:
        return ()
    children = [other for other in shape.states if other.parent == state.path and other.kind != 'final']
    return tuple(other.name.replace('_', ' ') for other in children) if len(children) > 1 else ()


def _find_loop(shape: Shape, state: StateShape, stations: list[StateShape]) -> str:
    """Return a station at or before this one that it can loop back to, even via omitted states."""
    places = {str(other.path): number for number, other in enumerate(stations)}
    seen, ahead = set(), {str(state.path)}
    while ahead:
        path = ahead.pop()
        seen.add(path)
        nexts = {edge.dest for edge in shape.edges if edge.source == path and edge.dest in _top_states(shape)}
        for dest in nexts:
            if dest in places and places[dest] <= places[str(state.path)]:
                return dest.replace('_', ' ')
        ahead |= {dest for dest in nexts if dest not in places} - seen
    return ''


def _top_states(shape: Shape) -> set[str]:
    return {str(state.path) for state in shape.states if not state.parent}
