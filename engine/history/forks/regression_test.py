"""Regression tests: a run's recording, the expectations for it, and the results of checking them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from engine.records import RunInfo, Shape, Status, Transition, View
from engine.records.jsonable import shorten

TEST_OPTIONS = ('approvals', 'effort', 'instructions', 'tools')
"""The run options a test may set."""


class Expectations(BaseModel):
    """Expectations of a run; omitted fields are not checked."""

    model_config = ConfigDict(extra='forbid')

    status: Status | None = None
    visited: list[str] = Field(default_factory=list, description='States that must be entered.')
    not_visited: list[str] = Field(default_factory=list, description='States that must not be entered.')
    visits: dict[str, int] = Field(default_factory=dict, description='Maximum number of entries per state.')
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    answer: Any = Field(None, description='The exact answer; if a text, one that the answer must contain.')


class RegressionTest(BaseModel):
    """A test as stored in a file."""

    model_config = ConfigDict(extra='forbid')

    pattern: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0
    expect: Expectations
    recorded: list[Transition]
    """The recorded run; its results stand in for models and tools."""

    @field_validator('options')
    @classmethod
    def _of_a_test(cls, options: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(options) - set(TEST_OPTIONS)):
            raise ValueError(f'a test has no option {unknown[0]!r}; allowed: {", ".join(TEST_OPTIONS)}')
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
class RegressionFailure:
    """An expectation that was not met."""

    what: str
    """A field of `Expectations`."""
    wanted: str
    came: str
    step: int = 0
    """The step where it failed; 0 if it concerns no particular step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionResult:
    """The result of a test."""

    misses: tuple[RegressionFailure, ...] = ()
    steps: int = 0
    parted: int = 0
    """The first step that differs from the recording; 0 if none does."""

    @property
    def passed(self) -> bool:
        """Whether every expectation was met."""
        return not self.misses


def record_test(info: RunInfo, view: View, answer: Any, steps: Sequence[Transition]) -> RegressionTest:
    """Make a test from a run, with its outcome as the expectation."""
    visits = _visits(steps)
    return RegressionTest(
        pattern=info.pattern,
        parameters=dict(info.parameters),
        options={name: info.options[name] for name in TEST_OPTIONS if name in info.options},
        seed=info.seed,
        expect=Expectations(
            status=view.status,
            visited=sorted(visits),
            visits={path: count for path, count in sorted(visits.items()) if count > 1},
            tokens=view.usage.total,
            answer=answer,
        ),
        recorded=list(steps),
    )


def compare_outcome(
    test: RegressionTest, shape: Shape, view: View, answer: Any, steps: Sequence[Transition]
) -> RegressionResult:
    """Check a run against the expectations; `shape` is the pattern's current chart."""
    known = {state.path for state in shape.states}
    misses = tuple(_failures(test.expect, view, answer, steps, known))
    return RegressionResult(misses=misses, steps=len(steps), parted=_first_divergence(test.recorded, steps))


def _failures(
    expect: Expectations, view: View, answer: Any, steps: Sequence[Transition], known: Collection[str]
) -> Iterator[RegressionFailure]:
    if expect.status and view.status is not expect.status:
        came = f'{view.status}{f": {why}" if (why := view.stopped or view.error) else ""}'
        yield RegressionFailure(what='status', wanted=expect.status, came=came, step=view.seq)
    yield from _visit_failures(expect, steps, known)
    for what, limit, used in (
        ('tokens', expect.tokens, view.usage.total),
        ('dollars', expect.dollars, view.usage.dollars),
        ('seconds', expect.seconds, view.ran),
    ):
        if limit is not None and used > limit + 1e-6:
            yield RegressionFailure(what=what, wanted=f'at most {limit:g}', came=f'{used:g}')
    if expect.answer is not None and not _answers(expect.answer, answer):
        yield RegressionFailure(
            what='answer', wanted=shorten(expect.answer), came=shorten(answer), step=view.seq
        )


def _visit_failures(
    expect: Expectations, steps: Sequence[Transition], known: Collection[str]
) -> Iterator[RegressionFailure]:
    visits = _visits(steps)
    for what in ('visited', 'not_visited', 'visits'):
        # Without this, expecting that a nonexistent state is not entered would always succeed.
        for path in getattr(expect, what):
            if path not in known:
                yield RegressionFailure(what=what, wanted=path, came='the pattern has no such state')
    for path in expect.visited:
        if path in known and path not in visits:
            yield RegressionFailure(what='visited', wanted=path, came='it was never entered')
    for path in expect.not_visited:
        if path in visits:
            step = next(step.seq for step in steps if path in step.entered)
            yield RegressionFailure(what='not_visited', wanted=path, came='it was entered', step=step)
    for path, most in expect.visits.items():
        entered = [step.seq for step in steps if path in step.entered]
        if len(entered) > most:
            came = f'{len(entered)} times'
            yield RegressionFailure(
                what='visits', wanted=f'{path} {most} times at most', came=came, step=entered[most]
            )


def _visits(steps: Sequence[Transition]) -> Counter[str]:
    return Counter(path for step in steps for path in step.entered)


def _first_divergence(recorded: Sequence[Transition], steps: Sequence[Transition]) -> int:
    pairs = zip(recorded, steps, strict=False)
    found = next((now.seq for was, now in pairs if was.active != now.active), 0)
    return found or (min(len(recorded), len(steps)) + 1 if len(recorded) != len(steps) else 0)


def _answers(wanted: Any, came: Any) -> bool:
    if isinstance(wanted, str) and isinstance(came, str):
        return wanted.strip() in came
    return bool(wanted == came)
