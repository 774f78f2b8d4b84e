"""The power fails during recovery, at any call of the journal: the next process recovers all runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import Conductor, Status
from engine.history import ForkOverrides
from engine.journal import Journal, MemoryJournal
from engine.records import RunId
from tests.crash.test_power_cut import PowerCut
from tests.support.clocks import IdleClock
from tests.support.forks import Pair, working
from tests.support.harness import FakeModel, catalog, until

MAX_CUTS = 200


class Failing:
    """A journal whose power fails at its n-th call: before the call, or after it but before it returns."""

    def __init__(self, journal: Journal, at: int, *, done: bool) -> None:
        self.journal, self.left, self.done = journal, at, done

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.journal, name)
        if name == 'close':
            return found

        async def call(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0 or (self.left == 0 and not self.done):
                raise PowerCut
            result = await found(*args, **options)
            if self.left == 0:
                raise PowerCut
            return result

        return call


def conductor(journal: Any, owner: str) -> Conductor:
    return Conductor(journal, catalog=catalog(FakeModel(working), Pair), clock=IdleClock(), owner=owner)


async def leave_runs(journal: MemoryJournal) -> list[RunId]:
    """Leave a run in progress, a run of which only the summary is journaled, and a fork."""
    async with conductor(journal, 'gone') as gone:
        run = (await gone.start('pair')).id
        await gone.result(run)
        fork = await gone.fork(run, 3, variation=ForkOverrides(after='simulated'))
        await until(lambda: gone._live.runs[fork].projection.seq > 4)
        middle = (await gone.start('pair')).id
        await until(lambda: gone._live.runs[middle].projection.seq > 4)
        info, shape = await journal.info(middle), await journal.shape(middle)
    bare = info.__class__(id=RunId('bare'), pattern='pair', title='', owner='gone', epoch=1)
    await journal.create(bare, shape)
    return [info.id for info in await journal.unfinished()]


@pytest.mark.parametrize('done', [False, True], ids=['lost', 'done'])
async def test_the_power_fails_at_any_call_of_a_recovery(done: bool) -> None:
    for at in range(1, MAX_CUTS):
        journal = MemoryJournal()
        left = await leave_runs(journal)
        assert len(left) == 3
        failing = Failing(journal, at, done=done)
        async with conductor(failing, 'cut') as cut:
            try:
                await cut.recover()
            except PowerCut:
                assert at == 1, 'it could not even list them'
            enough = failing.left > 0
        async with conductor(journal, 'heir') as heir:
            found = await heir.recover()
            assert heir.stranded == {}
            for run in found:
                assert (await heir.result(run)).status is Status.DONE
            for run in left:
                steps = await heir.transitions(run)
                assert steps[-1].active == (await heir.view(run)).active
                assert await heir.audit(run) == len(steps)
                endings = Counter(
                    (step.event.at, step.event.since) for step in steps if step.event.name == 'done'
                )
                assert max(endings.values()) == 1
        if enough:
            return
    raise AssertionError('every recovery was cut')
