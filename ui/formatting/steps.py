"""Parts of steps in words: paths, edges and guards, which edges were possible, durations, values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from posixpath import commonpath
from typing import Any

from engine import Status, Transition
from engine.agents import GUARD_PHRASES
from engine.history import origin_of
from engine.records import (
    Change,
    Edge,
    EdgeShape,
    GuardResult,
    RunInfo,
    Shape,
    View,
    clip,
    is_within,
    parent_of,
    resolve_pointer,
    split_pointer,
)
from ui.formatting.values import capitalize, count

MAX_ENTRIES_TEXT = 60
"""Maximum characters in the short form of a value."""
MAX_EXCERPT = 120
"""Maximum characters of an excerpt from a text."""
MAX_NAMED = 3
"""Maximum number of edges or guards named in a sentence."""


def role_title(role: str) -> str:
    """Return a role's name as a title."""
    return re.sub(r'(?<=[a-z])(?=\d)', ' ', role.replace('_', ' ').replace('-', ' ')).capitalize()


def replies_text(info: RunInfo) -> str:
    """Return where replies come from if not from live models: replayed, stubbed, simulated; else ''."""
    for option, word in (('replay', 'replayed'), ('stubs', 'stubbed')):
        if info.options.get(option):
            return word
    return 'simulated' if info.simulated else ''


def origin_text(info: RunInfo) -> str:
    """Return how a run derives from another: fork at 8, run again, retry at 5; else ''."""
    words = {'root': '', 'fork': 'fork', 'rerun': 'run again', 'retry': 'retry'}[origin_of(info)]
    return f'{words} at {info.parent_at}' if info.parent_at else words


def author_text(author: str) -> str:
    """Return who started a run, for people: `by ada`, `by schedule Nightly`; '' where that is unknown."""
    return f'by {author.replace(":", " ", 1)}' if author else ''


def innermost(paths: Iterable[str]) -> list[str]:
    """Return the paths that contain none of the others."""
    listed = list(paths)
    return [path for path in listed if not any(other.startswith(f'{path}.') for other in listed)]


def path_text(path: str) -> str:
    """Return a state's path for people."""
    return 'start' if path == '[*]' else path.replace('.', ' › ').replace('_', ' ')  # noqa: RUF001  (the separator between parts of a path)


def edge_name(edge: Edge | EdgeShape) -> str:
    """Return an edge's name, `source>dest`: its id in a drawing and in breakpoints."""
    return f'{edge.source}>{edge.dest or edge.source}'


def edge_text(name: str) -> str:
    """Return an edge's name, `source>dest`, for people."""
    source, _, dest = name.partition('>')
    end = path_text(dest) if dest not in ('', source) else 'itself'
    return f'{path_text(source)} → {end}'


def edges_text(names: Iterable[str]) -> str:
    """Return edges in words: `reviewing → analyzing`; a state that contains both ends is named once."""
    texts = list(dict.fromkeys(map(_edge_text, names)))
    more = [f'{len(texts) - MAX_NAMED} more'] if len(texts) > MAX_NAMED else []
    return ', '.join([*texts[:MAX_NAMED], *more])


def _edge_text(name: str) -> str:
    source, _, dest = name.partition('>')
    inside = parent_of(source)
    if inside and dest != source and inside == parent_of(dest):
        return f'{path_text(source)} → {path_text(dest[len(inside) + 1 :])}'
    return edge_text(name)


HALT = re.compile(
    r'(\bbreakpoint \d+ at step \d+: )(?:(enter|leave) (.+?)|edge (.+?) → (.+?))(?= when |; |$)'
)
DOING = {'enter': 'entering', 'leave': 'leaving'}
INSIDE = re.compile(r'(\bstepped out of |\bnothing is recorded of how )(.+?)(?= at step \d| ended)')


def reason_text(reason: str) -> str:
    """Return the engine's reason why a run is paused or no longer replayed, with places made readable."""

    def halt(match: re.Match[str]) -> str:
        hit, verb, path, source, dest = match.groups()
        where = f'{DOING[verb]} {path_text(path)}' if verb else f'taking {edge_text(f"{source}>{dest}")}'
        return f'{hit}{where}'

    return INSIDE.sub(lambda match: f'{match[1]}{path_text(match[2])}', HALT.sub(halt, reason))


def active_text(paths: Sequence[str]) -> str:
    """Return where a run is: its active state, or the number of active states and what contains them."""
    if len(paths) < 2:
        return ''.join(map(path_text, paths))
    around = commonpath(['/' + path.replace('.', '/') for path in paths]).strip('/')
    return ' · '.join(
        [*([path_text(around.replace('/', '.'))] if around else []), f'{len(paths)} in parallel']
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeOutcome:
    """An edge that the event could have taken: taken, or why not."""

    edge: EdgeShape
    taken: bool
    guards: tuple[GuardResult, ...]
    reason: str


def edge_outcomes(transition: Transition, shape: Shape) -> list[EdgeOutcome]:
    """Return every edge for the step's event with its outcome, in chart order.

    A chart drawn from a trace has only the edges taken: what else the program could have done is unknown.
    """
    event = transition.event
    candidates = [edge for edge in shape.edges if edge.trigger == event.name and _concerns(edge, transition)]
    return [
        outcome
        for outcome in _candidate_outcomes(candidates, transition)
        if outcome.taken or not shape.is_imported_trace
    ]


def _concerns(edge: EdgeShape, transition: Transition) -> bool:
    at = transition.event.at
    exact = transition.event.name in ('done', 'always')
    if not at:
        return edge.source in transition.left or edge.source == '[*]'
    return edge.source == at or (not exact and is_within(at, edge.source))


def _candidate_outcomes(candidates: Sequence[EdgeShape], transition: Transition) -> Iterator[EdgeOutcome]:
    left = list(transition.guards)
    chosen = {(edge.source, edge.dest) for edge in transition.edges}
    settled = False
    for edge in candidates:
        questions = []
        conditions = [*((name, True) for name in edge.conditions), *((name, False) for name in edge.unless)]
        for name, want in conditions:
            if left and (left[0].name, left[0].wanted, left[0].dest) == (name, want, edge.dest):
                questions.append(left.pop(0))
        failed = [guard for guard in questions if guard.value is not guard.wanted]
        taken = not settled and not failed and (edge.source, edge.dest) in chosen
        if taken:
            reason = 'Taken'
        elif failed:
            reason = 'Not possible'
        else:
            which = 'an earlier' if settled else 'another'
            reason = f'Not checked: {which} one applied' if chosen else 'Not taken'
        settled = settled or taken
        yield EdgeOutcome(edge=edge, taken=taken, guards=tuple(questions), reason=reason)


def other_outcomes(outcomes: Iterable[EdgeOutcome]) -> dict[EdgeOutcome, str]:
    """Return the edges not taken, each with its destination in words; what reads the same is listed once."""
    unique = {
        (target_text(outcome.edge), outcome.reason, outcome.guards): outcome
        for outcome in outcomes
        if not outcome.taken
    }
    return {outcome: target for (target, *_), outcome in unique.items()}


def others_title(number: int) -> str:
    """Return the title of a list of edges not taken."""
    were = 'was' if number == 1 else 'were'
    return f'{count(number, "other transition")} {were} not possible'


def target_text(edge: EdgeShape) -> str:
    """Return an edge's destination in words; next to its source, by its own name."""
    return f'to {_edge_text(edge_name(edge)).rpartition("→ ")[2]}'


def decisive_guards(outcomes: Iterable[EdgeOutcome]) -> list[tuple[EdgeShape, GuardResult]]:
    """Return the guards that decided, each with its edge: the one taken or, if it has none, the others."""
    listed = list(outcomes)
    of_taken = [(outcome.edge, guard) for outcome in listed if outcome.taken for guard in outcome.guards]
    blocking = [
        (outcome.edge, guard)
        for outcome in listed
        if not outcome.taken
        for guard in outcome.guards
        if guard.value is not guard.wanted
    ]
    return list({guard.name: (edge, guard) for edge, guard in of_taken or blocking}.values())[:MAX_NAMED]


def guard_phrase(guard: str, edge: EdgeShape | None = None) -> str:
    """Return a guard in a few words, on an edge in those of its pattern: `is_approved` is *approved*."""
    if guard in GUARD_PHRASES:
        return GUARD_PHRASES[guard]
    named = [*edge.conditions, *edge.unless] if edge and edge.words else []
    if edge is None or guard not in named or not (words := edge.words[named.index(guard)]):
        return re.sub(r'^(is|has)_', '', guard).replace('_', ' ')
    return words if guard in edge.conditions else negated(words)


def negated(phrase: str) -> str:
    """Return the opposite of a phrase: *not approved*, *revisions left* for *no revisions left*."""
    bare = re.sub(r'^(not|no) ', '', phrase)
    return bare if bare != phrase else f'not {phrase}'


def guard_text(guard: str, value: bool | None, edge: EdgeShape | None = None) -> str:
    """Return a guard with its result: `Approved: no`; None is one that was not evaluated."""
    return f'{capitalize(guard_phrase(guard, edge))}: {answer_text(value)}'


def answer_text(value: bool | None) -> str:
    """Return a guard's result in words."""
    return {None: 'not checked', True: 'yes', False: 'no'}[value]


def previous_values(document: Mapping[str, Any], changes: Iterable[Change]) -> list[Any]:
    """Return the values that the changes replace, read before any change is applied.

    An item appended to a list replaces nothing, so the list, which may be long, is not read.
    """
    return [
        None if change.path.endswith('/-') else resolve_pointer(document, split_pointer(change.path))
        for change in changes
    ]


def duration(seconds: float) -> str:
    """Return a duration for people: 0.4 s, 12 s, 3:07, 1:02:45."""
    if seconds < 10:
        return f'{max(seconds, 0):.1f} s'
    whole = int(seconds)
    if whole < 60:
        return f'{whole} s'
    hours, rest = divmod(whole, 3600)
    return f'{hours}:{rest // 60:02}:{rest % 60:02}' if hours else f'{rest // 60}:{rest % 60:02}'


def time_of_day(then: float) -> str:
    """Return the time of day of a moment: 14:32:05."""
    return datetime.fromtimestamp(then).astimezone().strftime('%H:%M:%S')


def clock_end(view: View, now: float) -> float:
    """Return the time for the clocks of a run's states: they stop at a pause and at the end of the run."""
    if view.status is Status.PAUSED:
        return view.paused_since or view.time
    return view.time if view.status.ended else now


def running_seconds(view: View, now: float) -> float:
    """Return a run's running time at `now` in seconds, without pauses and time without a process."""
    still = view.paused or view.status.ended or not view.seq
    return view.ran if still else view.ran + max(0.0, now - view.time)


def own_seconds(view: View, now: float) -> float:
    """Return a run's running time at `now`, without what a fork inherited."""
    return running_seconds(view, now) - view.inherited_ran


def elapsed(since: float, now: float, born: float) -> float:
    """Return the seconds from `since` to `now`; for a fork, `born` after its first steps, from `born`."""
    return max(0.0, now - (max(since, born) if now >= born else since))


def short_json(value: Any, limit: int = 160) -> str:
    """Return a JSON value on one line, with fractions rounded to six significant digits."""
    text = value if isinstance(value, str) else json.dumps(_round(value), ensure_ascii=False, default=str)
    text = ' '.join(text.split())
    return clip(text, limit)


def _round(value: Any) -> Any:
    match value:
        case float() if math.isfinite(value) and not value.is_integer():
            return float(f'{value:.6g}')
        case dict():
            return {name: _round(item) for name, item in value.items()}
        case list() | tuple():
            return [_round(item) for item in value]
    return value


def brief_value(value: Any) -> str:
    """Return a JSON value in a few words; for a list or a mapping, its size."""
    match value:
        case None:
            return 'none'
        case _ if value in ('', [], {}):  # as a pattern, {} would match any mapping
            return 'empty'
        case bool():
            return str(value).lower()
        case float():
            return f'{value:,.4g}' if abs(value) < 10_000 else f'{value:,.0f}'
        case list() | dict():
            text = _format_entries(value)
            return text if 0 < len(text) <= MAX_ENTRIES_TEXT else count(len(value), 'entry', 'entries')
    return short_json(value, MAX_ENTRIES_TEXT)


def _format_entries(value: list[Any] | dict[str, Any]) -> str:
    """Return the entries of a flat list or mapping; '' for a nested one."""
    items = value.values() if isinstance(value, dict) else value
    if any(isinstance(item, (list, dict)) for item in items):
        return ''
    if isinstance(value, dict):
        return ', '.join(f'{name}: {brief_value(item)}' for name, item in value.items())
    return ', '.join(map(brief_value, value))


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line, without Markdown syntax."""
    bare = re.sub(r'[*`]+|^#+ ', '', text, flags=re.MULTILINE)
    return short_json(re.sub(r'^[ |:-]*$|(?<!\S)\|(?!\S)', ' ', bare, flags=re.MULTILINE), MAX_EXCERPT)


def pointer_text(pointer: str) -> str:
    """Return a place in a run's data, for people."""
    parts = split_pointer(pointer.removeprefix('/memory'))
    return ' › '.join(part.replace('_', ' ') for part in parts)  # noqa: RUF001
