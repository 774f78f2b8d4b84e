"""A time-bounded run is killed after every third turn: another process reaches the same end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from engine import Catalog, LocalConductor
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from tests.support.clocks import IdleClock
from tests.support.harness import FakeModel, first_steps, to_the_end
from tests.support.teams.time_bounded import BAD, QUICK, QuickSandbox, good, leaf, write

FIX = {
    'passed': False,
    'summary': 'It triples.',
    'fix_plan': [{'file': 'double.py', 'instruction': 'Use 2.'}],
}


def reply(request: ModelRequest) -> Any:
    """With a fix cycle, a step that needs a plan of its own, and a plan that is sent back."""
    where, visit = leaf(request), request.hints.visit
    if where == 'reviewing' and visit == 1:
        return {**good(request), 'score': 60}
    if where == 'coding' and visit == 1:
        return write(request, BAD)
    if where == 'coding' and visit == 3:
        return {'summary': 'Too large.', 'asks_for_plan': True}
    return FIX if where == 'exploring' and visit == 1 else good(request)


async def test_recovery_reaches_the_same_end(tmp_path: Path) -> None:
    catalog = Catalog.load()
    catalog.models['scripted'] = FakeModel(reply)  # type: ignore[assignment]
    options: dict[str, Any] = {
        'catalog': catalog,
        'workspaces': tmp_path,
        'sandbox': QuickSandbox(),
        'owner': 'me',
    }
    journal = MemoryJournal()
    async with LocalConductor(journal, clock=IdleClock(), **options) as conductor:
        run = (await conductor.start('time-bounded', QUICK)).id
        expected = await to_the_end(conductor, run)
        steps = await conductor.transitions(run)
    memory = expected.memory
    assert memory['status'] == 'completed' and memory['metrics']['fix_cycles'] == 1
    assert len(memory['plans']) == 2 and memory['metrics']['replan_count'] == 2
    ends = [step.seq for step, after in pairwise(steps) if not after.raised]
    assert len(ends) > 40
    for count in [0, *ends][::3]:
        partial_journal = await first_steps(journal, run, count)
        clock = IdleClock(steps[count - 1].time) if count else IdleClock()
        async with LocalConductor(partial_journal, clock=clock, **options) as successor:
            assert await successor.recover() == [run], successor.stranded
            outcome = await to_the_end(successor, run)
            assert (outcome.status, outcome.memory) == (expected.status, memory), count
            assert await successor.audit(run)
