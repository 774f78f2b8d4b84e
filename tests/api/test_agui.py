"""AG-UI: runs as the protocol's events, checked by its validator; interrupts answered once."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
from ag_ui.core import RunAgentInput
from ag_ui_validate import create_validator

from engine import Conductor, LocalConductor
from engine.models.protocol import ModelEvent, ModelRequest, ReasoningPiece
from engine.records import RunId
from tests.api.conftest import Asks
from tests.api.test_launching import api
from tests.support.harness import FakeModel, Lone, calls, catalog, in_turn
from ui.api.agui import _EventTranslator


def make_input(text: str = 'Compare tea and coffee', **more: Any) -> dict[str, Any]:
    return {
        'threadId': 't1',
        'runId': 'r1',
        'state': {},
        'messages': [{'id': 'm1', 'role': 'user', 'content': text}],
        'tools': [],
        'context': [],
        'forwardedProps': {},
        **more,
    }


def check_events(answer: httpx.Response) -> list[dict[str, Any]]:
    """The events of an answer, checked by the validator."""
    assert answer.status_code == 200, answer.text
    assert answer.headers['Content-Type'].startswith('text/event-stream')
    events = [json.loads(line.removeprefix('data: ')) for line in answer.text.split('\n\n') if line]
    validator = create_validator()
    for event in events:
        validator.feed(event)
    validator.finalize()
    report = validator.report()
    assert [diagnostic.message for diagnostic in report.diagnostics if diagnostic.severity == 'error'] == []
    return events


async def test_a_run_streams_the_protocols_events(http: httpx.AsyncClient):
    events = check_events(await http.post('/agui/pipeline', json=make_input()))
    kinds = [event['type'] for event in events]
    assert (kinds[0], kinds[-1]) == ('RUN_STARTED', 'RUN_FINISHED')
    assert {'STATE_SNAPSHOT', 'STATE_DELTA', 'STEP_STARTED', 'TEXT_MESSAGE_CONTENT'} <= set(kinds)
    assert {'TOOL_CALL_START', 'TOOL_CALL_RESULT'} <= set(kinds)
    assert events[-1]['result'] == 'draft 2 '
    assert events[-1]['outcome']['type'] == 'success'


async def test_incomplete_and_simulated_results_are_marked(http: httpx.AsyncClient):
    props = {'parameters': {'max_iterations': 0}}
    events = check_events(await http.post('/agui/pipeline', json=make_input(forwardedProps=props)))
    assert events[-2]['type'] == 'TEXT_MESSAGE_END'
    last = [event for event in events if event.get('messageId') == events[-2]['messageId']]
    note = join_deltas(last, 'TEXT_MESSAGE_CONTENT')
    assert note.startswith('Done with issues: not approved after 0 revisions.\n\nSimulated: ')


class Thinks(FakeModel):
    """Reasons before it answers."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield ReasoningPiece(text='Is it ')
        yield ReasoningPiece(text='tea?')
        async for event in super().stream(request):
            yield event


async def test_reasoning_is_streamed_before_the_answer():
    async with (
        LocalConductor(catalog=catalog(Thinks('It is.', simulated=False), Lone)) as conductor,
        api(conductor) as http,
    ):
        events = check_events(await http.post('/agui/lone', json=make_input()))
        content_events = [event for event in events if event['type'].startswith(('REASONING', 'TEXT'))]
        kinds = list(dict.fromkeys(event['type'] for event in content_events))
        assert kinds == [
            'REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT',
            'REASONING_MESSAGE_END', 'REASONING_END', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT',
            'TEXT_MESSAGE_END',
        ]  # fmt: skip
        assert join_deltas(content_events, 'REASONING_MESSAGE_CONTENT') == 'Is it tea?'
        assert join_deltas(content_events, 'TEXT_MESSAGE_CONTENT') == 'It is. '
        [run] = (await conductor.runs()).runs
        translated_run = TranslatedRun(conductor, run.id)
        assert join_deltas(await translated_run.translate(), 'REASONING_MESSAGE_CONTENT') == 'Is it tea?'
        assert join_deltas(await translated_run.translate(), 'TEXT_MESSAGE_CONTENT') == 'It is. '


def join_deltas(events: list[dict[str, Any]], kind: str) -> str:
    return ''.join(event['delta'] for event in events if event['type'] == kind)


@dataclass
class TranslatedRun:
    """An ended run, as streamed to a client that did not follow it."""

    conductor: Conductor
    run: RunId

    async def translate(self) -> list[dict[str, Any]]:
        translator = _EventTranslator(self.conductor, self.run, RunAgentInput.model_validate(make_input()))
        return [event.model_dump(by_alias=True) async for event in translator.events(0)]


async def test_a_repeated_request_streams_the_same_run(conductor: Conductor, http: httpx.AsyncClient):
    key = {'Idempotency-Key': 'once'}
    first = check_events(await http.post('/agui/pipeline', json=make_input(), headers=key))
    second = check_events(await http.post('/agui/pipeline', json=make_input(), headers=key))
    assert (await conductor.runs()).total == 1
    assert second[-1]['result'] == first[-1]['result']


async def test_bad_input_returns_a_problem_instead_of_a_stream(http: httpx.AsyncClient):
    assert (await http.post('/agui/nothing', json=make_input())).status_code == 404
    assert (await http.post('/agui/pipeline', json=make_input('x'))).status_code == 422
    assert (await http.post('/agui/pipeline', json={})).status_code == 422
    props = json.dumps(make_input(forwardedProps={'parameters': {'\ud83d': 1}}))  # Half a character.
    named = await http.post('/agui/pipeline', content=props, headers={'Content-Type': 'application/json'})
    assert [wrong['field'] for wrong in named.json()['errors']] == ['?'], named.text


async def test_a_run_that_waits_ends_the_stream_with_an_interrupt():
    model = FakeModel(in_turn(calls(('calculator', {'expression': '1+1'})), 'done'))
    own_catalog = catalog(model, Asks)
    own_catalog.tools['calculator'] = replace(own_catalog.tools['calculator'], approval=True)
    async with LocalConductor(catalog=own_catalog) as conductor, api(conductor) as http:
        events = check_events(await http.post('/agui/asks', json=make_input()))
        [interrupt] = events[-1]['outcome']['interrupts']
        accepts = {event['event'] for event in interrupt['metadata']['accepts']}
        assert accepts == {'approve', 'deny'}
        answer = {'interruptId': interrupt['id'], 'status': 'resolved', 'payload': {'event': 'deny'}}
        key = {'Idempotency-Key': 'answer'}
        for _ in range(2):
            events = check_events(
                await http.post('/agui/asks', json=make_input(resume=[answer]), headers=key)
            )
            assert events[-1]['outcome']['type'] == 'success'
        response = await http.post('/agui/asks', json=make_input(resume=[answer]))
        assert response.status_code == 409  # It has ended.
