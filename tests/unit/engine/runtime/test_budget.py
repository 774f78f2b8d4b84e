"""Budgets of a run: the warning, the limit, the grace, the pattern's own shutdown, extension, forks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Budget, Conductor, LocalConductor, Memory, SimulatedClock, Status
from engine.agents.chart import agent
from engine.errors import ModelError
from engine.host.clock import settle
from engine.journal import Journal, MemoryJournal
from engine.models.protocol import Completed, ModelEvent, ModelRequest, TextPiece
from engine.records import Gauge, RunId, Usage, View
from engine.records.usage import NOTICE
from tests.support.harness import FakeModel, HastyClock, Lone, calls, catalog, first_steps, in_turn, until

TOKENS_PER_CALL = 15
"""Tokens that each call of the fake model uses."""


class Rounds(Lone):
    """One agent that is called repeatedly."""

    states = [agent('working', prompt='ask', tools=('notes',), turns=100), *Lone.states[1:]]
    transitions = [['done', 'working', 'working'], ['failed', 'working', 'lost']]


class Reporting(Rounds):
    """Handles its own shutdown: an agent writes a report."""

    class Memory(Memory):
        report: str = ''

    answer = 'report'
    states = (*Rounds.states, agent('reporting', prompt='sum_up', then='keep'))
    transitions = (
        *Rounds.transitions,
        ['exhausted', 'working', 'reporting'],
        ['done', 'reporting', 'over'],
        ['failed', 'reporting', 'lost'],
    )

    def sum_up(self, memory: Any) -> str:
        return 'report'

    def keep(self, memory: Any, event: Any) -> None:
        memory.report = event.data['text'].strip()


class Side(Lone):
    """Three parallel agents that are called repeatedly."""

    initial = 'all'
    states = [
        {'name': 'all', 'parallel': [agent(name, prompt='ask') for name in 'abc']},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'all', 'all'], ['failed', '*', 'lost']]


class Live(FakeModel):
    """A provider's model with or without a reported cost and a known price."""

    def __init__(self, cost: float | None) -> None:
        super().__init__('ok', simulated=False)
        self._cost = cost

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        yield TextPiece(text='ok')
        yield Completed(usage=Usage(input=10, output=5), cost=self._cost)


class Quoted(Live):
    def price(self, usage: Usage) -> float | None:
        return self._cost


def make_conductor(model: FakeModel, journal: Journal | None = None, clock: Any = None) -> Conductor:
    patterns = (Rounds, Reporting, Side, Lone)
    return LocalConductor(journal, catalog=catalog(model, *patterns), clock=clock or HastyClock())


async def names(conductor: Conductor, run: RunId) -> list[str]:
    return [step.event.name for step in await conductor.transitions(run) if not step.raised]


def notices(view: View, path: str = 'working') -> list[str]:
    texts = [
        part['text'] for item in view.agents[path]['messages'] for part in item['parts'] if 'text' in part
    ]
    return [text for text in texts if text.startswith(NOTICE)]


def make_gated_model(reply: Any = 'ok') -> tuple[FakeModel, asyncio.Event]:
    """A model that gives two answers and then waits to be released."""
    gate = asyncio.Event()
    return FakeModel(in_turn(reply, reply, gate, reply)), gate


# The warning and the limit


async def test_a_run_is_warned_asked_to_wrap_up_and_ended(journal: Journal) -> None:
    model, budget = FakeModel(), Budget(tokens=100)
    async with make_conductor(model, journal) as conductor:
        run = (await conductor.start('rounds', budget=budget)).id
        outcome = await conductor.result(run)
        assert outcome.status is Status.FAILED
        assert outcome.error == 'its budget of 100 tokens is spent (105 used)'
        assert (await names(conductor, run))[-4:] == ['warn', 'done', 'exhaust', 'abort']
        assert len(model.requests) == 7, 'nothing was started after the limit'
        notice_counts = [
            sum(NOTICE in message.text for message in request.messages) for request in model.requests
        ]
        assert notice_counts == [0, 0, 0, 0, 0, 0, 1], 'in the conversation, once, and before the next call'
        view, info = await conductor.view(run), await conductor.info(run)
        assert view.budget == {'tokens': Gauge(used=105, limit=100, warned=True, exhausted=True, lasts=0.0)}
        assert notices(view)[0].startswith(f'{NOTICE} 90% of the budget of this run (100 tokens) is used.')
        assert view.warnings == ('90% of its budget of 100 tokens is used',)
        assert info.budget == budget and info.error == outcome.error
        assert (await conductor.runs()).runs[0].budget == budget
        assert await conductor.audit(run) == info.seq


async def test_each_step_is_read_with_its_budget_at_the_time() -> None:
    async with make_conductor(FakeModel()) as conductor:
        run = (await conductor.start('rounds', budget=Budget(tokens=100))).id
        await conductor.result(run)
        views = [await conductor.view(run, at) for at in range(1, (await conductor.info(run)).seq + 1)]
    fractions = [view.budget['tokens'].used / view.budget['tokens'].limit for view in views]
    assert fractions == sorted(fractions) and fractions[0] == 0 and fractions[-1] == 1.05
    assert [view.budget['tokens'].warned for view in views] == sorted(
        view.budget['tokens'].warned for view in views
    )
    assert views[3].budget['tokens'].lasts and views[0].budget['tokens'].lasts is None


async def test_an_agent_that_uses_tools_is_warned_after_their_results() -> None:
    model = FakeModel(calls(('notes', {'action': 'write', 'title': 'a', 'text': 'b'})))
    async with make_conductor(model) as conductor:
        run = (await conductor.start('rounds', budget=Budget(tokens=60, warn=0.5))).id
        await conductor.result(run)
        roles = [message.role for message in model.requests[2].messages]
        assert roles[-3:] == ['assistant', 'tool', 'user'] and len(notices(await conductor.view(run))) == 1
        assert await conductor.audit(run)


async def test_pending_retries_are_warned_and_not_started_when_the_budget_is_spent() -> None:
    clock, busy = SimulatedClock(), ModelError('busy', retryable=True, usage=Usage(input=50))
    model = FakeModel(busy)
    async with make_conductor(model, clock=clock) as conductor:
        run = (await conductor.start('rounds', budget=Budget(tokens=100, warn=0.5))).id
        await until(
            lambda: 'warn' in conductor._live.runs[run].projection.meter.warned or len(model.requests) == 1
        )
        await settle()
        await clock.advance(2)
        outcome = await conductor.result(run)
        assert len(model.requests) == 2 and 'budget of 100 tokens is spent (100 used)' in outcome.error
        assert NOTICE in model.requests[1].messages[-1].text
        assert (await names(conductor, run)) == [
            'start', 'retry', 'warn', 'retry', 'exhaust', 'abort',
        ]  # fmt: skip
        assert await conductor.audit(run) == 6


async def test_without_a_budget_nobody_is_warned() -> None:
    async with make_conductor(FakeModel()) as conductor:
        run = (await conductor.start('lone', budget=Budget())).id
        await conductor.result(run)
        view = await conductor.view(run)
        assert view.budget == {} and (await conductor.info(run)).budget is None and not notices(view)


# Work in progress, and the pattern's own shutdown


async def test_work_in_progress_may_end_within_the_grace() -> None:
    gate, clock = asyncio.Event(), SimulatedClock()
    model = FakeModel(in_turn(gate, 'ok'))
    async with make_conductor(model, clock=clock) as conductor:
        run = (await conductor.start('side', budget=Budget(tokens=30))).id
        await settle()
        await clock.advance(29)
        view = await conductor.view(run)
        assert view.status is Status.RUNNING and view.budget['tokens'].exhausted and model.running == 1
        gate.set()
        outcome = await conductor.result(run)
        assert outcome.error.endswith('(30 used)') and (await conductor.view(run)).usage.total == 45
        assert len(model.requests) == 3 and await conductor.audit(run)


async def test_work_beyond_the_grace_is_cut_off() -> None:
    clock = SimulatedClock()
    model = FakeModel(in_turn(asyncio.Event(), 'ok'))
    async with make_conductor(model, clock=clock) as conductor:
        run = (await conductor.start('side', budget=Budget(tokens=30, grace=10))).id
        await settle()
        await clock.advance(9.9)
        assert (await conductor.info(run)).status is Status.RUNNING
        await clock.advance(0.2)
        assert (await conductor.result(run)).status is Status.FAILED and model.running == 0


async def test_a_pattern_can_handle_its_own_shutdown() -> None:
    model = FakeModel(lambda request: 'all is told' if request.hints.state == 'reporting' else 'ok')
    async with make_conductor(model) as conductor:
        run = (await conductor.start('reporting', budget=Budget(tokens=40))).id
        outcome = await conductor.result(run)
        assert (outcome.status, outcome.answer) == (Status.DONE, 'all is told')
        assert [name for name in await names(conductor, run) if name.startswith('exh')] == [
            'exhaust',
            'exhausted',
        ]
        matching_step = next(
            step for step in await conductor.transitions(run) if step.event.name == 'exhausted'
        )
        assert matching_step.event.data == {
            'budget': 'tokens', 'error': 'its budget of 40 tokens is spent (45 used)',
        }  # fmt: skip
        assert await conductor.audit(run) == (await conductor.info(run)).seq


async def test_a_shutdown_is_limited_by_the_grace() -> None:
    clock = SimulatedClock()
    model = FakeModel(lambda request: asyncio.Event() if request.hints.state == 'reporting' else 'ok')
    async with make_conductor(model, clock=clock) as conductor:
        run = (await conductor.start('reporting', budget=Budget(tokens=40, grace=20))).id
        await settle()
        await clock.advance(19)
        assert (await conductor.view(run)).active == ('reporting.thinking',)
        await clock.advance(2)
        outcome = await conductor.result(run)
        assert outcome.status is Status.FAILED and 'spent (45 used)' in outcome.error and model.running == 0


# Time and money


async def test_time_counts_while_a_run_is_active_and_not_while_it_is_paused() -> None:
    clock, gate = SimulatedClock(), asyncio.Event()
    async with make_conductor(FakeModel(gate), clock=clock) as conductor:
        run = (await conductor.start('lone', budget=Budget(seconds=100, grace=5))).id
        await settle()
        await clock.advance(70)
        await conductor.pause(run)
        await clock.advance(1_000)
        assert (await conductor.view(run)).seconds == 70
        await conductor.resume(run)
        await clock.advance(9)
        assert 'warn' not in await names(conductor, run)
        await clock.advance(2)
        assert (await names(conductor, run))[-1] == 'warn' and (await conductor.view(run)).seconds == 80
        await clock.advance(18)
        assert (await names(conductor, run))[-1] == 'warn'
        await clock.advance(2)
        assert (await names(conductor, run))[-1] == 'exhaust'
        await clock.advance(5)
        outcome = await conductor.result(run)
        assert outcome.error == 'its budget of 100 seconds is spent (100 used)'


@pytest.mark.parametrize('away', [10_000, -3_600], ids=['later', 'by a clock that was set back'])
async def test_used_time_survives_recovery_and_excludes_downtime(away: int) -> None:
    clock, journal = SimulatedClock(), MemoryJournal()
    async with make_conductor(FakeModel(asyncio.Event()), journal, clock) as crashed:
        run = (await crashed.start('lone', budget=Budget(seconds=100))).id
        await settle()
        await clock.advance(85)
    clock = SimulatedClock(clock.now() + away)
    async with make_conductor(FakeModel(asyncio.Event()), journal, clock) as successor:
        assert await successor.recover() == [run]
        assert (await successor.view(run)).seconds == pytest.approx(80), 'up to the last step, the warning'
        await settle()
        assert len(notices(await successor.view(run))) == 1, 'told before the call that is repeated'
        await clock.advance(19)
        assert 'exhaust' not in await names(successor, run)
        await clock.advance(2)
        assert 'exhaust' in await names(successor, run)


async def test_known_costs_are_counted() -> None:
    model = Live(0.25)
    async with make_conductor(model) as conductor:
        run = (await conductor.start('rounds', budget=Budget(cost=1.0))).id
        outcome = await conductor.result(run)
        assert outcome.error == 'its budget of $1.00 is spent ($1.00 used)' and len(model.requests) == 4


@pytest.mark.parametrize(('model', 'calls'), [(Quoted(None), 0), (Live(None), 1)], ids=['before', 'after'])
async def test_an_unknown_price_is_reported_immediately(model: Live, calls: int) -> None:
    model.requests.clear()
    async with make_conductor(model) as conductor:
        run = (await conductor.start('rounds', budget=Budget(cost=1.0, tokens=100))).id
        outcome = await conductor.result(run)
        warning = next(step for step in await conductor.transitions(run) if step.event.name == 'warn')
        view = await conductor.view(run, warning.seq)
        assert 'is not known' in view.warnings[0] and view.usage.calls <= calls
        assert not view.budget['cost'].warned and 'tokens is spent' in outcome.error
        assert (await names(conductor, run)).count('warn') == 2 and view.usage.cost == (None if calls else 0)


# Crashes and random histories


@pytest.mark.parametrize('pattern', ['rounds', 'reporting'])
async def test_a_crash_at_any_step_does_not_change_the_outcome(pattern: str) -> None:
    budget = Budget(tokens=40, warn=0.5)
    async with make_conductor(FakeModel()) as conductor:
        run = (await conductor.start(pattern, budget=budget)).id
        expected_outcome = await conductor.result(run)
        count, journal = (await conductor.info(run)).seq, conductor.journal
        raised = {step.seq for step in await conductor.transitions(run) if step.raised}
        for steps in set(range(1, count)) - {seq - 1 for seq in raised}:
            model = FakeModel()
            async with make_conductor(model, await first_steps(journal, run, steps)) as successor:
                view = await successor.view(run)
                if view.status.ended:
                    continue
                assert await successor.recover() == [run], steps
                outcome = await successor.result(run)
                assert (outcome.status, outcome.answer) == (
                    expected_outcome.status,
                    expected_outcome.answer,
                ), steps
                spent = (await successor.view(run)).budget['tokens'].used
                assert spent <= 45 + (TOKENS_PER_CALL if pattern == 'reporting' else 0), steps
                texts = notices(await successor.view(run))
                assert len(texts) == 1, (steps, texts)
                assert (await successor.info(run)).budget == budget
                assert await successor.audit(run) == (await successor.info(run)).seq


@pytest.mark.slow
@settings(max_examples=20)
@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    limit=st.integers(1, 300),
    warn=st.floats(0.05, 1),
)
def test_usage_exceeds_the_limit_only_by_calls_in_progress(sizes: list[int], limit: int, warn: float) -> None:
    class Sized(FakeModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            self.requests.append(request)
            size = sizes[len(self.requests) % len(sizes)]
            for _ in range(size):
                await asyncio.sleep(0)
            yield TextPiece(text='ok')
            yield Completed(usage=Usage(output=size))

    async def play() -> None:
        model = Sized()
        async with make_conductor(model, clock=SimulatedClock()) as conductor:
            run = (await conductor.start('side', budget=Budget(tokens=limit, warn=warn))).id
            await conductor.result(run)
            steps, used, under_way = await conductor.transitions(run), 0, 0
            for step in steps:
                size = step.event.data.get('usage', {}).get('output', 0) if not step.raised else 0
                if step.event.name == 'exhaust':
                    under_way = 1
                elif under_way and size:
                    under_way += 1
                elif size:
                    assert used < limit, 'a call answered after the limit went unnoticed'
                used += size
            assert len(model.requests) == (await conductor.view(run)).usage.calls
            assert 1 <= under_way <= 3 and used <= limit - 1 + 3 * max(sizes)
            assert len(notices(await conductor.view(run), 'all.a')) <= 1 and await conductor.audit(run)

    asyncio.run(play())


async def test_a_memory_edit_keeps_pending_budget_notices() -> None:
    gate, model = asyncio.Event(), FakeModel()
    model._reply = in_turn('ok', gate, 'ok')
    async with make_conductor(model) as conductor:
        run = (await conductor.start('rounds', budget=Budget(tokens=60, warn=0.2))).id
        await until(lambda: model.running)
        await conductor.send(run, 'edit', data={'changes': []})
        gate.set()
        await conductor.result(run)
        assert len(notices(await conductor.view(run))) == 1
        assert await conductor.audit(run) == (await conductor.info(run)).seq


async def test_the_simulated_model_answers_its_task_and_not_the_notice() -> None:
    async with LocalConductor(clock=HastyClock()) as conductor:
        conductor.catalog.models['scripted'].pace = 0  # type: ignore[attr-defined]
        task = {'task': 'Which tea suits rain?'}
        plain = await conductor.result((await conductor.start('pipeline', task)).id)
        run = (await conductor.start('pipeline', task, budget=Budget(tokens=10**6, warn=1e-6))).id
        outcome = await conductor.result(run)
        view = await conductor.view(run)
    assert (outcome.status, outcome.answer) == (Status.DONE, plain.answer)
    assert all(len(notices(view, path)) == 1 for path in view.agents)
