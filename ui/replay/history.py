"""What the steps of a run say of each agent: replies, retries, tools' times, versions of its files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine import Transition, parent_of
from ui.presenters.calls import Took


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply: by which model, and who was asked before."""

    seq: int
    model: str
    failed: tuple[str, ...] = ()
    """What the models said that were tried before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A call that failed and is tried again."""

    seq: int
    at: str
    attempt: int
    due: float
    """When the attempt begins; seconds since 1970."""
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A folder as it was after a step that changed it."""

    seq: int
    number: int
    snapshot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """One visit of a state, from the step that entered it to the one that left it."""

    seq: int
    since: float
    until: float


Noted = TypeVar('Noted', Reply, Retry, Version, Stay)


@dataclass(slots=True)
class History:
    """An index of the steps read so far; by the path of an agent, where nothing else is said."""

    replies: dict[str, list[Reply]] = field(default_factory=dict)
    retries: dict[str, list[Retry]] = field(default_factory=dict)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    took: dict[str, dict[str, Took]] = field(default_factory=dict)
    stays: dict[str, list[Stay]] = field(default_factory=dict)
    """Of each state that was left; `seq` is the step that left it."""
    appended: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """Per list of memory, by its pointer: the step and the time of each entry that was added at its end."""
    _since: dict[str, float] = field(default_factory=dict)

    def take(self, step: Transition) -> None:
        """Go on by one step."""
        event, home = step.event, parent_of(step.event.at)
        if not step.raised:
            match event.name:
                case 'done' if 'message' in event.data:
                    self.replies.setdefault(home, []).append(_reply(step))
                case 'done' if 'results' in event.data:
                    self._batch(step, home)
                case 'retry':
                    self.retries.setdefault(home, []).append(_retry(step))
            self._snapshots(step)
        for change in step.changes:
            if change.op == 'add' and change.path.endswith('/-'):
                self.appended.setdefault(change.path[:-2], []).append((step.seq, step.time))
        for path in step.left:
            since = self._since.pop(path, step.time)
            stay = Stay(seq=step.seq, since=since, until=step.time)
            self.stays.setdefault(path, []).append(stay)
        for path in step.entered:
            self._since[path] = step.time

    def _batch(self, step: Transition, agent: str) -> None:
        results = step.event.data['results']
        if not isinstance(results, Sequence) or step.event.at not in self._since:
            return
        took = Took(seconds=step.time - self._since[step.event.at], calls=len(results))
        known = self.took.setdefault(agent, {})
        known |= {str(result['id']): took for result in results if isinstance(result, Mapping)}

    def _snapshots(self, step: Transition) -> None:
        found = step.event.data.get('snapshots') if step.event.name == 'done' else None
        for agent, snapshot in found.items() if isinstance(found, Mapping) else ():
            known = self.versions.setdefault(str(agent), [])
            if not known or known[-1].snapshot != snapshot:
                known.append(Version(seq=step.seq, number=len(known) + 1, snapshot=str(snapshot)))


def latest(noted: Mapping[str, Sequence[Noted]], path: str, seq: int) -> Noted | None:
    """The last thing noted of `path` up to step `seq`, if there is one."""
    entries = noted.get(path, ())
    index = bisect_right(entries, seq, key=lambda entry: entry.seq)
    return entries[index - 1] if index else None


def _reply(step: Transition) -> Reply:
    data = step.event.data
    failed = data.get('failed')
    return Reply(
        seq=step.seq,
        model=str(data.get('model', '')),
        failed=tuple(_failure(item) for item in failed) if isinstance(failed, list) else (),
    )


def _failure(item: Any) -> str:
    return f'{item.get("model")}: {item.get("error")}' if isinstance(item, Mapping) else str(item)


def _retry(step: Transition) -> Retry:
    data = step.event.data
    delay = data.get('delay')
    return Retry(
        seq=step.seq,
        at=step.event.at,
        attempt=step.event.attempt,
        due=step.time + (delay if isinstance(delay, int | float) else 0.0),
        error=str(data.get('error', '')),
    )
