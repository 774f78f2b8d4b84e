"""Forks that are killed, disturbed, paused or stopped still reach the end of their parent's journal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine import Budget, Conductor, EventRefused, Status
from engine.errors import ModelError
from engine.history import ForkOverrides
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.records import Change, RunId
from tests.support.forks import (
    PLAYED,
    Counting,
    Pair,
    cut_run,
    forks_alike,
    make_conductor,
    normalize,
    working,
)
from tests.support.harness import FakeModel, calls, complete_run, pipeline_reply, to_the_end, until

pytestmark = pytest.mark.slow


async def copy_first_steps(journal: MemoryJournal, parent: RunId, run: RunId, count: int) -> MemoryJournal:
    """Return a journal with a whole run, and the first `count` steps of a fork of it."""
    second_journal = MemoryJournal()
    for source, steps in ((parent, None), (run, count)):
        info, history = await journal.info(source), await journal.transitions(source, until=steps)
        cut = (
            replace(info, epoch=1)
            if steps is None
            else replace(info, epoch=1, status=Status.RUNNING, seq=count)
        )
        await second_journal.create(replace(cut, seq=0), await journal.shape(source))
        if history:
            await second_journal.append(cut, history)
    return second_journal


async def warn_of_budget(model: FakeModel, journal: MemoryJournal) -> RunId:
    """Run a pair that is warned of its budget while one agent is busy and gets the notice later."""
    going = asyncio.Event()
    model._reply = lambda request: going if request.hints.role == 'right' else working(request)
    async with make_conductor(model, journal, Pair) as conductor:
        run = (await conductor.start('pair', budget=Budget(tokens=200, warn=0.05))).id
        await until(lambda: conductor._live.runs[run].projection.seq > 4)
        going.set()
        assert (await conductor.result(run)).status is Status.DONE
        (warning,) = (step for step in await conductor.transitions(run) if step.event.name == 'warn')
        assert 'both.right.thinking' in warning.active and '/told/both.right' not in str(warning.changes)
        return run


async def spend_budget(model: FakeModel, journal: MemoryJournal) -> RunId:
    """Run a pipeline until its budget is spent."""
    async with make_conductor(model, journal) as conductor:
        run = (await conductor.start('pipeline', {'task': 'Count the bees'}, budget=Budget(tokens=50))).id
        await to_the_end(conductor, run)
        assert 'exhaust' in {step.event.name for step in await conductor.transitions(run)}
        return run


async def approve_call(model: FakeModel, journal: MemoryJournal) -> RunId:
    """Run an agent with a failed attempt and an approved tool call."""
    replies: list[Any] = [
        ModelError('it is down', kind='server', retryable=True),
        calls(('calculator', {'expression': '1+1'})),
        'two',
    ]
    model._reply = lambda request: replies.pop(0)
    async with make_conductor(model, journal, Counting) as conductor:
        run = (await conductor.start('counting', approvals='all')).id
        assert (await to_the_end(conductor, run)).status is Status.DONE
        return run


async def wait_for_step(conductor: Conductor, run: RunId, seen: int) -> None:
    """Wait until a manual step and its consequences are journaled."""
    live = conductor._live.runs[run]
    await until(lambda: live.projection.seq > seen + 1 and live.is_idle)


async def extend_budget(model: FakeModel, journal: MemoryJournal) -> RunId:
    """Run a pair whose budget is raised after a warning, but too little to withdraw it."""
    model._reply = working
    async with make_conductor(model, journal, Pair) as conductor:
        run = (await conductor.start('pair', budget=Budget(tokens=200, warn=0.1), paused=True)).id
        while 'warn' not in (names := [step.event.name for step in await conductor.transitions(run)]):
            await conductor.step(run)
            await wait_for_step(conductor, run, len(names))
        await conductor.send(run, 'extend', data={'tokens': 1})
        await conductor.resume(run)
        assert (await conductor.result(run)).status is Status.DONE
        return run


@pytest.mark.parametrize('begun', [warn_of_budget, extend_budget, spend_budget, approve_call])
@pytest.mark.parametrize('at', [0, 2])
async def test_a_fork_interrupted_at_any_step_reaches_the_same_end(begun: Any, at: int) -> None:
    model, journal = FakeModel(pipeline_reply), MemoryJournal()
    run = await begun(model, journal)
    async with make_conductor(model, journal, Counting, Pair) as conductor:
        fork = await conductor.fork(run, at, overrides=PLAYED)
        expected_outcome = await conductor.result(fork)
        expected, original = normalize(await conductor.transitions(run)), await conductor.transitions(run)
    begin, request_count = (await journal.info(fork)).parent_at, len(model.requests)
    steps = await journal.transitions(fork, after=begin)
    for count in (
        step.seq - 1 for step in steps if not step.raised
    ):  # the steps of a turn are written together
        partial_journal = await copy_first_steps(journal, run, fork, count)
        async with make_conductor(model, partial_journal, Counting, Pair) as successor:
            assert await successor.recover() == [fork]
            outcome = await successor.result(fork)
            assert (outcome.status, outcome.memory) == (expected_outcome.status, expected_outcome.memory), (
                count
            )
            steps = [step for step in await successor.transitions(fork) if step.event.name != 'recover']
            assert normalize(steps) == expected, count
            assert await successor.transitions(run) == original
            assert await successor.audit(fork)
            view, as_was = await successor.view(fork), await successor.view(run)
            assert view.agents == as_was.agents and view.usage == as_was.usage, count
            assert view.inherited.total == view.usage.total, count
    assert len(model.requests) == request_count


async def test_a_raised_budget_is_replayed_as_it_was() -> None:
    model, journal = FakeModel(), MemoryJournal()
    run = await extend_budget(model, journal)
    async with make_conductor(model, journal, Pair) as conductor:
        assert await forks_alike(conductor, run) > 5
        fork = await conductor.fork(run, 4, overrides=PLAYED)
        await conductor.result(fork)
        one, other = await conductor.view(run), await conductor.view(fork)
        assert other.inherited.total == other.usage.total, 'it has used nothing itself'
        assert {kind: gauge.used for kind, gauge in other.budget.items()} == {
            kind: gauge.used for kind, gauge in one.budget.items()
        }


async def test_refused_events_do_not_stop_a_replay() -> None:
    model, journal = FakeModel(working), MemoryJournal()
    async with make_conductor(model, journal, Pair) as conductor:
        run = await complete_run(conductor, 'pair')
        fork = await conductor.fork(run, 1, overrides=PLAYED)
        refused = 0
        while fork in conductor._live.runs:
            try:
                await conductor.send(fork, 'approve')
            except EventRefused:
                refused += 1
            assert refused < 500, (await conductor.view(fork)).active
        assert refused > 3
        assert (await conductor.info(fork)).status is Status.DONE


@pytest.mark.parametrize('at', [0, 4])
async def test_a_paused_fork_replays_nothing_before_it_is_resumed(at: int) -> None:
    model, journal = FakeModel(working), MemoryJournal()
    async with make_conductor(model, journal, Pair) as conductor:
        run = await complete_run(conductor, 'pair')
        fork = await conductor.fork(run, at, overrides=PLAYED, paused=True)
        await settle(200)
        info = await conductor.info(fork)
        assert (info.seq, info.status) == (at + 1, Status.PAUSED)
    async with make_conductor(model, journal, Pair) as successor:
        assert await successor.recover() == [fork]
        await settle(200)
        assert (await successor.info(fork)).status is Status.PAUSED
        await successor.resume(fork)
        assert (await successor.result(fork)).status is Status.DONE
        unplayed = ('recover', 'resume')
        steps = [step for step in await successor.transitions(fork) if step.event.name not in unplayed]
        actual, expected = normalize(steps), normalize(await successor.transitions(run))
        assert actual[1:] == expected[1:] and len(model.requests) == 7


async def stuck(conductor: Conductor, model: FakeModel) -> RunId:
    """A fork that stops where its parent did."""
    run = await complete_run(conductor, 'pair')
    part = await cut_run(conductor, run, 5)
    model.requests.clear()
    fork = await conductor.fork(part, 1, overrides=ForkOverrides(after='recorded', beyond='stop'))
    await until(lambda: conductor._live.runs[fork].projection.status is Status.PAUSED)
    return fork


async def test_one_resume_is_enough_to_go_live_even_after_a_restart() -> None:
    model, journal = FakeModel(working), MemoryJournal()
    async with make_conductor(model, journal, Pair) as conductor:
        fork = await stuck(conductor, model)
        assert model.requests == []
    async with make_conductor(model, journal, Pair) as successor:
        assert await successor.recover() == [fork]
        await successor.resume(fork)
        assert (await successor.result(fork)).status is Status.DONE and model.requests


async def test_a_manual_pause_does_not_permit_going_live() -> None:
    model, journal = FakeModel(working), MemoryJournal()
    async with make_conductor(model, journal, Pair) as conductor:
        run = await complete_run(conductor, 'pair')
        part = await cut_run(conductor, run, 9)
        model.requests.clear()
        variation = ForkOverrides(after='recorded', beyond='stop')
        fork = await conductor.fork(part, 1, overrides=variation, paused=True)
        await conductor.resume(fork)
        await conductor.send(fork, 'pause', data={'reason': 'lunch'})
        await settle(200)
        assert (await conductor.view(fork)).stopped == 'lunch'
        await conductor.resume(fork)
        await settle(2000)
        assert (await conductor.view(fork)).status is Status.PAUSED and model.requests == []


@pytest.mark.parametrize('after', ['live', 'recorded'])
async def test_a_fork_interrupted_before_its_first_step_starts_as_requested(after: Any) -> None:
    model, journal = FakeModel(working), MemoryJournal()
    async with make_conductor(model, journal, Pair) as conductor:
        run = await complete_run(conductor, 'pair')
        change = Change(op='replace', path='/memory/said', value='mine')
        overrides = ForkOverrides(after=after, changes=[change])
        fork = await conductor.fork(run, 4, overrides=overrides, paused=True, budget=Budget(tokens=500))
        first = (await conductor.transitions(fork))[4]
        assert first.changes == (change,)
        partial_journal = await copy_first_steps(journal, run, fork, 4)
    async with make_conductor(model, partial_journal, Pair) as successor:
        assert await successor.recover() == [fork]
        step = (await successor.transitions(fork))[4]
        assert (step.event.data, step.changes) == (first.event.data, first.changes)
        view = await successor.view(fork)
        assert (view.status, view.memory['said']) == (Status.PAUSED, 'mine')
        await successor.resume(fork)
        assert (await successor.result(fork)).answer.startswith('mine')
    async with make_conductor(model, partial_journal, Pair) as second_conductor:
        below = await second_conductor.fork(fork, 6)
        assert 'changes' not in (await second_conductor.transitions(below))[6].event.data
        await second_conductor.result(below)
