"""Which tools need a person's approval: those marked, all, or none."""

from __future__ import annotations

from typing import Any

import pytest

from engine import Conductor, InvalidInput, LocalConductor, Status
from engine.journal import MemoryJournal
from tests.support.harness import FakeModel, calls, catalog, in_turn, wait_for_state
from tests.unit.engine.agents.test_agent_chart import SEEN, bad, danger, good, lone

TOOLS = (good, bad, danger)
ASKED = calls(('good', {'text': 'one'}), ('danger', {'text': 'two'}))


def make_conductor(journal: MemoryJournal, reply: Any) -> Conductor:
    SEEN.clear()
    return LocalConductor(journal, catalog=catalog(FakeModel(reply), lone(), tools=TOOLS), owner='me')


@pytest.mark.parametrize(
    ('approvals', 'waiting'), [('all', ['danger', 'good']), ('marked', ['danger']), ('none', [])]
)
async def test_a_run_names_the_tools_that_wait_for_approval(approvals: Any, waiting: list[str]) -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, in_turn(ASKED, 'the end')) as running:
        run = (await running.start('one', approvals=approvals)).id
        if waiting:
            await wait_for_state(running, run, 'working.approving')
            assert SEEN == [] and (await running.info(run)).status is Status.WAITING
            await running.send(run, 'approve')
        assert (await running.result(run)).answer == 'the end'
        assert [text for _, text in SEEN] == ['one', 'two']
        steps = await running.transitions(run)
        approval = next(step.event.data['approval'] for step in steps if 'approval' in step.event.data)
        assert approval == waiting
        assert await running.audit(run)


async def test_approvals_are_stored_with_the_run_and_its_forks() -> None:
    journal = MemoryJournal()
    first = make_conductor(journal, in_turn(ASKED, ASKED, 'the end'))
    run = (await first.start('one', approvals='all')).id
    await wait_for_state(first, run, 'working.approving')
    await first.close()
    async with make_conductor(journal, calls(('good', {'text': 'more'}))) as second:
        await second.recover()
        await second.send(run, 'approve')
        await wait_for_state(second, run, 'working.approving')
        fork = await second.fork(run, 1)
        await wait_for_state(second, fork, 'working.approving')
        assert (await second.info(fork)).options['approvals'] == 'all'


@pytest.mark.parametrize(
    ('options', 'says'),
    [({'approvals': 'some'}, "approvals: Input should be 'marked', 'all' or 'none'"), ({'x': 1}, 'x: ')],
)
async def test_unknown_options_are_refused(options: Any, says: str) -> None:
    async with make_conductor(MemoryJournal(), 'ok') as running:
        with pytest.raises(InvalidInput, match=says):
            await running.start('one', **options)
