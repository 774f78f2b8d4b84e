"""The power fails during recovery, at any call of the journal: the next process recovers all runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import Conductor, LocalConductor, Status
from engine.history import ForkOverrides
from engine.journal import Journal, MemoryJournal
from engine.records import RunId
from tests.crash.test_power_cut import PowerCut
from tests.support.clocks import IdleClock
from tests.support.forks import Pair, working
from tests.support.harness import FakeModel, catalog, until

MAX_CUTS = 200


class FailingJournal:
    """A journal whose power fails at its n-th call: before the call, or after it but before it returns."""

    def __init__(self, journal: Journal, at: int, *, done: bool) -> None:
        self.journal, self.left, self.done = journal, at, done

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.journal, name)
        if name == 'close':
            return attribute

        async def call(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self.done):
                raise PowerCut
            result = await attribute(*args, **options)
            if self.left == 0:
                raise PowerCut
            return result

        return call


def make_conductor(journal: Any, owner: str) -> Conductor:
    return LocalConductor(journal, catalog=catalog(FakeModel(working), Pair), clock=IdleClock(), owner=owner)


async def leave_runs(journal: MemoryJournal) -> list[RunId]:
    """Leave a run in progress, a run of which only the summary is journaled, and a fork."""
    async with make_conductor(journal, 'gone') as crashed:
        run = (await crashed.start('pair')).id
        await crashed.result(run)
        fork = await crashed.fork(run, 3, overrides=ForkOverrides(after='simulated'))
        await until(lambda: crashed._live.runs[fork].projection.seq > 4)
        middle = (await crashed.start('pair')).id
        await until(lambda: crashed._live.runs[middle].projection.seq > 4)
        info, shape = await journal.info(middle), await journal.shape(middle)
    bare = info.__class__(id=RunId('bare'), pattern='pair', title='', owner='gone', epoch=1)
    await journal.create(bare, shape)
    return [info.id for info in await journal.unfinished()]


@pytest.mark.parametrize('done', [False, True], ids=['lost', 'done'])
async def test_the_power_fails_at_any_call_of_a_recovery(done: bool) -> None:
    for at in range(1, MAX_CUTS):
        journal = MemoryJournal()
        unfinished = await leave_runs(journal)
        assert len(unfinished) == 3
        failing = FailingJournal(journal, at, done=done)
        async with make_conductor(failing, 'cut') as crashed:
            try:
                await crashed.recover()
            except PowerCut:
                assert at == 1, 'it could not even list them'
            enough = failing.left > 0
        async with make_conductor(journal, 'heir') as successor:
            recovered = await successor.recover()
            assert successor.stranded == {}
            for run in recovered:
                assert (await successor.result(run)).status is Status.DONE
            for run in unfinished:
                steps = await successor.transitions(run)
                assert steps[-1].active == (await successor.view(run)).active
                assert await successor.audit(run) == len(steps)
                endings = Counter(
                    (step.event.at, step.event.since) for step in steps if step.event.name == 'done'
                )
                assert max(endings.values()) == 1
        if enough:
            return
    raise AssertionError('every recovery was cut')
