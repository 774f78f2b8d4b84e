"""An index of what a run's steps record about each agent, and of where list elements were added."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from typing import Any, NamedTuple, TypeVar

from engine import Transition
from engine.records import (
    FailureData,
    ReplyData,
    ResultData,
    is_given,
    parent_of,
    payload,
    reply_of,
    results_of,
    snapshots_of,
)
from ui.formatting.tool_calls import BatchTime

ENDED = ('completed', 'failed')
"""States in which a step of a plan has ended."""


class Position(NamedTuple):
    """A step and its time (seconds since 1970)."""

    seq: int
    time: float


UNKNOWN = Position(0, 0.0)


def pad_positions(positions: Sequence[Position], length: int) -> list[Position]:
    """Return the positions of `length` list elements; `UNKNOWN` where the history has not been read yet."""
    return list(islice(chain(positions, repeat(UNKNOWN)), length))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply: the model that gave it, and those that were tried before."""

    seq: int
    model: str
    failed: tuple[str, ...] = ()
    """The errors of the models that were tried before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A failed call that is retried."""

    seq: int
    at: str
    attempt: int
    due: float
    """When the attempt begins, in seconds since 1970."""
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderVersion:
    """A folder after a step that changed it."""

    seq: int
    number: int
    snapshot: str
    given: bool = False
    """Whether the agent received it rather than made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One visit to a state, from the step that entered it to the one that left it."""

    seq: int
    since: float
    until: float


Indexed = TypeVar('Indexed', Reply, Retry, FolderVersion, Visit)


@dataclass(slots=True)
class History:
    """An index of the steps read so far; keyed by agent path unless noted."""

    replies: dict[str, list[Reply]] = field(default_factory=dict)
    retries: dict[str, list[Retry]] = field(default_factory=dict)
    versions: dict[str, list[FolderVersion]] = field(default_factory=dict)
    batch_times: dict[str, dict[str, BatchTime]] = field(default_factory=dict)
    stays: dict[str, list[Visit]] = field(default_factory=dict)
    """By state that was left; `seq` is the step that left it."""
    appended: dict[str, list[Position]] = field(default_factory=dict)
    """By pointer of a list: where each of its elements was added."""
    finished: dict[str, int] = field(default_factory=dict)
    """By id of a step of a plan: the run's step that ended it."""
    _since: dict[str, float] = field(default_factory=dict)

    def add(self, step: Transition) -> None:
        """Index one more step; steps must come in order."""
        event, home = step.event, parent_of(step.event.at)
        if not step.raised:
            match event.name:
                case 'done' if reply := reply_of(event):
                    self.replies.setdefault(home, []).append(_reply(step, reply))
                case 'done' if results := results_of(event):
                    self._add_batch_times(step, home, results)
                case 'retry':
                    self.retries.setdefault(home, []).append(_retry(step))
            self._add_versions(step)
        self._add_elements(step)
        self._add_finished(step)
        for path in step.left:
            since = self._since.pop(path, step.time)
            stay = Visit(seq=step.seq, since=since, until=step.time)
            self.stays.setdefault(path, []).append(stay)
        for path in step.entered:
            self._since[path] = step.time

    def appended_to(self, field: str) -> list[Position]:
        """Return where each element of a list in memory was added, in list order."""
        return self.appended.get(f'/memory/{field}', [])

    def _add_elements(self, step: Transition) -> None:
        here = Position(step.seq, step.time)
        if step.event.name == 'start' and isinstance(memory := step.event.data.get('memory'), Mapping):
            for name, value in memory.items():
                self._replace_list(f'/memory/{name}', value, here)
        for change in step.changes:
            owner, _, place = change.path.rpartition('/')
            if change.op == 'add' and place == '-':
                self.appended.setdefault(owner, []).append(here)
            elif change.op == 'add' and place.isdecimal() and owner in self.appended:
                self.appended[owner].insert(int(place), here)
            else:
                self._replace_list(change.path, change.value, here)

    def _replace_list(self, pointer: str, value: Any, here: Position) -> None:
        """Record a whole value: as many elements as before are taken to be the same."""
        if isinstance(value, list) or pointer in self.appended:
            starts, many = self.appended.setdefault(pointer, []), len(value) if isinstance(value, list) else 0
            starts[many:] = [here] * (many - len(starts))

    def _add_finished(self, step: Transition) -> None:
        for change in step.changes:
            entry, place = change.value, change.path.rpartition('/')[2]
            if isinstance(entry, Mapping) and entry.get('state') in ENDED and place.isdecimal():
                self.finished.setdefault(str(entry.get('id', '')), step.seq)

    def _add_batch_times(self, step: Transition, agent: str, results: Sequence[ResultData]) -> None:
        if step.event.at not in self._since:
            return
        took = BatchTime(seconds=step.time - self._since[step.event.at], calls=len(results))
        times = self.batch_times.setdefault(agent, {})
        times |= {result['id']: took for result in results}

    def _add_versions(self, step: Transition) -> None:
        for agent, snapshot in snapshots_of(step.event).items():
            versions = self.versions.setdefault(str(agent), [])
            if not versions or versions[-1].snapshot != snapshot:
                is_first = all(version.seq == 1 for version in versions)  # A run may start with files.
                is_baseline = is_first and is_given(step.event)
                versions.append(
                    FolderVersion(
                        seq=step.seq, number=len(versions) + 1, snapshot=str(snapshot), given=is_baseline
                    )
                )

    def baseline(self, folder: str, seq: int | None = None) -> str:
        """Return the snapshot that an agent started with, up to step `seq`; '' if its folder was empty."""
        versions = self.versions.get(folder, [])
        given = [item.snapshot for item in versions if item.given and (seq is None or item.seq <= seq)]
        return given[-1] if given else ''


def latest(entries_by_path: Mapping[str, Sequence[Indexed]], path: str, seq: int) -> Indexed | None:
    """Return the last entry for `path` up to step `seq`, if any."""
    entries = entries_by_path.get(path, ())
    index = bisect_right(entries, seq, key=lambda entry: entry.seq)
    return entries[index - 1] if index else None


def _reply(step: Transition, data: ReplyData) -> Reply:
    failed: Any = data.get('failed')
    return Reply(
        seq=step.seq,
        model=str(data.get('model', '')),
        failed=tuple(_failure(item) for item in failed) if isinstance(failed, list) else (),
    )


def _failure(item: Any) -> str:
    return f'{item.get("model")}: {item.get("error")}' if isinstance(item, Mapping) else str(item)


def _retry(step: Transition) -> Retry:
    data = payload(FailureData, step.event)
    delay = data.get('delay')
    return Retry(
        seq=step.seq,
        at=step.event.at,
        attempt=step.event.attempt,
        due=step.time + (delay if isinstance(delay, int | float) else 0.0),
        error=str(data.get('error', '')),
    )
