"""Extending budgets, and budgets that are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import Budget, EventRefused, InvalidInput, PatternError, SimulatedClock, Status
from engine.host.clock import settle
from tests.support.harness import FakeModel, Lone, complete_run, in_turn, until
from tests.unit.engine.runtime.test_budget import make_conductor, make_gated_model, names, notices


async def test_extending_during_the_grace_lifts_the_limit() -> None:
    clock, (model, gate) = SimulatedClock(), make_gated_model()
    async with make_conductor(model, clock=clock) as conductor:
        run = (await conductor.start('side', budget=Budget(tokens=30))).id
        await settle()
        with pytest.raises(InvalidInput, match='this much is already used beyond the limit'):
            model._reply = in_turn('ok')
            gate.set()
            await conductor.pause(run)
            await settle()
            await conductor.extend(run, tokens=1)
        await conductor.extend(run, tokens=30)
        view = await conductor.view(run)
        assert view.budget['tokens'].limit == 60 and not view.budget['tokens'].exhausted and view.error == ''
        assert (await conductor.info(run)).budget == Budget(tokens=60)
        await conductor.resume(run)
        outcome = await conductor.result(run)
        assert outcome.error.startswith('its budget of 60 tokens is spent')
        assert (await names(conductor, run)).count('exhaust') == 2 and await conductor.audit(run)


async def test_a_paused_run_is_not_ended_by_work_in_progress() -> None:
    gate = asyncio.Event()
    async with make_conductor(FakeModel(in_turn(gate, 'ok'))) as conductor:
        run = (await conductor.start('rounds', budget=Budget(tokens=10))).id
        await settle()
        await conductor.pause(run)
        gate.set()
        await until(lambda: conductor._live.runs[run].projection.meter.exhausted)
        await settle()
        assert (await conductor.info(run)).status is Status.PAUSED
        with pytest.raises(EventRefused, match=r'is spent \(15 used\): extend it'):
            await conductor.step(run)
        await conductor.resume(run)
        assert (await conductor.result(run)).status is Status.FAILED


async def test_agents_are_told_when_the_budget_is_extended() -> None:
    model = FakeModel()
    async with make_conductor(model) as conductor:
        run = (await conductor.start('rounds', budget=Budget(tokens=1000, warn=0.01))).id
        await conductor.pause(run)
        await settle()
        await conductor.extend(run, tokens=1_000_000)
        await conductor.resume(run)
        await until(lambda: len(model.requests) > 2)
        texts = notices(await conductor.view(run))
        assert len(texts) == 2 and 'it has been raised' in texts[1]
        await conductor.cancel(run)
        assert await conductor.audit(run) == (await conductor.info(run)).seq


@pytest.mark.parametrize(
    ('more', 'problem'),
    [
        ({}, 'budget: say how much more of which'),
        ({'tokens': 0}, 'tokens: must be a number above 0, not 0'),
        ({'tokens': 'x'}, "tokens: must be a number above 0, not 'x'"),
        ({'cost': 1.0}, 'cost: this run has no such budget'),
        ({'tokens': 0.5}, 'budget.tokens: must be a whole number'),
    ],
    ids=str,
)
async def test_an_invalid_extension_is_refused(more: dict[str, Any], problem: str) -> None:
    async with make_conductor(FakeModel(asyncio.Event())) as conductor:
        run = (await conductor.start('lone', budget=Budget(tokens=100))).id
        with pytest.raises(InvalidInput) as refused:
            await conductor.extend(run, **more)
        assert str(refused.value).startswith(problem)
        bare = (await conductor.start('lone')).id
        with pytest.raises(InvalidInput, match='tokens: this run has no such budget'):
            await conductor.extend(bare, tokens=1)


async def test_an_ended_run_is_forked_rather_than_extended() -> None:
    model = FakeModel()
    async with make_conductor(model) as conductor:
        run = await complete_run(conductor, 'rounds', budget=Budget(tokens=45, warn=0.5))
        with pytest.raises(EventRefused, match='it is failed'):
            await conductor.extend(run, tokens=100)
        last = next(step.seq for step in await conductor.transitions(run) if step.event.name == 'exhaust')
        fork = await conductor.fork(run, last)
        outcome = await conductor.result(fork)
        assert outcome.error == 'its budget of 45 tokens is spent (45 used)', 'it has the whole of it'
        view = await conductor.view(fork)
        assert (view.usage.total, view.inherited.total, view.budget['tokens'].used) == (90, 45, 45)
        assert len(notices(view)) == len(notices(await conductor.view(run))) + 1, 'it is warned of its own'
        other = await conductor.fork(run, 3, budget=Budget(tokens=20))
        assert (await conductor.result(other)).error.startswith('its budget of 20 tokens')
        assert await conductor.audit(fork) and await conductor.audit(other)


@pytest.mark.parametrize(
    ('budget', 'field'),
    [
        (Budget(tokens=0), 'budget.tokens'),
        (Budget(tokens=1.5), 'budget.tokens'),  # type: ignore[arg-type]
        (Budget(tokens=True), 'budget.tokens'),
        (Budget(cost=-1), 'budget.cost'),
        (Budget(cost=float('nan')), 'budget.cost'),
        (Budget(seconds='x'), 'budget.seconds'),  # type: ignore[arg-type]
        (Budget(tokens=1, warn=0), 'budget.warn'),
        (Budget(tokens=1, warn=1.1), 'budget.warn'),
        (Budget(tokens=1, grace=-1), 'budget.grace'),
    ],
    ids=str,
)
async def test_an_invalid_budget_is_refused_by_field(budget: Budget, field: str) -> None:
    async with make_conductor(FakeModel()) as conductor:
        with pytest.raises(InvalidInput) as refused:
            await conductor.start('lone', budget=budget)
        assert list(refused.value.problems) == [field] and (await conductor.runs()).total == 0


async def test_only_the_engine_sends_the_events_of_a_budget() -> None:
    async with make_conductor(FakeModel(asyncio.Event())) as conductor:
        run = (await conductor.start('reporting')).id
        for name in ('warn', 'exhaust', 'exhausted'):
            with pytest.raises(EventRefused, match='only the engine can send it'):
                await conductor.send(run, name)
    for name in ('warn', 'exhaust', 'extend'):
        with pytest.raises(PatternError, match=r'reserved are .*, warn'):
            type('Bad', (Lone,), {'transitions': [[name, 'working', 'over'], *Lone.transitions]})
