"""A parallel review is killed after every other turn: the next process reaches the same end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from engine import Status
from engine.journal import MemoryJournal
from tests.support.harness import first_steps, to_the_end
from tests.support.teams.parallel_review import begin, everybody, position, review_conductor, writing

LOOPS = everybody(
    position('REVISE_ALL', changes=['more']),
    position('APPROVE', 'coder2', ranking=['coder2', 'coder1']),
    coder1=writing('bad'),
)


async def test_a_review_ends_the_same_wherever_it_is_interrupted(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with review_conductor(LOOPS, journal=journal, root=tmp_path) as conductor:
        run = await begin(conductor, coders=2, merge='one')
        expected = await to_the_end(conductor, run)
        steps = await conductor.transitions(run)
    assert expected.memory['approved'] and len(steps) > 50
    cuts = [step.seq for step, after in pairwise(steps) if not after.raised][::2]
    phases = {path.partition('.')[0] for step in steps if step.seq in cuts for path in step.active}
    assert phases >= {'implementing', 'reviewing', 'debating', 'revising', 'gathering', 'final_review'}
    for cut in cuts:
        partial_journal = await first_steps(journal, run, cut)
        async with review_conductor(LOOPS, journal=partial_journal, root=tmp_path) as successor:
            assert await successor.recover() == [run], successor.stranded
            outcome = await to_the_end(successor, run)
            assert (outcome.status, outcome.memory) == (Status.DONE, expected.memory), cut
            assert await successor.audit(run)
