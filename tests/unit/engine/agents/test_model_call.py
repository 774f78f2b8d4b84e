"""A model call inside a run: fallbacks, retries, usage and cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from engine import Conductor, InvalidInput, LocalConductor, Transition
from engine.errors import ModelError
from engine.models.endpoint import Endpoint
from engine.models.http.endpoint_client import EndpointClient, EndpointModel
from engine.models.protocol import (
    Completed,
    ModelEvent,
    ModelRequest,
    TextPiece,
    UsageReport,
    Waiting,
    candidate_models,
)
from engine.records import Delta, Outcome, RunId, Usage
from tests.support.harness import FakeModel, HastyClock, Lone, calls, catalog, in_turn


class Live(FakeModel):
    """A provider's model that reports usage and cost, and streams `first` before any failure."""

    def __init__(self, reply: Callable[[ModelRequest], Any] | Any = 'ok', *, first: str = '') -> None:
        super().__init__(reply, simulated=False)
        self._first = first

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        reply = self._reply(request)
        if self._first:
            yield TextPiece(text=self._first)
        yield UsageReport(usage=Usage(input=7, output=1))
        if isinstance(reply, BaseException):
            raise reply
        yield TextPiece(text=reply)
        yield Completed(usage=Usage(input=7, output=3, cached=2), cost=0.25)


async def play(models: dict[str, FakeModel], chosen: str) -> tuple[Outcome, list[Transition]]:
    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.models.update(models)  # type: ignore[arg-type]
    async with LocalConductor(catalog=own_catalog, clock=HastyClock()) as conductor:
        run = (await conductor.start('lone', models={'': chosen})).id
        outcome = await conductor.result(run)
        return outcome, list(await conductor.transitions(run))


def list_events(steps: list[Transition], name: str) -> list[dict[str, Any]]:
    return [
        dict(step.event.data) for step in steps if step.event.name == name and 'thinking' in step.event.at
    ]


def test_fallback_models_are_separated_by_commas() -> None:
    assert candidate_models({'judge': 'a/b, c/d'}, 'judge') == ('a/b', 'c/d')
    assert candidate_models({'judge': 'a/b', '': 'e'}, 'other') == ('e',)
    assert candidate_models({}, 'other') == ('scripted',)


async def test_a_reply_has_its_cost() -> None:
    _, steps = await play({'one': Live()}, 'one')
    (done,) = list_events(steps, 'done')
    assert (done['model'], done['source']) == ('one', 'live')
    assert done['usage'] == {'input': 7, 'output': 3, 'calls': 1, 'cached': 2, 'dollars': 0.25}
    assert 'finish' not in done and 'failed' not in done


async def test_a_fallback_replaces_a_model_that_fails_permanently() -> None:
    one, two = Live(ModelError('no such key', kind='auth')), Live('from two')
    outcome, steps = await play({'one': one, 'two': two}, 'one, two')
    assert outcome.status == 'done'
    (done,) = list_events(steps, 'done')
    assert (done['model'], done['text']) == ('two', 'from two')
    assert done['failed'] == [{'model': 'one', 'error': 'no such key', 'kind': 'auth'}]
    assert done['usage'] == {
        'input': 14, 'output': 4, 'calls': 2, 'cached': 2, 'dollars': 0.25, 'unpriced': 1,
    }  # fmt: skip
    assert done['spent'] == {
        'one': {'input': 7, 'output': 1, 'calls': 1, 'unpriced': 1},
        'two': {'input': 7, 'output': 3, 'calls': 1, 'cached': 2, 'dollars': 0.25},
    }
    assert (len(one.requests), [request.model for request in two.requests]) == (1, ['two'])


async def test_a_fallback_waits_until_all_attempts_are_used() -> None:
    one = Live(lambda request: ModelError('busy', kind='overloaded', retryable=True))
    _, steps = await play({'one': one, 'two': Live()}, 'one,two')
    assert len(list_events(steps, 'retry')) == 3
    assert len(one.requests) == 4
    assert list_events(steps, 'done')[0]['model'] == 'two'


async def test_failed_attempts_are_journaled_with_their_usage() -> None:
    replies: list[Any] = [
        ModelError('busy', kind='overloaded', retryable=True, status=529, request_id='r'), 'ok',
    ]  # fmt: skip
    _, steps = await play({'one': Live(lambda request: replies.pop(0))}, 'one')
    (retry,) = list_events(steps, 'retry')
    assert retry['usage'] == {'input': 7, 'output': 1, 'calls': 1, 'unpriced': 1}
    assert (retry['kind'], retry['status'], retry['request_id']) == ('overloaded', 529, 'r')


@pytest.mark.parametrize(('delay', 'tries'), [(60.0, 4), (60.5, 1), (300.0, 1)])
async def test_a_wait_of_over_a_minute_fails_instead(delay: float, tries: int) -> None:
    error = ModelError('later', kind='rate limit', retryable=True, retry_after=delay)
    one = Live(lambda request: error)
    outcome, steps = await play({'one': one}, 'one')
    assert outcome.status == 'failed'
    assert len(one.requests) == tries
    assert all(step['delay'] == delay for step in list_events(steps, 'retry'))


async def test_a_roles_effort_is_limited_by_its_model() -> None:
    class Choosy(Live):
        def effort_problem(self, effort: str) -> str:
            return 'it accepts low only' if effort != 'low' else ''

    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.models |= {'one': (one := Choosy()), 'two': Live()}
    async with LocalConductor(catalog=own_catalog, clock=HastyClock()) as conductor:
        for effort in ({'': 'high'}, {'working': 'high'}, {'': 'low', 'working': 'high'}):
            with pytest.raises(InvalidInput, match=r'effort(.working)?: one: it accepts low only'):
                await conductor.start('lone', models={'': 'one'}, effort=effort)
        run = (await conductor.start('lone', models={'': 'two,one'}, effort={'': 'low'})).id
        await conductor.result(run)
        assert (await conductor.info(run)).options['effort'] == {'': 'low'}
        second_run = (await conductor.start('lone', models={'': 'one'}, effort={'working': 'low'})).id
        await conductor.result(second_run)
        assert [request.effort for request in one.requests] == ['low']


async def test_a_call_waiting_for_its_endpoint_reports_why() -> None:
    class Busy(Live):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            yield Waiting(reason='3 requests a minute', seconds=11.6)
            yield Waiting(reason='')
            async for event in super().stream(request):
                yield event

    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.models['busy'] = Busy()
    async with LocalConductor(catalog=own_catalog, clock=HastyClock()) as conductor:
        run = (await conductor.start('lone', models={'': 'busy'}, paused=True)).id
        watching = asyncio.ensure_future(_deltas(conductor, run))
        await asyncio.sleep(0)
        await conductor.resume(run)
        assert [(item.text, item.kind) for item in await watching] == [
            ('Waiting for 12 s to call busy: 3 requests a minute', 'waiting'),
            ('', 'waiting'),
            ('ok', 'text'),
        ]


async def _deltas(conductor: Conductor, run: RunId) -> list[Delta]:
    return [item async for item in conductor.watch(run) if isinstance(item, Delta)]


async def test_a_truncated_answer_is_discarded_and_retried() -> None:
    replies: list[Any] = [ModelError('cut', kind='truncated', retryable=True), 'ok']
    cut = Live(lambda request: replies.pop(0), first='Well')
    _, steps = await play({'one': cut}, 'one')
    (retry,) = list_events(steps, 'retry')
    assert retry['error'] == 'cut; what it had said until then is taken back'
    assert retry['usage']['input'] == 7
    (done,) = list_events(steps, 'done')
    assert done['text'] == 'Wellok'


async def test_a_fallback_replaces_a_model_that_always_breaks_off() -> None:
    cut = Live(lambda request: ModelError('cut', kind='truncated', retryable=True), first='Well')
    other = Live()
    outcome, steps = await play({'one': cut, 'two': other}, 'one,two')
    assert (outcome.status, len(cut.requests), len(other.requests)) == ('done', 4, 1)
    (done,) = list_events(steps, 'done')
    assert (done['text'], done['failed'][0]['model']) == ('ok', 'one')


class Vague(Live):
    """A provider's model that answers without reporting usage."""

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self._usage = usage

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield TextPiece(text='abcd' * 10)
        yield Completed(usage=self._usage)


@pytest.mark.parametrize('reported', [Usage(), Usage(input=7)])
async def test_implausible_usage_is_replaced_by_an_estimate(reported: Usage) -> None:
    _, steps = await play({'one': Vague(reported)}, 'one')
    (done,) = list_events(steps, 'done')
    assert done['usage']['source'] == 'estimated'
    assert done['usage']['output'] == 10
    assert done['usage']['input'] == (reported.input or pytest.approx(done['usage']['input'], abs=0))
    assert done['usage']['input'] > 0


@pytest.mark.parametrize('kind', ['quota', 'auth', 'bad request'])
async def test_permanent_refusals_are_not_retried(kind: Any) -> None:
    one = Live(lambda request: ModelError('no', kind=kind))
    outcome, _ = await play({'one': one}, 'one')
    assert (outcome.status, len(one.requests)) == ('failed', 1)


async def test_each_fallback_must_exist() -> None:
    with pytest.raises(InvalidInput, match="no model 'three'"):
        await play({'one': Live()}, 'one, three')


class Dead(Live):
    """A model whose endpoint is down, and that remembers it once marked."""

    down = False

    def mark_down(self) -> None:
        self.down = True


async def test_an_endpoint_that_is_down_is_remembered() -> None:
    dead = Dead(lambda request: ModelError('nobody there', kind='connection', retryable=True))
    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.models.update({'one': dead, 'two': Live()})  # type: ignore[arg-type]
    async with LocalConductor(catalog=own_catalog, clock=HastyClock()) as conductor:
        runs = [(await conductor.start('lone', models={'': 'one,two'})).id]
        await conductor.result(runs[0])
        assert len(dead.requests) == 4
        runs += [(await conductor.start('lone', models={'': 'one,two'})).id for _ in range(3)]
        assert {(await conductor.result(run)).status for run in runs} == {'done'}
        assert len(dead.requests) == 4
        (done,) = list_events(list(await conductor.transitions(runs[1])), 'done')
        assert done['failed'][0]['error'].startswith('it could not be reached a moment ago')
        dead.requests.clear()
        assert (
            await conductor.result((await conductor.start('lone', models={'': 'one'})).id)
        ).status == 'failed'
        assert len(dead.requests) == 4, 'there is no other model: it is asked'


async def test_an_endpoint_may_have_its_own_attempts_and_timeout() -> None:
    def refuse(request: ModelRequest) -> ModelError:
        error = ModelError('later', kind='rate limit', retryable=True, retry_after=90)
        error.attempts, error.patience = 6, 120.0
        return error

    one = Live(refuse)
    outcome, _ = await play({'one': one}, 'one')
    assert (outcome.status, len(one.requests)) == ('failed', 6)


async def test_calls_are_streamed_with_their_arguments() -> None:
    model = FakeModel(in_turn(calls(('notes', '{"action": "list"}'), ('nothing', '{}')), 'done'))
    deltas: list[tuple[str, str]] = []
    async with LocalConductor(catalog=catalog(model, Lone)) as conductor:
        run = (await conductor.start('lone', paused=True)).id
        with conductor.feed.subscribe(run) as subscription:
            await conductor.resume(run)
            await conductor.result(run)
            deltas += [(item.kind, item.text) for item in subscription.drain() if isinstance(item, Delta)]
    call_deltas = [item for item in deltas if item[0] in ('call', 'arguments')]
    assert call_deltas == [
        ('call', 'notes\n'),
        ('arguments', '{"action": "list"}'),
        ('call', 'nothing\n'),
        ('arguments', '{}'),
    ]


def serve(*pieces: str) -> EndpointModel:
    """A model behind an endpoint that answers with this text in these pieces."""
    deltas = [{'delta': {'content': piece}} for piece in pieces] + [{'delta': {}, 'finish_reason': 'stop'}]
    body = ''.join(f'data: {json.dumps({"choices": [delta]})}\n\n' for delta in deltas)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, text=body)

    client = EndpointClient(Endpoint(name='here', url='http://x'), transport=httpx.MockTransport(answer))
    return client.model('m')


async def test_what_was_shown_as_text_becomes_reasoning_when_its_end_tag_comes() -> None:
    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.models['here/m'] = serve('Is it tea? DO', 'NE', '</th', 'ink>\n\nIt is', ' coffee.')
    async with LocalConductor(catalog=own_catalog) as conductor:
        run = (await conductor.start('lone', models={'': 'here/m'}, paused=True)).id
        with conductor.feed.subscribe(run) as subscription:
            await conductor.resume(run)
            await conductor.result(run)
            deltas = [(item.kind, item.text) for item in subscription.drain() if isinstance(item, Delta)]
        (done,) = list_events(list(await conductor.transitions(run)), 'done')
    assert deltas[:2] == [('text', 'Is it tea? DO'), ('text', 'NE')]
    assert deltas[2:] == [
        ('reset', ''),
        ('reasoning', 'Is it tea? DONE'),
        ('text', 'It is'),
        ('text', ' coffee.'),
    ]
    assert done['text'] == 'It is coffee.'
    assert [part['kind'] for part in done['message']['parts']] == ['reasoning', 'text']
