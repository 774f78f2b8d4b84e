"""Forks that replay the journal: exact without edits, live where requested, stopped at its end."""

from __future__ import annotations

from typing import Any

from engine import Breakpoint, Budget, Conductor, Status, Transition
from engine.errors import ModelError
from engine.history import ForkOverrides
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.records import RunId
from tests.support.forks import (
    PLAYED,
    Counting,
    cut_run,
    forks_alike,
    make_conductor,
    normalize,
    run_pipeline,
)
from tests.support.harness import FakeModel, calls, pipeline_reply, to_the_end, until


async def test_a_fork_without_edits_reaches_the_same_journal_at_every_step() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run = (await conductor.start('pipeline', {'task': 'Count the bees'})).id
        await to_the_end(conductor, run)
        request_count = len(model.requests)
        assert await forks_alike(conductor, run) > 5
        assert len(model.requests) == request_count


def roles(model: FakeModel) -> list[str]:
    return [request.hints.role for request in model.requests]


async def test_one_role_is_live_and_all_others_are_replayed() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, _ = await run_pipeline(conductor)
        model.requests.clear()
        fork = await conductor.fork(
            run, 1, overrides=ForkOverrides(after='recorded', plays={'reviewer': 'live'})
        )
        outcome = await conductor.result(fork)
        assert outcome.status is Status.DONE, outcome.error
        assert roles(model) == ['reviewer', 'reviewer']
        assert outcome.memory == (await conductor.view(run)).memory
        played = {step.event.at for step in await conductor.transitions(fork) if step.event.played}
        assert 'analyzing.thinking' in played and 'reviewing.thinking' not in played
        assert await conductor.audit(fork)


async def test_one_step_is_live_and_later_ones_are_replayed() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, at = await run_pipeline(conductor)
        ended = next(
            step.seq for step in await conductor.transitions(run, after=at) if step.event.name == 'done'
        )
        model.requests.clear()
        overrides = ForkOverrides(after='recorded', plays={f'@{ended}': 'live'})
        assert (
            await conductor.result(await conductor.fork(run, at, overrides=overrides))
        ).status is Status.DONE
        assert roles(model) == ['reviewer']


async def test_a_diverging_edit_replays_matching_steps_and_then_goes_live() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, _ = await run_pipeline(conductor)
        model.requests.clear()
        short = ForkOverrides(after='recorded', parameters={'max_iterations': 1})
        fork = await conductor.fork(run, 1, overrides=short)
        assert (await conductor.result(fork)).status.ended and roles(model) == []
        assert await conductor.audit(fork)


async def test_beyond_its_parent_a_fork_stops_or_continues() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run = (await conductor.start('pipeline', {'task': 'Count the bees'})).id
        async for item in conductor.watch(run):
            if isinstance(item, Transition) and item.seq == 6:
                break
        await conductor.cancel(run)
        last = (await conductor.info(run)).seq - 1
        assert last
        part = await cut_run(conductor, run, last)
        request_count = len(model.requests)
        fork = await conductor.fork(
            part, 1, overrides=ForkOverrides(after='recorded', beyond='stop'), title='stops'
        )
        await until(lambda: conductor._live.runs[fork].projection.status is Status.PAUSED)
        view = await conductor.view(fork)
        assert (view.status, len(model.requests)) == (Status.PAUSED, request_count)
        assert 'nothing is recorded' in view.stopped
        await conductor.resume(fork)
        assert (await conductor.result(fork)).status is Status.DONE and len(model.requests) > request_count
        steps = await conductor.transitions(fork)
        assert [step.event.name for step in steps if 'left' in step.event.data] == ['recover']
        assert await conductor.audit(fork)
        freely = await conductor.fork(part, 1, overrides=ForkOverrides(after='recorded'))
        assert (await conductor.result(freely)).status is Status.DONE


async def test_an_interrupted_replay_continues() -> None:
    model, journal = FakeModel(pipeline_reply), MemoryJournal()
    async with make_conductor(model, journal) as conductor:
        run, _ = await run_pipeline(conductor)
        expected = normalize(await conductor.transitions(run))
        request_count = len(model.requests)
        fork = await conductor.fork(run, 1, overrides=PLAYED)
        async for item in conductor.watch(fork):
            if isinstance(item, Transition) and item.seq == 6:
                break
    async with make_conductor(model, journal) as successor:
        assert await successor.recover() == [fork]
        assert (await successor.result(fork)).status is Status.DONE
        steps = [step for step in await successor.transitions(fork) if step.event.name != 'recover']
        assert normalize(steps) == expected and len(model.requests) == request_count


async def steps_when_stopped(conductor: Conductor, fork: RunId) -> list[Transition]:
    """Wait until a fork's replay stops, and return its steps."""
    await settle(200)
    return await conductor.transitions(fork)


async def test_a_replaying_fork_can_be_paused() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, _ = await run_pipeline(conductor)
        fork = await conductor.fork(run, 1, overrides=PLAYED, paused=True)
        await steps_when_stopped(conductor, fork)
        info = await conductor.info(fork)
        assert (info.seq, info.status) == (info.parent_at + 1, Status.PAUSED)
        await conductor.resume(fork)
        assert (await conductor.result(fork)).status is Status.DONE


async def test_a_replaying_fork_can_be_stepped() -> None:
    model = FakeModel(pipeline_reply)
    async with make_conductor(model) as conductor:
        run, _ = await run_pipeline(conductor)
        request_count, expected = len(model.requests), await conductor.transitions(run)
        fork = await conductor.fork(run, 1, overrides=PLAYED, paused=True)
        count = len(await steps_when_stopped(conductor, fork))
        while not (await conductor.info(fork)).status.ended:
            assert (await conductor.info(fork)).status is Status.PAUSED
            await conductor.step(fork)
            steps = await steps_when_stopped(conductor, fork)
            stepped, *played = [step.event for step in steps[count:] if not step.raised]
            assert stepped.name == 'step' and len(played) == 1
            count = len(steps)
        played = [step for step in steps if step.event.name not in ('recover', 'step')]
        assert normalize(played) == normalize(expected) and len(model.requests) == request_count


async def test_a_step_over_replays_until_the_workflow_moves() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, _ = await run_pipeline(conductor)
        fork = await conductor.fork(run, 1, overrides=PLAYED, paused=True)
        await conductor.step(fork, 'over')
        steps = await steps_when_stopped(conductor, fork)
        view = await conductor.view(fork)
        assert (view.status, view.stopped) == (Status.PAUSED, f'stepped over at step {steps[-1].seq - 1}')
        assert 'analyzing' in steps[-2].entered and 'analyzing' not in steps[-3].active
        await conductor.step(fork, 'out')
        await steps_when_stopped(conductor, fork)
        assert 'reviewing.thinking' in (await conductor.view(fork)).active
        await conductor.resume(fork)
        assert (await conductor.result(fork)).status is Status.DONE


async def test_a_breakpoint_halts_a_replay() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run, _ = await run_pipeline(conductor)
        fork = await conductor.fork(run, 1, overrides=PLAYED, paused=True)
        await conductor.set_breakpoints(fork, [Breakpoint(enter='reviewing')])
        await conductor.resume(fork)
        await steps_when_stopped(conductor, fork)
        view = await conductor.view(fork)
        assert view.status is Status.PAUSED and 'reviewing.thinking' in view.active
        assert 'breakpoint' in view.stopped
        await conductor.set_breakpoints(fork, [])
        await conductor.resume(fork)
        assert (await conductor.result(fork)).status is Status.DONE


async def test_human_answers_retries_and_nested_forks_are_replayed() -> None:
    broken = ModelError('it is down', kind='server', retryable=True)
    replies: list[Any] = [broken, calls(('calculator', {'expression': '1+1'})), 'two']
    model = FakeModel(lambda request: replies.pop(0))
    async with make_conductor(model, None, Counting) as conductor:
        run = (await conductor.start('counting', approvals='all')).id
        assert (await to_the_end(conductor, run)).status is Status.DONE
        names = [step.event.name for step in await conductor.transitions(run)]
        assert 'retry' in names and 'approve' in names
        assert await forks_alike(conductor, run) > 3
        fork = await conductor.fork(run, 2, overrides=PLAYED)
        await conductor.result(fork)
        assert await forks_alike(conductor, fork) > 3


async def test_budget_steps_are_replayed_but_not_counted() -> None:
    async with make_conductor(FakeModel(pipeline_reply)) as conductor:
        run = (await conductor.start('pipeline', {'task': 'Count the bees'}, budget=Budget(tokens=40))).id
        await to_the_end(conductor, run)
        names = [step.event.name for step in await conductor.transitions(run)]
        assert 'warn' in names or 'exhaust' in names
        assert await forks_alike(conductor, run) > 1
        fork = await conductor.fork(run, 1, overrides=PLAYED)
        await conductor.result(fork)
        view = await conductor.view(fork)
        assert view.usage.total == view.inherited.total > 0
