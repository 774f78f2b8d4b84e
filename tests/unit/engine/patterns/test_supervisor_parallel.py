"""The supervisor's workers in parallel: how many, in which order, through failures and crashes."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from engine import Status, ToolContext
from engine.agents.spec import Role
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.patterns.supervisor.pattern import Supervisor
from engine.tools.protocol import tool
from tests.support.harness import FakeModel, calls, first_steps, until
from tests.support.teams.supervisor import Planned, begin, plan_task, succeed, task_in, team, team_reply

MANY = {'execution': 'side by side'}


class Held:
    """Workers whose answers are held until the test releases them, task by task."""

    def __init__(self, tasks: list[Planned], **parameters: Any) -> None:
        self.parameters: dict[str, Any] = {**MANY, **parameters}
        self.gates: dict[str, asyncio.Event] = {}
        self.begun: list[str] = []
        self.model = FakeModel(team_reply(tasks, self._work))

    def _work(self, request: ModelRequest) -> Any:
        task = task_in(request)
        if request.hints.turn == 0 and len(request.messages) == 2:
            self.begun.append(task)
            return self.gates.setdefault(task, asyncio.Event())
        return succeed(request)

    async def release(self, task: str) -> None:
        self.gates[task].set()


async def test_independent_tasks_run_in_parallel_up_to_the_number_of_workers() -> None:
    barrier = Held([plan_task(name) for name in 'abcd'], workers=3)
    async with team(barrier.model) as conductor:
        started = await begin(conductor, **barrier.parameters)
        await until(lambda: len(barrier.begun) == 3)
        view = await conductor.view(started)
        assert [leaf for leaf in view.active if leaf.endswith('working.thinking')] == [
            f'executing.worker_{number}.working.thinking' for number in (1, 2, 3)
        ]
        assert [step['state'] for step in view.memory['steps']] == ['in progress'] * 3 + ['pending']
        assert view.memory['under_way'] == {'worker_1': 'a', 'worker_2': 'b', 'worker_3': 'c'}
        await barrier.release('b')
        await until(lambda: len(barrier.begun) == 4)
        view = await conductor.view(started)
        assert view.memory['under_way']['worker_2'] == 'd'
        for task in 'acd':
            await barrier.release(task)
        outcome = await conductor.result(started)
        assert outcome.status is Status.DONE and len(outcome.memory['completed_results']) == 4
        assert await conductor.audit(started)


async def test_a_task_waits_for_its_dependencies_even_if_workers_are_idle() -> None:
    barrier = Held([plan_task('a'), plan_task('b'), plan_task('c', 'writer', 'a', 'b')], workers=6)
    async with team(barrier.model) as conductor:
        started = await begin(conductor, **barrier.parameters)
        await until(lambda: barrier.begun == ['a', 'b'])
        assert (await conductor.view(started)).memory['steps'][2]['state'] == 'blocked'
        await barrier.release('a')
        await until(lambda: barrier.model.running == 1)
        assert barrier.begun == ['a', 'b']
        await barrier.release('b')
        await until(lambda: barrier.begun == ['a', 'b', 'c'])
        await barrier.release('c')
        assert (await conductor.result(started)).status is Status.DONE


async def test_a_worker_that_fails_takes_the_next_task() -> None:
    def work(request: ModelRequest) -> Any:
        return ValueError('broken') if task_in(request) == 'a' else succeed(request)

    plan = [
        plan_task('a'),
        plan_task('b', 'writer', 'a'),
        plan_task('c', 'plumber'),
        plan_task('d', 'writer', 'c'),
    ]
    model = FakeModel(team_reply(plan, work))
    async with team(model) as conductor:
        outcome = await conductor.result(await begin(conductor, **MANY, workers=1))
    assert outcome.status is Status.DONE
    ended = {result['task_id']: result['success'] for result in outcome.memory['completed_results']}
    assert ended == {'a': False, 'b': True, 'c': False, 'd': True}


async def test_a_plan_with_only_unknown_roles_fails_and_says_why() -> None:
    model = FakeModel(team_reply([plan_task(f't{number}', 'plumber') for number in range(20)]))
    async with team(model) as conductor:
        outcome = await conductor.result(await begin(conductor, **MANY, workers=6, max_tasks=20))
    assert outcome.status is Status.FAILED and len(outcome.memory['completed_results']) == 20
    assert outcome.error.startswith("all 20 tasks failed: t0: No worker has the role 'plumber'")
    assert [request.hints.role for request in model.requests] == ['supervisor']


async def test_cancelling_stops_every_worker() -> None:
    barrier = Held([plan_task(name) for name in 'abc'])
    async with team(barrier.model) as conductor:
        started = await begin(conductor, **barrier.parameters)
        await until(lambda: barrier.model.running == 3)
        await conductor.cancel(started)
        assert (await conductor.result(started)).status is Status.CANCELLED
        assert barrier.model.running == 0


async def test_recovery_after_any_step_carries_out_every_task_once() -> None:
    plan = [
        plan_task('a'),
        plan_task('b', 'analyst'),
        plan_task('p', 'plumber'),
        plan_task('c', 'writer', 'a', 'b'),
    ]
    journal = MemoryJournal()
    async with team(FakeModel(team_reply(plan)), journal=journal) as conductor:
        started = await begin(conductor, **MANY, workers=2)
        expected = await conductor.result(started)
        steps = await conductor.transitions(started)
    ends = [step.seq for step, after in pairwise(steps) if not after.raised]
    assert len(ends) == 5, 'planning, three answers and the synthesis each end a turn'
    for count in ends:
        partial_journal = await first_steps(journal, started, count)
        async with team(FakeModel(team_reply(plan)), journal=partial_journal) as successor:
            assert await successor.recover() == [started], successor.stranded
            outcome = await successor.result(started)
            assert (outcome.status, outcome.answer) == (Status.DONE, expected.answer)
            results = [(item['task_id'], item['success']) for item in outcome.memory['completed_results']]
            assert sorted(results) == [('a', True), ('b', True), ('c', True), ('p', False)]
            assert await successor.audit(started)


@tool(seconds=0.01)
async def hangs(context: ToolContext) -> str:
    """Take too long."""
    await asyncio.Event().wait()
    return ''


@tool()
async def breaks(context: ToolContext) -> str:
    """Break down."""
    raise ZeroDivisionError('oh')


@tool()
async def floods(context: ToolContext) -> str:
    """Return megabytes."""
    return 'x' * 3_000_000


class Handy(Supervisor):
    """A supervisor whose workers have failing tools."""

    roles = (Role(name='tinker', title='Tinker', instructions='', tools=('hangs', 'breaks', 'floods')),)


async def test_hanging_failing_and_flooding_tools_are_reported_to_the_worker() -> None:
    results: dict[str, tuple[bool, str]] = {}

    def work(request: ModelRequest) -> Any:
        if request.hints.turn == 0:
            return calls(('hangs', {}), ('breaks', {}), ('floods', {}))
        for part in request.messages[-1].parts:
            if part.kind == 'result':
                results[part.name] = (part.ok, part.text)
        return {'success': True, 'output': 'done all the same'}

    model = FakeModel(team_reply([plan_task('a', 'tinker')], work))
    team_conductor = team(model, tools=(hangs, breaks, floods))
    team_conductor.catalog.add(Handy)
    async with team_conductor as conductor:
        outcome = await conductor.result(await begin(conductor, 'handy', **MANY))
        size = (await conductor.info(outcome.run)).bytes
    assert outcome.memory['completed_results'][0]['success']
    assert results['hangs'][0] is False and 'longer than 0.01 seconds' in results['hangs'][1]
    assert results['breaks'] == (False, 'breaks failed unexpectedly: ZeroDivisionError: oh')
    assert results['floods'][0] and 'more characters' in results['floods'][1] and size < 500_000
