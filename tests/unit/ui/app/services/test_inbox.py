"""The inbox: open questions of all runs, answered once; late, second and altered answers change nothing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog, Conductor, InvalidInput, LocalConductor, Pattern, Status
from engine.agents.chart import agent
from engine.errors import JournalDamaged
from engine.host.clock import SimulatedClock
from engine.journal import Fold
from engine.records import RunId
from engine.runtime import acting_as
from tests.processes.mcp.test_questions import Hotel
from tests.support.harness import FakeModel, calls, catalog, start_run, turns
from ui.app.services.inbox import Inbox, InboxItem, QuestionClosed, UnknownQuestion, wait_texts

CATALOG = Catalog.load()
LATE = 'has ended the question'


class Pair(Pattern):
    """Two agents side by side; each asks before it uses a tool."""

    initial = 'working'
    states = [
        {
            'name': 'working',
            'parallel': [agent(name, prompt='ask', tools=['calculator']) for name in ('left', 'right')],
        },
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'working', 'over'], ['failed', 'working', 'lost'], ['expired', 'working', 'lost']]

    def ask(self, memory: Any) -> str:
        return 'Work.'


def reply(request: Any) -> Any:
    return calls(('calculator', {'expression': '1+1'})) if request.hints.turn == 0 else 'done'


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    async with LocalConductor(catalog=catalog(FakeModel(reply), Pair)) as conductor:
        yield conductor


async def start_asking(conductor: Conductor, count: int = 2) -> RunId:
    """Start a run, and wait until this many approvals are requested."""
    run = await start_run(conductor, 'pair', approvals='all')
    await wait_for_questions(Inbox(conductor), count, run=run)
    return run


async def wait_for_questions(inbox: Inbox, count: int, run: str = '') -> Sequence[InboxItem]:
    """Wait until this many questions are open."""
    async for _ in turns():
        if len(items := (await inbox.list(run=run)).items) >= count:
            return items
    raise AssertionError('too little is asked')


async def test_questions_of_all_runs_are_listed_oldest_first():
    clock = SimulatedClock()
    async with LocalConductor(catalog=catalog(FakeModel(reply), Pair), clock=clock) as conductor:
        runs = []
        for _ in range(3):
            runs.append(await start_asking(conductor))
            await clock.advance(60)
        items = (await Inbox(conductor).list()).items
    asks = [item.ask for item in items]
    assert [ask.run for ask in asks] == [run for run in runs for _ in range(2)]
    assert asks == sorted(asks, key=lambda ask: (ask.since, ask.id)), 'simultaneous ones are ordered by id'
    assert {ask.text for ask in asks[:2]} == {
        f'Allow {name} to use calculator?' for name in ('left', 'right')
    }
    for ask in asks:
        assert [(call.name, call.arguments) for call in ask.calls] == [
            ('calculator', '{"expression": "1+1"}')
        ]
        assert set(ask.events) == {'approve', 'deny'}
    assert len({ask.digest for ask in asks}) == 6


async def test_a_damaged_run_does_not_hide_the_questions_of_others(
    conductor: Conductor, monkeypatch: pytest.MonkeyPatch
):
    damaged, intact = await start_asking(conductor), await start_asking(conductor)
    read_fold = conductor.fold

    async def fold(run: RunId) -> Fold:
        if run == damaged:
            raise JournalDamaged('step 5 is missing')
        return await read_fold(run)

    monkeypatch.setattr(conductor, 'fold', fold)
    assert {item.ask.run for item in (await Inbox(conductor).list()).items} == {intact}


async def test_an_answer_counts_even_if_another_region_has_moved(conductor: Conductor):
    run, inbox = await start_asking(conductor), Inbox(conductor)
    left, right = (item.ask for item in (await inbox.list()).items)
    await inbox.answer(left.id, 'approve', digest=left.digest)
    await inbox.answer(right.id, 'deny', {'reason': 'no sums'}, digest=right.digest)
    assert (await conductor.result(run)).status is Status.DONE


async def test_a_second_answer_is_refused(conductor: Conductor):
    run, inbox = await start_asking(conductor), Inbox(conductor)
    left, right = (item.ask for item in (await inbox.list()).items)

    async def answer(event: str, by: str) -> object:
        with acting_as(by):
            return await inbox.answer(left.id, event, digest=left.digest)

    both = await asyncio.gather(answer('approve', 'Ada'), answer('deny', 'Bo'), return_exceptions=True)
    refused = [item for item in both if isinstance(item, QuestionClosed)]
    assert len(refused) == 1
    steps = (await conductor.info(run)).seq
    with pytest.raises(QuestionClosed, match=LATE):
        await inbox.answer(left.id, 'deny', digest=left.digest)
    with pytest.raises(QuestionClosed, match=r'approve by Ada|deny by Bo'):
        await inbox.find(left.id)
    answers = [step.event.name for step in await conductor.transitions(run) if step.event.at == left.at]
    assert [name for name in answers if name in ('approve', 'deny')] in (['approve'], ['deny'])
    assert (await conductor.info(run)).seq >= steps
    assert [item.ask.id for item in (await inbox.list()).items] == [right.id]


async def test_an_answer_to_a_changed_question_is_refused(conductor: Conductor):
    run, inbox = await start_asking(conductor), Inbox(conductor)
    left, right = (item.ask for item in (await inbox.list()).items)
    before = (await conductor.info(run)).seq
    for digest in ('', right.digest, left.digest[:-1] + ('0' if left.digest[-1] != '0' else '1')):
        with pytest.raises(QuestionClosed, match='changed since it was shown'):
            await inbox.answer(left.id, 'approve', digest=digest)
    with pytest.raises(InvalidInput, match='must be one of approve, deny'):
        await inbox.answer(left.id, 'cancel', digest=left.digest)
    assert (await conductor.info(run)).seq == before


async def test_a_question_of_a_run_that_has_ended_is_closed(conductor: Conductor):
    run, inbox = await start_asking(conductor), Inbox(conductor)
    ask = (await inbox.list()).items[0].ask
    await conductor.cancel(run)
    assert (await inbox.list()).items == ()
    with pytest.raises(QuestionClosed, match=r'ended the question \(cancel'):
        await inbox.answer(ask.id, 'approve', digest=ask.digest)


@pytest.mark.parametrize(
    'ask', ['', 'x', 'x.y.z', 'none.3.abcdef01', '{run}.1.abcdef01', '{run}.9999.abcdef01']
)
async def test_an_unknown_question_is_refused(conductor: Conductor, ask: str):
    run = await start_asking(conductor)
    with pytest.raises(UnknownQuestion):
        await Inbox(conductor).find(ask.format(run=run))


async def test_a_question_is_assigned_and_snoozed(conductor: Conductor):
    await start_asking(conductor)
    inbox = Inbox(conductor)
    left, right = (item.ask for item in (await inbox.list()).items)
    assert (await inbox.assign(left.id, '  Ada  Lovelace ')).assignee == 'Ada Lovelace'
    assert [item.ask.id for item in (await inbox.list(assignee='Ada Lovelace')).items] == [left.id]
    later = conductor.clock.now() + 3_600
    assert (await inbox.snooze(left.id, later)).snoozed_until == later
    page = await inbox.list()
    assert ([item.ask.id for item in page.items], page.snoozed) == ([right.id], 1)
    assert len((await inbox.list(snoozed=True)).items) == 2
    await inbox.snooze(left.id, 0.0)
    assert len((await inbox.list()).items) == 2
    assert (await inbox.find(left.id)).assignee == 'Ada Lovelace'


async def test_a_question_of_an_mcp_server_is_answered(tmp_path: Path):
    hotel = Hotel(tmp_path)
    async with hotel.conductor(calls(('small_book', {})), 'booked') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        inbox = Inbox(conductor)
        ask = (await wait_for_questions(inbox, 1))[0].ask
        assert ask.question is not None and ask.text.endswith('asks: Who stays?')
        with pytest.raises(InvalidInput, match=r'content\.name'):
            await inbox.answer(ask.id, 'answer', {'content': {'name': 'A'}}, digest=ask.digest)
        await inbox.answer(ask.id, 'answer', {'content': {'name': 'Ada'}}, digest=ask.digest)
        assert (await conductor.result(run)).answer == 'booked'


def test_a_pattern_states_in_words_what_its_runs_wait_for():
    assert wait_texts(CATALOG, 'parallel-review')['files'] == 'your choice of files'
    assert wait_texts(CATALOG, 'time-bounded')['verdict'] == 'your verdict'
    assert wait_texts(CATALOG, 'gone') == {'approval': 'your approval', 'answer': 'your answer'}


@pytest.mark.parametrize('name', CATALOG.patterns)
def test_every_one_word_that_a_built_in_pattern_waits_for_is_stated_in_words(name: str):
    chosen = {'pick': 'person', 'merge': 'files', 'files_by': 'person', 'conflicts': 'person'}
    fields = CATALOG.pattern(name).Parameters.model_fields
    shape = CATALOG.draw(name, {key: chosen[key] for key in chosen.keys() & fields.keys()})
    kinds = {state.waits for state in shape.states if state.waits}
    assert {kind for kind in kinds if ' ' not in kind} <= wait_texts(CATALOG, name).keys()
