"""RegressionTests: saves runs as tests, and replays tests through the current patterns."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from engine.errors import InvalidInput
from engine.history.forks.forks import Forks
from engine.history.forks.overrides import ForkOverrides
from engine.history.forks.regression_test import (
    RegressionResult,
    RegressionTest,
    compare_outcome,
    record_test,
)
from engine.history.run_reader import RunReader
from engine.records import RunId, RunInfo, Status, Transition
from engine.runtime.live_runs import LiveRuns
from engine.runtime.run_factory import validate_options


class RegressionTests:
    """Saves runs as tests and runs those tests."""

    def __init__(self, live: LiveRuns, reader: RunReader, forks: Forks) -> None:
        self._live, self._reader, self._forks = live, reader, forks
        self.journal = live.journal

    async def save_test(self, run: RunId) -> RegressionTest:
        """Make a test from a run, with its outcome as the expectation.

        Raises:
            UnknownRun
            UnknownPattern: the run was drawn from a trace, so there is no pattern to test.
        """
        view, shape = await self._reader.view(run), await self.journal.shape(run)
        if shape.drawn:
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
        made = self._live.catalog.pattern(test.pattern)
        with _prefix_errors('parameters'):
            made.parse(test.parameters)
        with _prefix_errors('options'):
            validate_options(test.options)
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
        shape = self._reader.draw(test.pattern, test.parameters)
        await self.journal.create(parent, shape)
        await self.journal.append(replace(parent, seq=len(steps), status=Status.DONE), steps)
        overrides = ForkOverrides(after='recorded', beyond='stop')
        run = await self._forks.fork(parent.id, 0, variation=overrides)
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
        found = {f'{part}.{name}' if name else part: problem for name, problem in error.problems.items()}
        raise InvalidInput(found) from None


def _is_stuck(step: Transition) -> bool:
    return step.event.name in ('pause', 'recover') and bool({'reason', 'left'} & set(step.event.data))
