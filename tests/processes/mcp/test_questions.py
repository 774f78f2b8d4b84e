"""Questions of MCP servers during calls: the run waits, a person answers, the call continues."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from acp import schema, text_block

from engine import Conductor, InvalidInput, LocalConductor, Status
from engine.history import ForkOverrides
from engine.journal import MemoryJournal
from engine.records import RunId
from tests.support.harness import FakeModel, calls, in_turn, start_run
from tests.support.mcp.pattern import PROGRAM, remote
from ui.api.acp import EditorAgent

OLDER = str(Path(PROGRAM).with_name('older.py'))
GUEST = {'name': 'Ada', 'nights': 2, 'size': 'l'}


class Hotel:
    """A configuration with a server that asks, and the answers it got."""

    def __init__(self, folder: Path, kind: str = 'older', **more: Any) -> None:
        self.file, self.heard = folder / 'endpoints.toml', folder / 'heard'
        arguments = {'older': [OLDER, str(self.heard)], 'newer': [PROGRAM, 'stdio', 'asks']}
        settings = {'command': sys.executable, 'args': arguments[kind], 'start': 60, **more}
        lines = [f'{name} = {json.dumps(value)}' for name, value in settings.items()]
        self.file.write_text('\n'.join(['[mcp.small]', *lines]), 'utf-8')

    def conductor(self, *replies: Any, journal: MemoryJournal | None = None) -> Conductor:
        model = FakeModel(in_turn(*replies))
        return LocalConductor(journal or MemoryJournal(), catalog=remote(model, self.file))

    def times(self, line: str) -> int:
        return self.heard.read_text('utf-8').splitlines().count(line)


async def waiting(conductor: Conductor, run: RunId, count: int = 1) -> list[Any]:
    """Wait until the run waits for `count` answers, and return the events it accepts."""
    async with asyncio.timeout(60):
        while True:
            events = [event for event in await conductor.accepts(run) if event.event == 'answer']
            if len(events) == count:
                return events
            await asyncio.sleep(0.02)


def results(view: Any) -> list[str]:
    parts = [part for message in view.agents['working']['messages'] for part in message['parts']]
    return [part['text'] for part in parts if part['kind'] == 'result']


@pytest.mark.parametrize('kind', ['older', 'newer'])
async def test_a_question_waits_for_a_persons_answer(kind: str, tmp_path: Path) -> None:
    hotel = Hotel(tmp_path, kind)
    async with hotel.conductor(calls(('small_book', {})), 'booked') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        (event,) = await waiting(conductor, run)
        info = await conductor.info(run)
        assert (info.status, info.waiting) == (Status.WAITING, 'answer')
        assert event.at == 'working.asking' and event.takes == ('action', 'content')
        assert event.question.server == 'small' and event.question.message == 'Who stays?'
        assert event.question.fields['properties']['name']['minLength'] == 2
        with pytest.raises(InvalidInput) as refused:
            await conductor.send(run, 'answer', data={'content': {'name': 'A', 'nights': 99}})
        assert set(refused.value.problems) == {'content.name', 'content.nights'}
        await conductor.send(run, 'answer', data={'content': GUEST})
        outcome = await conductor.result(run)
        view = await conductor.view(run)
        assert outcome.answer == 'booked'
        assert json.loads(results(view)[0]) == {'action': 'accept', 'content': GUEST}
        assert not view.agents['working']['batch']
        assert await conductor.audit(run) == (await conductor.info(run)).seq


@pytest.mark.parametrize('action', ['decline', 'cancel'])
async def test_a_person_may_decline_or_cancel(action: str, tmp_path: Path) -> None:
    async with Hotel(tmp_path).conductor(calls(('small_book', {})), 'so be it') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        await waiting(conductor, run)
        await conductor.send(run, 'answer', at='working.asking', data={'action': action})
        assert (await conductor.result(run)).answer == 'so be it'
        assert json.loads(results(await conductor.view(run))[0])['action'] == action


class Form:
    """An editor that speaks the Agent Client Protocol and always fills in forms the same way."""

    def __init__(self, action: str, content: Any = None) -> None:
        self.answer = schema.AcceptElicitationResponse(action='accept', content=content)
        if action == 'decline':
            self.answer = schema.DeclineElicitationResponse(action='decline')  # type: ignore[assignment]
        self.forms: list[Any] = []
        self.shown = ''

    async def create_elicitation(self, message: str, mode: Any) -> Any:
        self.forms.append((message, mode.requested_schema.properties['name'].min_length))
        return self.answer

    async def request_permission(self, options: Any, **more: Any) -> Any:
        outcome = schema.AllowedOutcome(outcome='selected', option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, update: Any, **more: Any) -> None:
        self.shown += getattr(getattr(update, 'content', None), 'text', '')


@pytest.mark.parametrize(
    ('form', 'tool', 'shows_forms', 'result', 'message'),
    [
        (Form('accept', GUEST), 'book', True, 'Ada', ''),
        (Form('decline'), 'book', True, 'decline', ''),
        (Form('accept', {'name': 'A'}), 'book', True, 'cancel', 'content.name'),
        (Form('accept', GUEST), 'book', False, 'decline', 'This editor shows no forms'),
        (Form('accept', GUEST), 'pay', False, 'accept', ''),
    ],
)  # fmt: skip
async def test_in_an_editor_a_question_is_a_form(
    form: Form, tool: str, shows_forms: bool, result: str, message: str, tmp_path: Path
) -> None:
    async with Hotel(tmp_path).conductor(calls((f'small_{tool}', {})), 'so be it') as conductor:
        agent = EditorAgent(conductor, 'remote', {})
        agent.on_connect(form)
        can = schema.ElicitationCapabilities(
            form=schema.ElicitationFormCapabilities() if shows_forms else None
        )
        await agent.initialize(1, client_capabilities=schema.ClientCapabilities(elicitation=can))
        session = (await agent.new_session('/')).session_id
        await asyncio.wait_for(agent.prompt(session, [text_block('do it')]), 60)
        (run,) = (await conductor.runs()).runs
        (text,) = results(await conductor.view(run.id))
    assert result in text and message in form.shown
    assert form.forms == ([('small asks: Who stays?', 2)] if shows_forms else [])


async def test_a_url_request_shows_its_address(tmp_path: Path) -> None:
    async with Hotel(tmp_path).conductor(calls(('small_pay', {})), 'paid') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        (event,) = await waiting(conductor, run)
        assert event.question.url == 'https://pay.example/1'
        await conductor.send(run, 'answer')
        await conductor.result(run)
        assert results(await conductor.view(run)) == ['accept']


async def test_other_calls_of_the_batch_are_made_once(tmp_path: Path) -> None:
    hotel = Hotel(tmp_path)
    reply = calls(('small_peek', {}), ('small_book', {}), ('small_book', {'ask': 'And who else?'}))
    async with hotel.conductor(reply, 'both') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        await waiting(conductor, run)
        await conductor.send(run, 'answer', data={'content': GUEST})
        (second,) = await waiting(conductor, run)
        assert second.question.message == 'And who else?'
        await conductor.send(run, 'answer', data={'action': 'decline'})
        assert (await conductor.result(run)).answer == 'both'
        texts = results(await conductor.view(run))
        assert texts[0] == 'nothing' and json.loads(texts[1])['content'] == GUEST
        assert json.loads(texts[2])['action'] == 'decline'
    assert hotel.times('tools/call peek') == 1 and hotel.times('tools/call book') == 2


async def test_after_a_restart_the_call_is_repeated_with_the_answer(tmp_path: Path) -> None:
    hotel, journal = Hotel(tmp_path), MemoryJournal()
    reply = calls(('small_peek', {}), ('small_book', {}))
    async with hotel.conductor(reply, journal=journal) as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        await waiting(conductor, run)
    async with hotel.conductor('booked', journal=journal) as conductor:
        assert await conductor.recover() == [run]
        await waiting(conductor, run)
        await conductor.send(run, 'answer', data={'content': GUEST})
        assert (await conductor.result(run)).answer == 'booked'
        assert json.loads(results(await conductor.view(run))[1])['content'] == GUEST
        assert await conductor.audit(run) == (await conductor.info(run)).seq
    assert hotel.times('tools/call peek') == 1  # it had ended
    assert hotel.times('asks Who stays?') == 2  # the person was asked once


async def test_questions_of_two_runs_are_kept_apart(tmp_path: Path) -> None:
    def reply(request: Any) -> Any:
        return (
            'done' if request.hints.turn else calls(('small_book', {'ask': f'Guest {request.hints.seed}?'}))
        )

    async with LocalConductor(catalog=remote(FakeModel(reply), Hotel(tmp_path).file)) as conductor:
        # Servers of the older protocol do not say which run a question is for. The first questions may be
        # cancelled, but no run gets another's question; from then on each run has its own connection.
        questions = [await collect_questions(conductor, 1, 2), await collect_questions(conductor, 3, 4)]
        assert set(questions[0]) <= {'Guest 1?', 'Guest 2?', ''}
        assert questions[1] == ['Guest 3?', 'Guest 4?']


async def test_a_run_asks_while_another_one_waits(tmp_path: Path) -> None:
    hotel = Hotel(tmp_path)
    async with hotel.conductor(calls(('small_book', {})), calls(('small_book', {})), 'booked') as conductor:
        runs = []
        for _ in range(2):
            runs.append(await start_run(conductor, 'remote', approvals='none'))
            await waiting(conductor, runs[-1])
        for run in runs:
            await conductor.send(run, 'answer', data={'content': GUEST})
            assert (await conductor.result(run)).answer == 'booked'


async def collect_questions(conductor: Conductor, *seeds: int) -> list[str]:
    """Collect the questions asked in runs with these seeds; '' if a run continues without one."""
    runs = [await start_run(conductor, 'remote', approvals='none', seed=seed) for seed in seeds]
    async with asyncio.timeout(60):
        while any([(await conductor.info(run)).status is Status.RUNNING for run in runs]):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    questions = []
    for run, seed in zip(runs, seeds, strict=True):
        open_questions = [event.question.message for event in await conductor.accepts(run) if event.question]
        assert open_questions in ([], [f'Guest {seed}?'])
        questions += open_questions or ['']
        if open_questions:
            await conductor.send(run, 'answer', data={'content': GUEST})
        assert (await conductor.result(run)).answer == 'done'
    return questions


async def test_a_fork_replays_an_answer_only_for_the_same_question(tmp_path: Path) -> None:
    hotel = Hotel(tmp_path)
    async with hotel.conductor(calls(('small_book', {})), 'booked') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        await waiting(conductor, run)
        await conductor.send(run, 'answer', data={'content': GUEST})
        await conductor.result(run)
        called = hotel.times('tools/call book')
        played = await conductor.fork(run, 1, overrides=ForkOverrides(after='recorded'))
        assert (await conductor.result(played)).answer == 'booked'
        assert hotel.times('tools/call book') == called


async def test_a_cancelled_run_abandons_its_call(tmp_path: Path) -> None:
    hotel = Hotel(tmp_path)
    async with hotel.conductor(calls(('small_book', {})), 'booked') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        await waiting(conductor, run)
        await conductor.cancel(run)
        waiting_calls = conductor.catalog.mcp._known['small'].waiting_calls
    assert not waiting_calls  # closing waits for abandoned calls


async def test_a_task_of_the_older_protocol_is_followed_to_its_end(tmp_path: Path) -> None:
    hotel = Hotel(tmp_path, seconds=2)
    reply = calls(('small_export', {'how': 'done'}), ('small_export', {'how': 'asks'}))
    async with hotel.conductor(reply, 'done') as conductor:
        run = await start_run(conductor, 'remote', approvals='none')
        (event,) = await waiting(conductor, run)
        assert event.question.message == 'Which format?'
        await conductor.send(run, 'answer', data={'content': GUEST})
        await conductor.result(run)
        assert results(await conductor.view(run)) == ['exported', 'exported for Ada']
    assert hotel.times('tools/call export task') == 2
