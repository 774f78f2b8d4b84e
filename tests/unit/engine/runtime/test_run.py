"""A live run: pause, step, timeouts, retries, cancellation, dead ends and failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from engine import (
    Activity,
    Conductor,
    EventRefused,
    LocalConductor,
    Memory,
    Pattern,
    Retry,
    SimulatedClock,
    Status,
    Transition,
)
from engine.errors import ModelError
from engine.host.clock import settle
from engine.journal import MemoryJournal
from engine.records import Delta, RunId
from tests.support.harness import FakeModel, Lone, catalog, until


class Works(Memory):
    results: list[Any] = []


async def forever() -> None:
    await asyncio.Event().wait()


class Chain(Pattern):
    """Two pieces of work in sequence; tests set what they do."""

    Memory = Works
    initial = 'one'
    states = [
        {'name': 'one', 'invoke': 'work', 'retry': Retry(attempts=3, delay=1.0, jitter=0.5)},
        {'name': 'two', 'invoke': 'work', 'within': 30},
        {'name': 'end', 'final': True},
        {'name': 'late', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [
        ['done', 'one', 'two', None, None, 'keep'],
        ['done', 'two', 'end', None, None, 'keep'],
        ['expired', 'two', 'late'],
        ['skip', 'one', 'two'],
        {'trigger': 'again', 'source': 'one', 'dest': 'one'},
    ]
    does: Callable[[Activity], Any]
    started: list[str]

    async def work(self, memory: Works, activity: Activity) -> Any:
        type(self).started.append(f'{activity.path}:{activity.attempt}')
        return await type(self).does(activity)

    def keep(self, memory: Works, event: Any) -> None:
        memory.results.append(str(event.data))


@pytest.fixture
def clock() -> SimulatedClock:
    return SimulatedClock()


@pytest.fixture
async def conductor(clock: SimulatedClock) -> AsyncIterator[Conductor]:
    async with LocalConductor(catalog=catalog(FakeModel(), Chain, Lone), clock=clock) as conductor:
        yield conductor


class Gates:
    """Lets each piece of work continue when the test says so."""

    def __init__(self) -> None:
        self.waiting: dict[str, asyncio.Future[Any]] = {}
        Chain.started = []
        Chain.does = self.wait  # type: ignore[method-assign,assignment]

    async def wait(self, activity: Activity) -> Any:
        self.waiting[activity.path] = asyncio.get_running_loop().create_future()
        return await self.waiting[activity.path]

    async def open(self, path: str, result: Any = None) -> None:
        await until(lambda: path in self.waiting)
        self.waiting.pop(path).set_result(result)


@pytest.fixture
def gates() -> Gates:
    return Gates()


async def events(conductor: Conductor, run: RunId) -> list[str]:
    return [f'{step.event.name}@{step.event.at}' for step in await conductor.transitions(run)]


async def test_a_pause_lets_current_work_end_and_starts_nothing_new(
    conductor: Conductor, gates: Gates
) -> None:
    run = (await conductor.start('chain')).id
    await conductor.pause(run)
    await gates.open('one')
    await until(lambda: conductor._live.runs[run].projection.active == ('two',))
    await settle()
    assert Chain.started == ['one:1'] and (await conductor.info(run)).status is Status.PAUSED
    with pytest.raises(EventRefused, match='already paused'):
        await conductor.pause(run)
    await conductor.resume(run)
    await gates.open('two')
    assert (await conductor.result(run)).status is Status.DONE
    assert await conductor.audit(run)


async def test_step_starts_one_piece_of_work_and_no_more(conductor: Conductor, gates: Gates) -> None:
    run = (await conductor.start('chain')).id
    await conductor.step(run)
    await gates.open('one')
    await until(lambda: conductor._live.runs[run].projection.active == ('two',))
    assert Chain.started == ['one:1']
    await conductor.step(run)
    await gates.open('two')
    assert (await conductor.result(run)).status is Status.DONE


class Slow(MemoryJournal):
    """Lets other tasks run while it writes."""

    async def append(self, info: Any, transitions: Any, snapshot: Any = None) -> int:
        await settle(20)
        return await super().append(info, transitions, snapshot)


class Bare(Chain):
    """Accepts no events, so without running work it is at a dead end."""

    transitions = [edge for edge in Chain.transitions if 'done' in edge]


async def test_work_that_ends_while_a_pause_is_journaled_is_not_a_dead_end(gates: Gates) -> None:
    Bare.started, Bare.does = [], Chain.does  # type: ignore[assignment]
    async with LocalConductor(Slow(), catalog=catalog(FakeModel(), Bare)) as conductor:
        run = (await conductor.start('bare')).id
        await until(lambda: 'one' in gates.waiting)
        live = conductor._live.runs[run]
        pausing = asyncio.ensure_future(conductor.pause(run))
        await until(lambda: live.projection.paused)
        await gates.open('one')
        await pausing
        await until(lambda: live.projection.active == ('two',) or live.projection.status.ended)
        assert live.projection.status is Status.PAUSED, live.projection.error


async def test_timeouts_stop_during_a_pause(
    conductor: Conductor, gates: Gates, clock: SimulatedClock
) -> None:
    run = (await conductor.start('chain')).id
    await gates.open('one')
    await until(lambda: 'two' in gates.waiting)
    await clock.advance(20)
    await conductor.pause(run)
    await clock.advance(1_000)
    await conductor.resume(run)
    await clock.advance(9)
    assert (await conductor.info(run)).status is Status.RUNNING
    await clock.advance(2)
    outcome = await conductor.result(run)
    assert (outcome.status, outcome.error) == (Status.FAILED, 'two did not end within 30 seconds')


async def test_an_expired_state_cancels_its_work(
    conductor: Conductor, gates: Gates, clock: SimulatedClock
) -> None:
    run = (await conductor.start('chain')).id
    await gates.open('one')
    await until(lambda: 'two' in gates.waiting)
    work = gates.waiting['two']
    await clock.advance(31)
    await conductor.result(run)
    assert work.cancelled()


async def test_retries_are_journaled_with_their_number_and_delay(
    conductor: Conductor, clock: SimulatedClock
) -> None:
    fails = [ModelError('busy', retryable=True), ModelError('busy', retryable=True, retry_after=7.0)]

    async def does(activity: Activity) -> None:
        if fails:
            raise fails.pop(0)

    Chain.started, Chain.does = [], does  # type: ignore[assignment]
    run = (await conductor.start('chain')).id
    await until(lambda: clock._sleepers)
    first = (await conductor.transitions(run))[-1].event
    assert 0.5 <= first.data['delay'] < 1.0 and first.attempt == 2
    await clock.advance(0.4)
    assert Chain.started == ['one:1']
    await clock.advance(0.6)
    await until(lambda: clock._sleepers)
    assert (await conductor.transitions(run))[-1].event.data['delay'] == 7.0
    await clock.advance(7)
    await conductor.result(run)
    assert Chain.started[:3] == ['one:1', 'one:2', 'one:3']


@pytest.mark.parametrize(
    ('error', 'attempts'),
    [
        (ModelError('no', retryable=False), 1),
        (ModelError('busy', retryable=True), 3),
        (OSError('net'), 3),
        (ValueError('bug'), 1),
        (MemoryError(), 1),
        (SystemExit(1), 1),
        (KeyboardInterrupt(), 1),
        (asyncio.CancelledError(), 1),
        (StopAsyncIteration(), 3),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_failed_run_affects_no_other(
    conductor: Conductor, clock: SimulatedClock, error: BaseException, attempts: int
) -> None:
    async def does(activity: Activity) -> None:
        if activity.run.seed == 1:
            raise error

    Chain.started, Chain.does = [], does  # type: ignore[assignment]
    bad, good = (await conductor.start('chain', seed=1)).id, (await conductor.start('chain')).id
    outcome = await conductor.result(good)
    assert outcome.status is Status.DONE
    for _ in range(attempts):
        await clock.advance(60)
    outcome = await conductor.result(bad)
    assert outcome.status is Status.FAILED and outcome.error
    assert len([name for name in Chain.started if name.startswith('one:')]) == attempts + 1


@pytest.mark.parametrize(
    'result', [object(), {'x': {1: object()}}, b'\xff'], ids=lambda value: type(value).__name__
)
async def test_a_result_that_is_not_json_fails_the_run(conductor: Conductor, result: Any) -> None:
    async def does(activity: Activity) -> Any:
        return result

    Chain.started, Chain.does = [], does  # type: ignore[assignment]
    outcome = await conductor.result((await conductor.start('chain')).id)
    assert outcome.status is Status.FAILED and ('erializ' in outcome.error or 'utf' in outcome.error)


async def test_cancel_stops_the_work_and_drops_its_result(conductor: Conductor) -> None:
    log: list[str] = []
    begun = asyncio.Event()

    async def does(activity: Activity) -> str:
        begun.set()
        try:
            await forever()
        except asyncio.CancelledError:
            await settle()
            log.append('cleaned up')
            activity.stream('too late', 'text')
        return 'a late result'

    Chain.started, Chain.does = [], does  # type: ignore[assignment]
    run = (await conductor.start('chain')).id
    await begun.wait()
    with conductor.feed.subscribe(run) as reader:
        await conductor.cancel(run, 'enough')
        assert not any(isinstance(item, Delta) for item in reader.drain())
    assert log == ['cleaned up']
    outcome = await conductor.result(run)
    assert (outcome.status, outcome.error) == (Status.CANCELLED, 'enough')
    assert await events(conductor, run) == ['start@', 'cancel@']
    assert conductor.feed._partial == {} and conductor.feed._readers == {} and conductor._live.runs == {}


async def test_work_that_ignores_cancellation_cannot_end_the_next_visit(conductor: Conductor) -> None:
    go_on = asyncio.Event()

    async def does(activity: Activity) -> str:
        if activity.path == 'one' and activity.since == 1:
            while not go_on.is_set():
                try:
                    await go_on.wait()
                except asyncio.CancelledError:
                    continue
            return 'from the first visit'
        await forever()
        return ''

    Chain.started, Chain.does = [], does  # type: ignore[assignment]
    run = (await conductor.start('chain')).id
    await until(lambda: Chain.started)
    await conductor.send(run, 'again')
    await until(lambda: len(Chain.started) == 2)
    go_on.set()
    await settle(20)
    live = conductor._live.runs[run]
    assert live.projection.active == ('one',) and live.world.runner.busy
    await conductor.cancel(run)
    assert live.world.runner._tasks == {}


async def test_a_dead_end_fails_and_says_where(conductor: Conductor) -> None:
    class Stuck(Pattern):
        initial = 'here'
        states = ['here', {'name': 'end', 'final': True}]
        transitions = [['always', 'here', 'end', 'never']]

        def never(self, memory: Any, event: Any) -> bool:
            return False

    conductor.catalog.add(Stuck)
    outcome = await conductor.result((await conductor.start('stuck')).id)
    assert (outcome.status, outcome.error) == (Status.FAILED, 'nothing leads out of here')


@pytest.mark.parametrize('error', [RuntimeError('oh'), SystemExit(3)], ids=repr)
async def test_a_failing_action_ends_its_run_and_is_named(conductor: Conductor, error: BaseException) -> None:
    class Bad(Chain):
        def keep(self, memory: Works, event: Any) -> None:
            memory.results.append('written')
            raise error

    async def does(activity: Activity) -> str:
        return 'x'

    Bad.started, Bad.does = [], does  # type: ignore[assignment]
    conductor.catalog.add(Bad)
    run = (await conductor.start('bad')).id
    outcome = await conductor.result(run)
    assert outcome.status is Status.FAILED and outcome.memory['results'] == []
    assert outcome.error.startswith("pattern 'bad', trigger 'done' in state 'one': action 'keep' raised")
    assert await conductor.audit(run) == 2


@pytest.mark.parametrize(
    'name', ['start', 'retry', 'recover', 'abort', 'always', 'done', 'expired', 'nonsense', '']
)
async def test_engine_events_cannot_be_sent(conductor: Conductor, gates: Gates, name: str) -> None:
    run = (await conductor.start('chain')).id
    with pytest.raises(EventRefused):
        await conductor.send(run, name, data={'message': 1})
    with pytest.raises(EventRefused, match='is not active'):
        await conductor.send(run, 'skip', at='two')
    assert (await conductor.info(run)).seq == 1


async def test_a_person_may_end_the_work_of_a_state(conductor: Conductor, gates: Gates) -> None:
    conductor.catalog.models['scripted']._reply = lambda request: asyncio.Event()  # type: ignore[attr-defined]
    run = (await conductor.start('lone')).id
    await conductor.send(run, 'failed', at='working.thinking', data={'error': 'stopped by hand'})
    outcome = await conductor.result(run)
    assert (outcome.status, outcome.error) == (Status.FAILED, 'stopped by hand')
    with pytest.raises(EventRefused, match='it is failed'):
        await conductor.pause(run)


async def test_streamed_text_is_not_journaled(conductor: Conductor) -> None:
    run = (await conductor.start('lone')).id
    items = [item async for item in conductor.watch(run)]
    assert ''.join(item.text for item in items if isinstance(item, Delta)) == 'ok '
    assert all(item.path == 'working' for item in items if isinstance(item, Delta))
    assert [item.seq for item in items if isinstance(item, Transition)] == [1, 2, 3]


async def test_time_never_runs_backwards_in_a_history(
    conductor: Conductor, gates: Gates, clock: SimulatedClock
) -> None:
    run = (await conductor.start('chain')).id
    clock._now -= 500
    await gates.open('one')
    await gates.open('two')
    await conductor.result(run)
    times = [step.time for step in await conductor.transitions(run)]
    assert times == sorted(times)


async def test_a_run_that_has_just_ended_is_not_reported_as_finishing_its_calls(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cleaned = asyncio.Event()

    async def clean_up_late(activity: Activity) -> None:
        try:
            await forever()
        finally:
            await cleaned.wait()

    Chain.does, Chain.started = clean_up_late, []
    conductor = LocalConductor(catalog=catalog(FakeModel(simulated=False), Chain))
    run = await conductor.start(Chain)
    await settle()
    cancelling = asyncio.create_task(conductor.cancel(run.id))
    await until(lambda: conductor._live.runs[run.id].info.status.ended)
    closing = asyncio.create_task(conductor.close(asyncio.get_running_loop().create_future()))
    await settle()
    cleaned.set()
    await asyncio.gather(cancelling, closing, return_exceptions=True)
    assert 'may finish their calls' not in caplog.text
