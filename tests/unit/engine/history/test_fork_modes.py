"""Mixing recorded, live and simulated work in forks, and forecasts of the number of model calls."""

from __future__ import annotations

import asyncio
import itertools
from itertools import pairwise
from typing import Any

import pytest

from engine import Status
from engine.errors import ModelError
from engine.history import ForkOverrides
from engine.models.protocol import ModelRequest
from engine.records import Change, RunId
from tests.support.forks import Counting, Pair, cut_run, make_conductor, working
from tests.support.harness import FakeModel, calls, to_the_end, until

pytestmark = pytest.mark.slow
WAYS = ('recorded', 'live', 'simulated')


class Two:
    """A conductor with a paid model and a scripted one."""

    def __init__(self) -> None:
        self.real, self.playing = FakeModel(working, simulated=False), FakeModel(working)
        self.conductor = make_conductor(self.playing, None, Pair)
        self.conductor.catalog.models['real'] = self.real  # type: ignore[assignment]

    async def run_pair(self) -> RunId:
        run = (await self.conductor.start('pair', models={'': 'real'})).id
        assert (await self.conductor.result(run)).status is Status.DONE
        return run

    def take_counts(self) -> tuple[int, int]:
        counts = len(self.real.requests), len(self.playing.requests)
        self.real.requests.clear()
        self.playing.requests.clear()
        return counts


@pytest.fixture
def two() -> Two:
    return Two()


PLAYS = ({'right': 'live'}, {'both.left': 'simulated'}, {'closing': 'recorded'}, {'@4': 'live'}, {})


def mixes() -> list[Any]:
    """Return all combinations of modes before and after, each with one of the exceptions."""
    return [(*pair, PLAYS[n % 5]) for n, pair in enumerate(itertools.product(WAYS, WAYS))]


@pytest.mark.parametrize(('before', 'after', 'plays'), mixes())
async def test_a_forecast_counts_model_calls(two: Two, before: Any, after: Any, plays: Any) -> None:
    async with two.conductor as conductor:
        run = await two.run_pair()
        expected, original = await conductor.view(run), await conductor.transitions(run)
        for at in (0, 4, 9):
            two.take_counts()
            overrides = ForkOverrides(before=before, after=after, plays=plays)
            forecast = await conductor.forecast(run, at, overrides)
            fork = await conductor.fork(run, at, overrides=overrides)
            outcome = await conductor.result(fork)
            real, playing = two.take_counts()
            assert (outcome.status, sorted(outcome.answer)) == (
                Status.DONE,
                sorted(expected.memory['said']),
            ), at
            assert forecast.calls == real and not (forecast.free and real), (at, forecast)
            assert sum(usage.calls for usage in forecast.roles.values()) == real + playing, (
                at,
                forecast.roles,
            )
            assert await conductor.audit(fork)
        assert await conductor.transitions(run) == original


@pytest.mark.parametrize('count', range(3, 13, 3))
async def test_a_fork_continues_as_configured_beyond_the_recording(two: Two, count: int) -> None:
    async with two.conductor as conductor:
        run = await two.run_pair()
        part = await cut_run(conductor, run, count)
        steps = await conductor.transitions(run, after=count)
        usage_count = sum('usage' in step.event.data for step in steps)
        for begin, beyond in itertools.product((0, 1, 2), ('live', 'simulated', 'stop')):
            two.take_counts()
            overrides = ForkOverrides(after='recorded', beyond=beyond)  # type: ignore[arg-type]
            forecast = await conductor.forecast(part, begin, overrides)
            assert forecast.free is (beyond != 'live')
            fork = await conductor.fork(part, begin, overrides=overrides)
            if beyond == 'stop':
                live = conductor._live.runs[fork]
                await until(lambda: live.projection.status is Status.PAUSED)  # noqa: B023
                assert two.take_counts() == (0, 0)
                await conductor.resume(fork)
            assert (await conductor.result(fork)).status is Status.DONE
            assert two.take_counts() == ((0, usage_count) if beyond == 'simulated' else (usage_count, 0)), (
                begin,
                beyond,
            )
            assert await conductor.audit(fork)


async def test_a_fork_before_the_first_step_reruns_with_changes(two: Two) -> None:
    async with two.conductor as conductor:
        run = await two.run_pair()
        two.take_counts()
        change = Change(op='replace', path='/memory/said', value='mine;')
        assert (await conductor.forecast(run, 0)).calls == 7
        fork = await conductor.fork(run, 0, overrides=ForkOverrides(changes=[change]))
        assert (await conductor.result(fork)).answer.startswith('mine;')
        info = await conductor.info(fork)
        assert (info.parent, info.parent_at) == (run, 0) and two.take_counts() == (7, 0)


@pytest.mark.parametrize('after', ['recorded', 'live'])
async def test_edits_in_a_parallel_state_are_seen_by_both_regions(two: Two, after: Any) -> None:
    async with two.conductor as conductor:
        run = await two.run_pair()
        original = await conductor.transitions(run)
        inside = [step.seq for step, then in pairwise(original) if len(step.active) == 2 and not then.raised]
        assert len(inside) > 7
        regions = {step.event.at.rpartition('.')[0] for step in original[1:] if step.seq in inside}
        assert regions >= {'both.left', 'both.right'}
        for at in inside:
            two.take_counts()
            edit = Change(op='add', path='/memory/said', value=f'edited at {at};')
            fork = await conductor.fork(run, at, overrides=ForkOverrides(after=after, changes=[edit]))
            outcome = await conductor.result(fork)
            assert outcome.status is Status.DONE and outcome.answer.startswith(f'edited at {at};')
            done = (await conductor.view(run, at)).memory['said']
            for side in ('left', 'right'):  # The edit replaced the earlier text.
                assert (f';{side}.thinking: {side} heard' in outcome.answer) is (side not in done), at
            usage_count = sum('usage' in step.event.data for step in original[at:])
            assert two.take_counts() == (0 if after == 'recorded' else usage_count, 0)
            assert await conductor.audit(fork)
            assert (await conductor.transitions(fork))[at].active == original[at - 1].active
            if after == 'recorded':
                steps = [
                    step.active for step in await conductor.transitions(fork) if step.event.name != 'recover'
                ]
                assert steps == [step.active for step in original]
        assert await conductor.transitions(run) == original


def flaky(request: ModelRequest) -> Any:
    """Reply like `working`, but every second reply needs two attempts."""
    down = request.hints.turn == 1 and request.hints.attempt == 1
    return ModelError('it is down', kind='server', retryable=True) if down else working(request)


@pytest.mark.parametrize(
    'plays', [{'both.left': 'live'}, {'right': 'simulated'}, {'@6': 'live'}, {'@8': 'live'}]
)
async def test_a_failed_attempt_is_replayed_once(two: Two, plays: Any) -> None:
    two.real._reply = two.playing._reply = flaky
    async with two.conductor as conductor:
        run = await two.run_pair()
        steps = await conductor.transitions(run)
        assert [step.event.name for step in steps].count('retry') == 2
        for at in (1, 3, 5):
            overrides = ForkOverrides(after='recorded', beyond='simulated', plays=plays)
            fork = await conductor.fork(run, at, overrides=overrides)
            outcome = await asyncio.wait_for(conductor.result(fork), 20)
            assert outcome.status is Status.DONE
            assert outcome.answer.count(' heard') >= 3
            assert await conductor.audit(fork)


@pytest.mark.parametrize(('expression', 'waits'), [('1+1', False), ('6*7', True)])
async def test_a_replayed_approval_holds_for_the_same_call_only(expression: str, waits: bool) -> None:
    expressions = ['1+1', expression]
    model = FakeModel(
        lambda request: (
            'done' if request.hints.turn else calls(('calculator', {'expression': expressions.pop(0)}))
        )
    )
    async with make_conductor(model, None, Counting) as conductor:
        run = (await conductor.start('counting', approvals='all')).id
        assert (await to_the_end(conductor, run)).status is Status.DONE
        fork = await conductor.fork(
            run, 1, overrides=ForkOverrides(after='recorded', plays={'working': 'live'})
        )
        live = conductor._live.runs[fork]
        await until(lambda: live.projection.status.ended or (live.projection.waiting and live.is_idle))
        assert live.projection.status is (Status.WAITING if waits else Status.DONE)
        if waits:
            assert (await to_the_end(conductor, fork)).status is Status.DONE


async def test_a_persons_edit_is_replayed_on_the_same_path(two: Two) -> None:
    async with two.conductor as conductor:
        run = (await conductor.start('pair', models={'': 'real'}, paused=True)).id
        edit = {'op': 'add', 'path': '/memory/said', 'value': 'begin;'}
        await conductor.send(run, 'edit', data={'changes': [edit]})
        await conductor.resume(run)
        assert (await conductor.result(run)).answer.startswith('begin;')
        for plays in ({}, {'right': 'live'}, {'closing': 'simulated'}):
            overrides = ForkOverrides(after='recorded', plays=plays)  # type: ignore[arg-type]
            fork = await conductor.fork(run, 1, overrides=overrides)
            if (await conductor.info(fork)).status is Status.PAUSED:
                await conductor.resume(fork)
            assert (await conductor.result(fork)).answer.startswith('begin;'), plays


async def test_a_fork_keeps_stubs_unless_it_names_models(two: Two) -> None:
    stubs = {name: ['stubbed'] for name in ('left', 'right', 'closing')}
    async with two.conductor as conductor:
        run = (await conductor.start('pair', models={'': 'real'}, stubs=stubs)).id
        await conductor.result(run)
        kept = await conductor.info(await conductor.fork(run, 1))
        overrides = ForkOverrides(models={'': 'real'})
        named = await conductor.info(await conductor.fork(run, 1, overrides=overrides))
        assert (kept.options['stubs'], kept.simulated) == (stubs, True)
        assert ('stubs' in named.options, named.simulated) == (False, False)
