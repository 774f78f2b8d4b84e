"""A model call inside a run: fallbacks, what is tried again and what is not, usage and cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from engine import Conductor, InvalidInput, Outcome, Transition
from engine.attempt import choices
from engine.errors import ModelError
from engine.model import Completed, ModelEvent, ModelRequest, TextPiece, UsageReport
from engine.records import Usage
from tests.support import FakeModel, HastyClock, Lone, catalog

pytestmark = pytest.mark.anyio


class Live(FakeModel):
    """A model of a provider's: says something first if it is told to, and reports usage and cost."""

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


async def played(models: dict[str, FakeModel], chosen: str) -> tuple[Outcome, list[Transition]]:
    made = catalog(FakeModel(), Lone)
    made.models.update(models)  # type: ignore[arg-type]
    async with Conductor(catalog=made, clock=HastyClock()) as conductor:
        run = await conductor.start('lone', models={'': chosen})
        outcome = await conductor.result(run)
        return outcome, list(await conductor.transitions(run))


def named(steps: list[Transition], name: str) -> list[dict[str, Any]]:
    return [
        dict(step.event.data) for step in steps if step.event.name == name and 'thinking' in step.event.at
    ]


def test_choices_are_named_with_commas_between() -> None:
    assert choices({'judge': 'a/b, c/d'}, 'judge') == ('a/b', 'c/d')
    assert choices({'judge': 'a/b', '': 'e'}, 'other') == ('e',)
    assert choices({}, 'other') == ('scripted',)


async def test_a_reply_says_what_it_cost() -> None:
    _, steps = await played({'one': Live()}, 'one')
    (done,) = named(steps, 'done')
    assert (done['model'], done['source'], done['cost']) == ('one', 'live', 0.25)
    assert done['usage'] == {'input': 7, 'output': 3, 'calls': 1, 'cached': 2, 'dollars': 0.25}
    assert 'finish' not in done and 'failed' not in done


async def test_a_fallback_takes_over_from_a_model_that_fails_for_good() -> None:
    one, two = Live(ModelError('no such key', kind='auth')), Live('from two')
    outcome, steps = await played({'one': one, 'two': two}, 'one, two')
    assert outcome.status == 'done'
    (done,) = named(steps, 'done')
    assert (done['model'], done['text']) == ('two', 'from two')
    assert done['failed'] == [{'model': 'one', 'error': 'no such key', 'kind': 'auth'}]
    assert done['usage'] == {
        'input': 14, 'output': 4, 'calls': 2, 'cached': 2, 'dollars': 0.25, 'unpriced': 1,
    }  # fmt: skip
    assert done['spent'] == {
        'one': {'input': 7, 'output': 1, 'calls': 1, 'dollars': 0.0, 'unpriced': 1},
        'two': {'input': 7, 'output': 3, 'calls': 1, 'cached': 2, 'dollars': 0.25},
    }
    assert (len(one.requests), [request.model for request in two.requests]) == (1, ['two'])


async def test_a_fallback_waits_until_all_attempts_are_used() -> None:
    one = Live(lambda request: ModelError('busy', kind='overloaded', retryable=True))
    _, steps = await played({'one': one, 'two': Live()}, 'one,two')
    assert len(named(steps, 'retry')) == 3
    assert len(one.requests) == 4
    assert named(steps, 'done')[0]['model'] == 'two'


async def test_attempts_that_failed_are_journaled_with_their_usage() -> None:
    replies: list[Any] = [
        ModelError('busy', kind='overloaded', retryable=True, status=529, request_id='r'), 'ok',
    ]  # fmt: skip
    _, steps = await played({'one': Live(lambda request: replies.pop(0))}, 'one')
    (retry,) = named(steps, 'retry')
    assert retry['usage'] == {'input': 7, 'output': 1, 'calls': 1, 'unpriced': 1}
    assert (retry['kind'], retry['status'], retry['request_id']) == ('overloaded', 529, 'r')


@pytest.mark.parametrize(('asked', 'tries'), [(60.0, 4), (60.5, 1), (300.0, 1)])
async def test_a_wait_of_more_than_a_minute_is_not_waited(asked: float, tries: int) -> None:
    error = ModelError('later', kind='rate limit', retryable=True, retry_after=asked)
    one = Live(lambda request: error)
    outcome, steps = await played({'one': one}, 'one')
    assert outcome.status == 'failed'
    assert len(one.requests) == tries
    assert all(step['delay'] == asked for step in named(steps, 'retry'))


async def test_nothing_is_tried_again_when_a_part_of_it_has_been_shown() -> None:
    cut = Live(lambda request: ModelError('cut', kind='truncated', retryable=True), first='Well')
    other = Live()
    outcome, steps = await played({'one': cut, 'two': other}, 'one,two')
    assert (outcome.status, len(cut.requests), len(other.requests)) == ('failed', 1, 0)
    (failed,) = named(steps, 'failed')
    assert (failed['kind'], failed['usage']['input']) == ('truncated', 7)
    assert failed['error'] == 'cut; it is not tried again, since the beginning of the answer had been shown'


@pytest.mark.parametrize('kind', ['quota', 'auth', 'bad request'])
async def test_what_says_no_each_time_is_asked_once(kind: Any) -> None:
    one = Live(lambda request: ModelError('no', kind=kind))
    outcome, _ = await played({'one': one}, 'one')
    assert (outcome.status, len(one.requests)) == ('failed', 1)


async def test_each_choice_must_be_there() -> None:
    with pytest.raises(InvalidInput, match="no model 'three'"):
        await played({'one': Live()}, 'one, three')
