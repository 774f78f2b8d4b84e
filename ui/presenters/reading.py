"""Reads steps for people: what an event could have led to, durations, paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from posixpath import commonpath
from typing import Any

from engine import (
    Change,
    EdgeShape,
    Guard,
    RunInfo,
    Shape,
    Status,
    Transition,
    View,
    kind_of,
    lookup,
    parts_of,
    within,
)
from ui.presenters.words import count

WORDED = 60
"""Characters of a value in a few words."""


def speaker(role: str) -> str:
    """A role's name as a title."""
    return re.sub(r'(?<=[a-z])(?=\d)', ' ', role.replace('_', ' ').replace('-', ' ')).capitalize()


def came(info: RunInfo) -> str:
    """How a run came about, where it is of another: fork at 8, run again, retry at 5; else ''."""
    words = {'root': '', 'fork': 'fork', 'rerun': 'run again', 'retry': 'retry'}[kind_of(info)]
    return f'{words} at {info.parent_at}' if info.parent_at else words


def headline(transition: Transition) -> str:
    """A step in a few words."""
    event = transition.event
    return f'{event.name} · {place(event.at)}' if event.at else event.name


def innermost(paths: Iterable[str]) -> list[str]:
    """Of paths, those that have none of the others inside."""
    listed = list(paths)
    return [path for path in listed if not any(other.startswith(f'{path}.') for other in listed)]


def place(path: str) -> str:
    """A state's path for people."""
    return path.replace('.', ' › ').replace('_', ' ')  # noqa: RUF001  (the sign that stands between steps of a path)


def edge_words(name: str) -> str:
    """An edge's name, `source>dest`, for people."""
    source, _, dest = name.partition('>')
    end = place(dest) if dest not in ('', source) else 'itself'
    return f'{"start" if source == "[*]" else place(source)} → {end}'


HALT = re.compile(
    r'(\bbreakpoint \d+ at step \d+: )(?:(enter|leave) (.+?)|edge (.+?) → (.+?))(?= when |; |$)'
)
DOING = {'enter': 'entering', 'leave': 'leaving'}
INSIDE = re.compile(r'(\bstepped out of |\bnothing is recorded of how )(.+?)(?= at step \d| ended)')


def reason_words(reason: str) -> str:
    """Why a run is held, or no longer played, as the engine says it: with its places for people."""

    def halt(found: re.Match[str]) -> str:
        hit, verb, path, source, dest = found.groups()
        where = f'{DOING[verb]} {place(path)}' if verb else f'taking {edge_words(f"{source}>{dest}")}'
        return f'{hit}{where}'

    return INSIDE.sub(lambda found: f'{found[1]}{place(found[2])}', HALT.sub(halt, reason))


def whereabouts(paths: Sequence[str]) -> str:
    """Where a run is, in a line: the one active state, or what is around several and how many they are."""
    if len(paths) < 2:
        return ''.join(map(place, paths))
    around = commonpath(['/' + path.replace('.', '/') for path in paths]).strip('/')
    return ' · '.join([*([place(around.replace('/', '.'))] if around else []), f'{len(paths)} side by side'])


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """An edge that the event could have taken: taken, or why not."""

    edge: EdgeShape
    taken: bool
    guards: tuple[Guard, ...]
    reason: str


def ways(transition: Transition, shape: Shape) -> list[Way]:
    """Every edge for the step's event, in the chart's order, and what became of it."""
    event = transition.event
    candidates = [edge for edge in shape.edges if edge.trigger == event.name and _concerns(edge, transition)]
    return list(_ways(candidates, transition))


def _concerns(edge: EdgeShape, transition: Transition) -> bool:
    at = transition.event.at
    exact = transition.event.name in ('done', 'always')
    if not at:
        return edge.source in transition.left or edge.source == '[*]'
    return edge.source == at or (not exact and within(at, edge.source))


def _ways(candidates: Sequence[EdgeShape], transition: Transition) -> Iterator[Way]:
    left = list(transition.guards)
    chosen = {(edge.source, edge.dest) for edge in transition.edges}
    settled = False
    for edge in candidates:
        asked = []
        wanted = [*((name, True) for name in edge.conditions), *((name, False) for name in edge.unless)]
        for name, want in wanted:
            if left and (left[0].name, left[0].wanted, left[0].dest) == (name, want, edge.dest):
                asked.append(left.pop(0))
        failed = [guard for guard in asked if guard.value is not guard.wanted]
        taken = not settled and not failed and (edge.source, edge.dest) in chosen
        if taken:
            reason = 'taken'
        elif failed:
            reason = (
                f'blocked: {failed[0].name.replace("_", " ")} is {"true" if failed[0].value else "false"}'
            )
        else:
            reason = 'not asked: an earlier edge was taken' if settled else 'not taken'
        settled = settled or taken
        yield Way(edge=edge, taken=taken, guards=tuple(asked), reason=reason)


def befores(document: Mapping[str, Any], changes: Iterable[Change]) -> list[Any]:
    """The value that each change replaces, read before any of them is carried out."""
    return [lookup(document, parts_of(change.path)) for change in changes]


def span(seconds: float) -> str:
    """A duration for people: 0.4 s, 12 s, 3:07, 1:02:45."""
    if seconds < 10:
        return f'{max(seconds, 0):.1f} s'
    whole = int(seconds)
    if whole < 60:
        return f'{whole} s'
    hours, rest = divmod(whole, 3600)
    return f'{hours}:{rest // 60:02}:{rest % 60:02}' if hours else f'{rest // 60}:{rest % 60:02}'


def clock(then: float) -> str:
    """The time of day of a moment: 14:32:05."""
    return datetime.fromtimestamp(then).astimezone().strftime('%H:%M:%S')


def until(view: View, now: float) -> float:
    """Up to when a run's clocks have gone: they stand still while it is paused, and once it has ended."""
    return view.time if view.status.ended or view.status is Status.PAUSED else now


def passed(since: float, now: float, born: float) -> float:
    """Seconds from `since` to `now`; a fork, `born` later than its first steps, counts from then."""
    return max(0.0, now - (max(since, born) if now >= born else since))


def short(value: Any, limit: int = 160) -> str:
    """A JSON value in one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = ' '.join(text.split())
    return text if len(text) <= limit else f'{text[: limit - 1]}…'


def worded(value: Any) -> str:
    """A JSON value in a few words: of a list or a record, how much is in it."""
    match value:
        case None:
            return 'none'
        case _ if value in ('', [], {}):  # as a pattern, {} would be any mapping
            return 'empty'
        case bool():
            return str(value).lower()
        case float():
            return f'{value:,.4g}' if abs(value) < 10_000 else f'{value:,.0f}'
        case list() | dict():
            told = short(value, WORDED + 1)
            return told if len(told) <= WORDED else count(len(value), 'entry', 'entries')
    return short(value, WORDED)


def gist(text: str, limit: int = 140) -> str:
    """The beginning of a text in one line, without the signs of Markdown and of its tables."""
    bare = re.sub(r'[*`]+|^#+ ', '', text, flags=re.MULTILINE)
    return short(re.sub(r'^[ |:-]*$|(?<!\S)\|(?!\S)', ' ', bare, flags=re.MULTILINE), limit)
