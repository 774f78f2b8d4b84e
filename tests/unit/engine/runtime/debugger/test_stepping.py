"""Stepping in, over and out, and pausing single regions: what continues, and what waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine import (
    Activity,
    Budget,
    Conductor,
    EventRefused,
    InvalidInput,
    LocalConductor,
    Memory,
    Pattern,
    SimulatedClock,
    Status,
)
from engine.agents.chart import agent
from engine.journal import MemoryJournal, budget_meter
from engine.records import RunId
from engine.runtime import region_of
from tests.support.harness import FakeModel, calls, catalog, until


class Kept(Memory):
    said: list[str] = []


class Crew(Pattern):
    """A first agent, two regions side by side (one with regions of its own), and a last piece of work."""

    Memory = Kept
    initial = 'planning'
    states = [
        agent('planning', prompt='ask', tools=('calculator',)),
        {
            'name': 'both',
            'parallel': [
                {
                    'name': 'left',
                    'initial': 'ann',
                    'children': [
                        agent('ann', prompt='ask', tools=('calculator',)),
                        agent('ben', prompt='ask'),
                        {'name': 'end', 'final': True},
                    ],
                    'transitions': [['done', 'ann', 'ben'], ['done', 'ben', 'end']],
                },
                {
                    'name': 'right',
                    'initial': 'inner',
                    'children': [
                        {
                            'name': 'inner',
                            'parallel': [
                                agent('up', prompt='ask'),
                                {
                                    'name': 'down',
                                    'initial': 'slow',
                                    'children': [
                                        {'name': 'slow', 'invoke': 'work', 'within': 60},
                                        {'name': 'over', 'final': True},
                                    ],
                                    'transitions': [['done', 'slow', 'over'], ['told', 'slow', 'over']],
                                },
                            ],
                        },
                        {'name': 'end', 'final': True},
                    ],
                    'transitions': [['done', 'inner', 'end']],
                },
            ],
        },
        {'name': 'judging', 'invoke': 'work'},
        {'name': 'end', 'final': True},
        {'name': 'late', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [
        ['done', 'planning', 'both'],
        ['done', 'both', 'judging'],
        ['done', 'judging', 'end'],
        ['expired', 'both', 'late'],
        ['failed', '*', 'late'],
    ]

    def ask(self, memory: Any) -> str:
        return 'do it'

    async def work(self, memory: Any, activity: Activity) -> None:
        await FINISHED.setdefault(activity.path, asyncio.Event()).wait()


FINISHED: dict[str, asyncio.Event] = {}
UP, SLOW = 'both.right.inner.up', 'both.right.inner.down.slow'


class Crews:
    """Runs a crew whose agents answer when the test says so."""

    def __init__(self, conductor: Conductor, clock: SimulatedClock, model: FakeModel) -> None:
        self.conductor, self.clock, self.model = conductor, clock, model
        self.run = RunId('')

    async def start(self, **options: Any) -> RunId:
        self.run = (await self.conductor.start('crew', **options)).id
        return self.run

    @property
    def live(self) -> Any:
        return self.conductor._live.runs[self.run]

    @property
    def active(self) -> tuple[str, ...]:
        return tuple(self.live.projection.active)

    @property
    def at_work(self) -> set[str]:
        return set(self.live.world.runner._tasks)

    async def let_end(self, state: str) -> None:
        """Let the agent or the work in a state end."""
        gate = FINISHED.setdefault(state, asyncio.Event())
        await until(lambda: self.at_work & {state, f'{state}.thinking'})
        before = self.live.projection.seq
        gate.set()
        await until(lambda: self.run not in self.conductor._live.runs or self.live.projection.seq > before)
        await until(lambda: self.run not in self.conductor._live.runs or not self.live.mailbox._task)
        gate.clear()

    async def wait_for_work(self, *states: str) -> None:
        await until(lambda: self.at_work == set(states))

    async def names(self) -> list[str]:
        return [
            f'{step.event.name} {step.event.at}'.strip()
            for step in await self.conductor.transitions(self.run)
        ]


@pytest.fixture
async def crew() -> AsyncIterator[Crews]:
    FINISHED.clear()

    class Gated(FakeModel):
        async def stream(self, request: Any) -> Any:
            gate = FINISHED.setdefault(request.hints.state, asyncio.Event())
            await gate.wait()
            async for item in super().stream(request):
                yield item

    def reply(request: Any) -> Any:
        if request.hints.role in ('planning', 'ann') and request.hints.turn == 0:
            return calls(('calculator', {'expression': '1+1'}))
        return f'{request.hints.role} said'

    clock, model = SimulatedClock(), Gated(reply)
    async with LocalConductor(MemoryJournal(), catalog=catalog(model, Crew), clock=clock) as conductor:
        yield Crews(conductor, clock, model)


async def both(crew: Crews, **options: Any) -> RunId:
    """Start a run and wait until both regions are at work."""
    run = await crew.start(**options)
    for _ in range(2):
        await crew.wait_for_work('planning.thinking')
        await crew.let_end('planning')
    await crew.wait_for_work('both.left.ann.thinking', f'{UP}.thinking', SLOW)
    return run


async def test_a_run_that_starts_paused_enters_its_first_state_and_starts_nothing(crew: Crews) -> None:
    run = await crew.start(paused=True)
    view = await crew.conductor.view(run)
    assert (view.status, view.active, view.paused) == (Status.PAUSED, ('planning.thinking',), True)
    assert (view.stopped, view.held) == ('', {})
    assert crew.at_work == set() and crew.model.requests == []
    await crew.conductor.resume(run)
    await crew.wait_for_work('planning.thinking')
    assert await crew.conductor.audit(run) == 2


async def test_a_step_in_goes_into_agents_and_a_step_over_does_not(crew: Crews) -> None:
    run = await crew.start(paused=True)
    await crew.conductor.step(run)
    await crew.let_end('planning')
    assert crew.active == ('planning.using_tools',) and crew.at_work == set()
    await crew.conductor.step(run, 'over')
    await crew.wait_for_work('planning.thinking')
    assert (await crew.conductor.info(run)).status is Status.RUNNING
    await crew.let_end('planning')
    view = await crew.conductor.view(run)
    assert view.active == ('both.left.ann.thinking', f'{UP}.thinking', SLOW)
    assert view.status is Status.PAUSED and crew.at_work == set()
    assert view.stopped == f'stepped over at step {view.seq - 1}'
    assert await crew.conductor.audit(run)


async def test_a_step_out_runs_until_the_agent_ends(crew: Crews) -> None:
    run = await crew.start(paused=True)
    await crew.conductor.step(run, 'out')
    await crew.wait_for_work('planning.thinking')
    await crew.let_end('planning')
    await crew.wait_for_work('planning.thinking')
    assert not crew.live.projection.paused
    await crew.let_end('planning')
    assert crew.live.projection.paused and 'both.left.ann.thinking' in crew.active
    assert crew.live.projection.pauses.stopped.startswith('stepped out of planning at step ')


async def test_a_step_out_of_a_parallel_state_runs_until_all_of_it_ends(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.step(run, 'out')
    for state in ('both.left.ann', 'both.left.ann', 'both.left.ben', UP):
        await crew.let_end(state)
        await until(lambda: crew.live.projection.status is Status.RUNNING)
    await crew.let_end(SLOW)
    assert crew.active == ('judging',) and crew.live.projection.paused and crew.at_work == set()
    with pytest.raises(EventRefused, match='nothing around judging to step out of'):
        await crew.conductor.step(run, 'out')
    await crew.conductor.step(run)
    await crew.let_end('judging')
    assert (await crew.conductor.result(run)).status is Status.DONE
    assert await crew.conductor.audit(run)


async def test_a_held_region_waits_and_the_others_continue(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run, at='both.left.ann')
    await crew.let_end('both.left.ann')
    assert 'both.left.ann.using_tools' in crew.active, 'work in progress ended and is journaled'
    assert crew.at_work == {f'{UP}.thinking', SLOW}, 'its tools wait'
    view = await crew.conductor.view(run)
    assert (view.status, dict(view.held), view.paused) == (Status.RUNNING, {'both.left': ''}, False)
    await crew.let_end(UP)
    assert f'{UP}.done' in crew.active
    with pytest.raises(EventRefused, match='it is already paused'):
        await crew.conductor.pause(run, at='both.left')
    await crew.let_end(SLOW)
    view = await crew.conductor.view(run)
    assert view.status is Status.PAUSED and view.paused, (
        'the other region has ended: all that is left is held'
    )
    await crew.conductor.resume(run, at='both.left')
    await crew.wait_for_work('both.left.ann.thinking')
    assert (await crew.conductor.view(run)).held == {}
    with pytest.raises(EventRefused, match='it is not paused'):
        await crew.conductor.resume(run, at='both.left')
    assert await crew.conductor.audit(run)


async def test_timeouts_stop_in_held_regions_only(crew: Crews) -> None:
    run = await both(crew)
    await crew.clock.advance(20)
    await crew.conductor.pause(run, at=SLOW)
    await crew.clock.advance(1_000)
    assert (await crew.conductor.view(run)).held.keys() == {'both.right.inner.down'}
    await crew.conductor.resume(run)
    await crew.conductor.pause(run, at='both.left')
    await crew.clock.advance(39)
    assert crew.live.projection.status is Status.RUNNING
    await crew.clock.advance(2)
    assert (await crew.conductor.result(run)).error == f'{SLOW} did not end within 60 seconds'


async def test_an_individually_held_region_stays_held_on_resume(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run, at='both.left')
    await crew.conductor.pause(run)
    assert (await crew.conductor.info(run)).status is Status.PAUSED
    await crew.conductor.resume(run)
    view = await crew.conductor.view(run)
    assert (view.status, set(view.held)) == (Status.RUNNING, {'both.left'})
    await crew.conductor.resume(run)
    assert (await crew.conductor.view(run)).held == {}, 'it was paused only for this'


async def test_resume_releases_all_regions_if_all_were_held(crew: Crews) -> None:
    run = await both(crew)
    for region in ('both.left', 'both.right.inner.up', 'both.right.inner.down'):
        await crew.conductor.pause(run, at=region)
    assert (await crew.conductor.info(run)).status is Status.PAUSED
    await crew.conductor.pause(run)
    await crew.conductor.resume(run)
    view = await crew.conductor.view(run)
    assert (view.status, view.held) == (Status.RUNNING, {}), 'otherwise nothing would have continued'


async def test_one_region_of_a_paused_run_continues_alone(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run)
    await crew.conductor.resume(run, at='both.left')
    await crew.let_end(UP)
    await crew.let_end('both.left.ann')
    await crew.wait_for_work('both.left.ann.thinking', SLOW)
    await crew.let_end('both.left.ann')
    await crew.wait_for_work('both.left.ben.thinking', SLOW)
    assert (await crew.conductor.info(run)).status is Status.RUNNING
    await crew.let_end('both.left.ben')
    await crew.let_end(SLOW)
    assert crew.active == ('judging',) and crew.at_work == set(), 'outside the region everything is paused'
    assert (await crew.conductor.info(run)).status is Status.PAUSED


async def test_a_step_over_in_one_region_while_the_others_continue(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.step(run, 'over', at='both.left.ann.thinking')
    await crew.let_end(UP)
    await crew.let_end(SLOW)
    assert crew.live.projection.status is Status.RUNNING, 'other regions end no step of this one'
    await crew.let_end('both.left.ann')
    await crew.let_end('both.left.ann')
    view = await crew.conductor.view(run)
    assert 'both.left.ben.thinking' in view.active and set(view.held) == {'both.left'}
    assert view.status is Status.PAUSED and crew.at_work == set()
    await crew.conductor.step(run, 'out', at='both.left')
    await crew.let_end('both.left.ben')
    assert crew.active == ('judging',) and (await crew.conductor.info(run)).status is Status.PAUSED
    assert await crew.conductor.audit(run)


async def test_a_step_out_of_an_agent_in_a_region_holds_the_region_when_it_ends(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.step(run, 'out', at='both.left.ann')
    await crew.let_end('both.left.ann')
    await crew.let_end(UP)
    await crew.wait_for_work('both.left.ann.thinking', SLOW)
    await crew.let_end('both.left.ann')
    view = await crew.conductor.view(run)
    assert crew.at_work == {SLOW} and view.status is Status.RUNNING
    assert view.held['both.left'].startswith('stepped out of both.left.ann at step ')


async def test_a_pause_ends_a_step_in_progress(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.step(run, 'over')
    await crew.conductor.pause(run)
    assert crew.live.projection.pauses.pending_steps == {}
    await crew.conductor.resume(run)
    await crew.let_end(UP)
    assert crew.live.projection.status is Status.RUNNING


async def test_a_step_over_in_a_nested_region_of_a_paused_run(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run)
    await crew.conductor.step(run, 'over', at=UP)
    assert set((await crew.conductor.view(run)).held) == set()
    assert crew.live.projection.pauses.holds('both.left.ann') and not crew.live.projection.pauses.holds(UP)
    await crew.let_end(UP)
    view = await crew.conductor.view(run)
    assert view.status is Status.PAUSED and set(view.held) == {UP}, 'the agent ended: that is its last step'
    assert view.held[UP].startswith('stepped over at step ')


async def test_a_step_in_of_one_region_starts_only_its_next_work(crew: Crews) -> None:
    run = await crew.start()
    for _ in range(2):
        await crew.wait_for_work('planning.thinking')
        if _:
            await crew.conductor.pause(run)
        await crew.let_end('planning')
    assert crew.at_work == set()
    await crew.conductor.step(run, at='both.right.inner.down')
    assert crew.at_work == {SLOW}
    await crew.conductor.step(run, at='both.left')
    assert crew.at_work == {SLOW, 'both.left.ann.thinking'}
    await crew.let_end('both.left.ann')
    assert crew.at_work == {SLOW} and 'both.left.ann.using_tools' in crew.active


async def test_an_unknown_step_mode_is_refused(crew: Crews) -> None:
    run = await crew.start()
    with pytest.raises(InvalidInput, match="how: must be in, over or out, not 'up'"):
        await crew.conductor.step(run, 'up')  # type: ignore[arg-type]
    for steer in (crew.conductor.pause, crew.conductor.resume):
        with pytest.raises(EventRefused, match='is not active'):
            await steer(run, 'both.left')


async def test_a_held_region_accepts_answers_and_a_cancel(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run, at=SLOW)
    await crew.conductor.send(run, 'told', at=SLOW)
    assert 'both.right.inner.down.over' in crew.active
    await crew.conductor.pause(run, at='both.left')
    await crew.conductor.cancel(run, 'enough')
    outcome = await crew.conductor.result(run)
    assert (outcome.status, outcome.error) == (Status.CANCELLED, 'enough')


async def test_a_spent_budget_ends_a_run_with_a_held_region(crew: Crews) -> None:
    run = await both(crew, budget=Budget(seconds=100, grace=5))
    await crew.conductor.pause(run, at='both.left')
    await crew.clock.advance(30)
    await crew.conductor.pause(run)
    await crew.clock.advance(1_000)
    view = await crew.conductor.view(run)
    assert view.seconds == pytest.approx(30, abs=budget_meter.SLACK['seconds'] * 10), (
        'a held region stops no clock'
    )
    with pytest.raises(EventRefused):
        await crew.conductor.resume(run, at='none')


async def test_held_regions_and_steps_in_progress_survive_a_restart(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run, at='both.left')
    await crew.conductor.step(run, 'over', at=UP)
    journal, before = crew.conductor.journal, await crew.conductor.view(run)
    await crew.live.release()
    crew.conductor._live.runs.clear()
    async with LocalConductor(journal, catalog=crew.conductor.catalog, clock=crew.clock) as conductor:
        assert await conductor.recover() == [run]
        crew.conductor = conductor
        assert dict((await conductor.view(run)).held) == dict(before.held) == {'both.left': ''}
        await crew.wait_for_work(f'{UP}.thinking', SLOW)
        await crew.let_end(UP)
        assert set((await conductor.view(run)).held) == {'both.left', UP}
        assert await conductor.audit(run)


async def test_a_fork_holds_no_region(crew: Crews) -> None:
    run = await both(crew)
    await crew.conductor.pause(run, at='both.left')
    at = (await crew.conductor.info(run)).seq
    for paused, status in ((False, Status.RUNNING), (True, Status.PAUSED)):
        fork = await crew.conductor.fork(run, at, paused=paused)
        view = await crew.conductor.view(fork)
        assert (view.held, view.status) == ({}, status)


def test_each_state_has_its_innermost_region() -> None:
    shape = catalog(FakeModel(), Crew).draw('crew')
    for path, region in (
        ('planning.thinking', ''),
        ('both', ''),
        ('both.left', 'both.left'),
        ('both.left.ann.thinking', 'both.left'),
        ('both.right.inner', 'both.right'),
        (SLOW, 'both.right.inner.down'),
        (f'{UP}.thinking', UP),
    ):
        assert region_of(shape, path) == region
