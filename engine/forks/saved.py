"""Saved tests: what is expected of a run, what was recorded of it, and how its pattern does now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from engine.plain import short
from engine.records import RunInfo, Shape, Status, Transition, View

TAKEN = ('approvals', 'instructions', 'tools')
"""The options of a run that are those of its test."""


class Expected(BaseModel):
    """What a run must be like; what is not given is not looked at."""

    model_config = ConfigDict(extra='forbid')

    status: Status | None = None
    visited: list[str] = Field(default_factory=list, description='States that must be entered.')
    not_visited: list[str] = Field(default_factory=list, description='States that must not be entered.')
    visits: dict[str, int] = Field(default_factory=dict, description='Per state: how often at most.')
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    answer: Any = Field(None, description='What it must be; of texts, what it must contain.')


class Saved(BaseModel):
    """A test as it stands in a file."""

    model_config = ConfigDict(extra='forbid')

    pattern: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    expect: Expected
    recorded: list[Transition]
    """What the run went through; its replies answer in place of models and tools."""

    @field_validator('options')
    @classmethod
    def _of_a_test(cls, options: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(options) - set(TAKEN)):
            raise ValueError(f'there is no option {unknown[0]!r} of a test; there are: {", ".join(TAKEN)}')
        return options

    @field_validator('recorded')
    @classmethod
    def _whole(cls, recorded: list[Transition]) -> list[Transition]:
        if not recorded or recorded[0].event.name != 'start':
            raise ValueError('it must begin with the step `start`')
        lost = next((n for n, step in enumerate(recorded, start=1) if step.seq != n), 0)
        if lost:
            raise ValueError(f'step {lost} is missing')
        return recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """An expectation that does not hold."""

    what: str
    """Of the fields of `Expected`."""
    wanted: str
    came: str
    step: int = 0
    """At which step; 0 where it is not one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How a test ended."""

    misses: tuple[Miss, ...] = ()
    steps: int = 0
    parted: int = 0
    """The first step that is another one than was recorded; 0 where all are the same."""

    @property
    def passed(self) -> bool:
        """Whether all that is expected holds."""
        return not self.misses


def saved(info: RunInfo, view: View, answer: Any, steps: Sequence[Transition]) -> Saved:
    """A test of a run: what it was like is what is expected."""
    visits = _visits(steps)
    return Saved(
        pattern=info.pattern,
        parameters=dict(info.parameters),
        options={name: info.options[name] for name in TAKEN if name in info.options},
        seed=info.seed,
        expect=Expected(
            status=view.status,
            visited=sorted(visits),
            visits={path: count for path, count in sorted(visits.items()) if count > 1},
            tokens=view.usage.total,
            answer=answer,
        ),
        recorded=list(steps),
    )


def compared(test: Saved, shape: Shape, view: View, answer: Any, steps: Sequence[Transition]) -> Checked:
    """What came, against what is expected; `shape` is the pattern's chart as it is now."""
    known = {state.path for state in shape.states}
    misses = tuple(_missed(test.expect, view, answer, steps, known))
    return Checked(misses=misses, steps=len(steps), parted=_parted(test.recorded, steps))


def _missed(
    expect: Expected, view: View, answer: Any, steps: Sequence[Transition], known: Collection[str]
) -> Iterator[Miss]:
    if expect.status and view.status is not expect.status:
        came = f'{view.status}{f": {why}" if (why := view.stopped or view.error) else ""}'
        yield Miss(what='status', wanted=expect.status, came=came, step=view.seq)
    yield from _misvisited(expect, steps, known)
    for what, limit, used in (
        ('tokens', expect.tokens, view.usage.total),
        ('dollars', expect.dollars, view.usage.dollars),
        ('seconds', expect.seconds, view.ran),
    ):
        if limit is not None and used > limit + 1e-6:
            yield Miss(what=what, wanted=f'at most {limit:g}', came=f'{used:g}')
    if expect.answer is not None and not _answers(expect.answer, answer):
        yield Miss(what='answer', wanted=short(expect.answer), came=short(answer), step=view.seq)


def _misvisited(expect: Expected, steps: Sequence[Transition], known: Collection[str]) -> Iterator[Miss]:
    visits = _visits(steps)
    for what in ('visited', 'not_visited', 'visits'):  # That such a one is not entered would hold for ever.
        for path in getattr(expect, what):
            if path not in known:
                yield Miss(what=what, wanted=path, came='the pattern has no such state')
    for path in expect.visited:
        if path in known and path not in visits:
            yield Miss(what='visited', wanted=path, came='it was never entered')
    for path in expect.not_visited:
        if path in visits:
            step = next(step.seq for step in steps if path in step.entered)
            yield Miss(what='not_visited', wanted=path, came='it was entered', step=step)
    for path, most in expect.visits.items():
        entered = [step.seq for step in steps if path in step.entered]
        if len(entered) > most:
            came = f'{len(entered)} times'
            yield Miss(what='visits', wanted=f'{path} {most} times at most', came=came, step=entered[most])


def _visits(steps: Sequence[Transition]) -> Counter[str]:
    return Counter(path for step in steps for path in step.entered)


def _parted(recorded: Sequence[Transition], steps: Sequence[Transition]) -> int:
    pairs = zip(recorded, steps, strict=False)
    found = next((now.seq for was, now in pairs if was.active != now.active), 0)
    return found or (min(len(recorded), len(steps)) + 1 if len(recorded) != len(steps) else 0)


def _answers(wanted: Any, came: Any) -> bool:
    if isinstance(wanted, str) and isinstance(came, str):
        return wanted.strip() in came
    return bool(wanted == came)
