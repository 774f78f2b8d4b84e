"""RegressionTests: saves runs as tests with expectations, and replays them through today's patterns."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from engine.errors import InvalidInput
from engine.history.forks.fork_records import ForkOverrides
from engine.history.forks.forks import Forks
from engine.history.run_reader import RunReader
from engine.records import Launch, RunId, RunInfo, Shape, Status, Transition, View
from engine.records.jsonable import shorten
from engine.runtime.live_runs import LiveRuns

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
    def _check_options(cls, options: dict[str, Any]) -> dict[str, Any]:
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
    """How a replay compares with the test's recording and expectations."""

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
            # A replay stops where the recording does, so it cannot end as a run that goes on.
            status=None if view.status is Status.RUNNING else view.status,
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
    paths = {state.path for state in shape.states}
    misses = tuple(expectation_failures(test.expect, view, answer, steps, paths))
    return RegressionResult(misses=misses, steps=len(steps), parted=_first_divergence(test.recorded, steps))


def expectation_failures(
    expect: Expectations, view: View, answer: Any, steps: Sequence[Transition], paths: Collection[str]
) -> Iterator[RegressionFailure]:
    """Yield the expectations that a run does not meet; `paths` are the states of its chart."""
    if expect.status and view.status is not expect.status:
        came = f'{view.status}{f": {why}" if (why := view.stopped or view.error) else ""}'
        yield RegressionFailure(what='status', wanted=expect.status, came=came, step=view.seq)
    yield from _visit_failures(expect, steps, paths)
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
    expect: Expectations, steps: Sequence[Transition], paths: Collection[str]
) -> Iterator[RegressionFailure]:
    visits = _visits(steps)
    for what in ('visited', 'not_visited', 'visits'):
        # Without this, expecting that a nonexistent state is not entered would always succeed.
        for path in getattr(expect, what):
            if path not in paths:
                yield RegressionFailure(what=what, wanted=path, came='the pattern has no such state')
    for path in expect.visited:
        if path in paths and path not in visits:
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
    seq = next((now.seq for was, now in pairs if was.active != now.active), 0)
    return seq or (min(len(recorded), len(steps)) + 1 if len(recorded) != len(steps) else 0)


def _answers(expected: Any, actual: Any) -> bool:
    if isinstance(expected, str) and isinstance(actual, str):
        return expected.strip() in actual
    return bool(expected == actual)


class RegressionTests:
    """Saves runs as tests and runs those tests."""

    def __init__(self, live: LiveRuns, reader: RunReader, forks: Forks) -> None:
        self._live, self._reader, self._forks = live, reader, forks
        self.journal = live.journal

    async def save_test(self, run: RunId) -> RegressionTest:
        """Make a test from a run, with its outcome as the expectation.

        Raises:
            UnknownRun
            UnknownPattern: the run was imported from a trace, so there is no pattern to test.
        """
        view, shape = await self._reader.view(run), await self.journal.shape(run)
        if shape.is_imported_trace:
            self._live.catalog.pattern(shape.pattern)
        answer = view.memory.get(shape.answer) if shape.answer else None
        return record_test(await self.journal.info(run), view, answer, await self.journal.transitions(run))

    async def check(self, test: RegressionTest) -> RegressionResult:
        """Replay a test through its pattern's current version, calling no model or tool.

        The recorded run and the new one are written to this conductor's journal, so use an in-memory one.

        Raises:
            UnknownPattern, PatternError
            InvalidInput: the parameters or options are not (or no longer) valid; names the field.
        """
        pattern = self._live.catalog.pattern(test.pattern)
        with _prefix_errors('parameters'):
            pattern.parse(test.parameters)
        with _prefix_errors('options'):
            Launch.parse({**test.options, 'pattern': test.pattern})
        parent = RunInfo(
            id=RunId(uuid.uuid4().hex[:12]),
            pattern=test.pattern,
            title='recorded',
            parameters=test.parameters,
            options=test.options,
            seed=test.seed,
            epoch=1,
        )
        steps = [replace(step, run=parent.id) for step in test.recorded]
        shape = self._reader.catalog.draw(test.pattern, test.parameters)
        await self.journal.create(parent, shape)
        await self.journal.append(replace(parent, seq=len(steps), status=Status.DONE), steps)
        overrides = ForkOverrides(after='recorded', beyond='stop')
        run = await self._forks.fork(parent.id, 0, overrides=overrides)
        async for item in self._live.watch(run):
            if isinstance(item, Transition) and not item.event.played and _is_stuck(item):
                break  # No result is recorded for the point it has reached.
        view = await self._reader.view(run)
        answer = view.memory.get(shape.answer) if shape.answer else None
        return compare_outcome(test, shape, view, answer, await self.journal.transitions(run))


@contextmanager
def _prefix_errors(part: str) -> Iterator[None]:
    """Prefix the field named by an error with its section of the file."""
    try:
        yield
    except InvalidInput as error:
        problems = {f'{part}.{name}' if name else part: problem for name, problem in error.problems.items()}
        raise InvalidInput(problems) from None


def _is_stuck(step: Transition) -> bool:
    return step.event.name in ('pause', 'recover') and bool({'reason', 'left'} & set(step.event.data))
