"""Time in time-bounded runs: they hang, lie, expire, are extended, and always end in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine import (
    Budget,
    Catalog,
    Conductor,
    EventRefused,
    InvalidInput,
    LocalConductor,
    SimulatedClock,
    Status,
)
from engine.errors import ModelError
from engine.history import report_of
from engine.models.protocol import ModelRequest
from engine.patterns.time_bounded.pattern import TimeBounded
from engine.records import Outcome
from engine.workspace import Workspace
from engine.workspace.sandbox.process import CommandResult
from tests.support.clocks import NOW, IdleClock
from tests.support.harness import FakeModel, until
from tests.support.teams.time_bounded import (
    BAD,
    QUICK,
    QuickSandbox,
    begin,
    good,
    leaf,
    make_conductor,
    play,
    reaches,
    team,
    verdict,
    write,
)

pytestmark = pytest.mark.slow


class Slow(FakeModel):
    """A model whose calls take seconds of the clock's time, computed from the request."""

    def __init__(self, reply: Any, clock: IdleClock, seconds: Callable[[ModelRequest], float]) -> None:
        super().__init__(reply)
        self._clock, self._seconds = clock, seconds

    async def stream(self, request: ModelRequest) -> Any:
        await self._clock.sleep(self._seconds(request))
        async for event in super().stream(request):
            yield event


def slow(
    seconds: float | Callable[[ModelRequest], float], reply: Any = good, **patience: float
) -> tuple[Conductor, IdleClock]:
    """A conductor whose model takes so long, and its clock."""
    clock = IdleClock(**patience)
    each = seconds if callable(seconds) else lambda request: seconds
    return make_conductor(reply, clock=clock, model=Slow(reply, clock, each)), clock


async def play_slowly(seconds: float | Callable[[ModelRequest], float], **parameters: Any) -> Outcome:
    conductor, _ = slow(seconds)
    async with conductor:
        return await conductor.result(await begin(conductor, **parameters))


async def test_time_is_divided_and_accounted_for() -> None:
    outcome = await play_slowly(5, minutes=10)
    clock = outcome.memory['clock']
    assert outcome.memory['status'] == 'completed'
    seconds_by_phase = {span['phase']: span['ended'] - span['started'] for span in clock['spans']}
    assert seconds_by_phase == {'planning': 10, 'executing': pytest.approx(50), 'verifying': 5}
    assert outcome.memory['time_limit'] == 600
    assert outcome.memory['agents']['planner']['metrics']['seconds'] == 5


async def test_expiry_stops_the_run_after_work_in_progress() -> None:
    conductor, _ = slow(lambda request: (0, 50, 100)[request.hints.visit] if leaf(request) == 'coding' else 1)
    async with conductor:
        run = await begin(conductor, minutes=5, grace=30, agent_seconds=999)
        outcome = await conductor.result(run)
        memory = outcome.memory
        assert (memory['status'], outcome.status) == ('time_expired', Status.FAILED)
        # The coder's last turn began before the time of 300 s was over and ended within the grace.
        assert 300 < memory['clock']['stopped'] < 330
        assert memory['agents']['coder']['metrics']['answers'] == 2
        steps = await conductor.transitions(run)
        assert [edge.dest for step in steps for edge in step.edges].count('shutting_down') == 1
        assert memory['reason'] == outcome.error == 'The time limit of 300 seconds was reached.'


async def test_work_beyond_the_grace_is_cut_off() -> None:
    outcome = await play_slowly(
        lambda request: 500 if leaf(request) == 'coding' and request.hints.visit == 2 else 1,
        minutes=2, grace=7, agent_seconds=3600,
    )  # fmt: skip
    assert outcome.memory['clock']['stopped'] == pytest.approx(127, abs=0.1)
    statuses = [step['status'] for step in outcome.memory['steps'].values()]
    assert statuses == ['completed', 'failed']


async def test_a_step_gets_its_share_and_saved_time() -> None:
    outcome = await play_slowly(
        lambda request: 500 if leaf(request) == 'coding' and request.hints.visit == 1 else 1,
        minutes=2, agent_seconds=3600, max_failed_steps=15, max_rounds=1,
    )  # fmt: skip
    steps = outcome.memory['steps']
    # Planning took 2 s, and 12 of 120 s are reserved for verification: each of two steps gets half of 106 s.
    assert 'its time of 53 seconds is up' in steps['1']['fail_reason']
    assert steps['2']['status'] == 'completed'


async def test_no_step_begins_with_almost_no_time() -> None:
    def blocked_once(request: ModelRequest) -> Any:
        if leaf(request) == 'coding' and request.hints.visit == 1:
            return {'summary': '', 'blocked': 'too large', 'asks_for_plan': True}
        return good(request)

    conductor, _ = slow(
        lambda request: (
            {'writing': 54.8, 'reviewing': 0.9}.get(leaf(request), 1) if request.hints.visit == 2 else 1
        ),
        blocked_once,
    )
    async with conductor:
        outcome = await conductor.result(await begin(conductor, minutes=1, agent_seconds=3600))
    begun = [entry['text'] for entry in outcome.memory['event_log'] if entry['kind'] == 'step']
    assert begun == ['Step 1 begins: Write double', 'Step 1 is blocked after 1 attempt: too large']
    assert outcome.memory['reason'] == 'The remaining 0.3 of 60 seconds are too few for another step.'


@pytest.mark.parametrize('grace', [0, 20])
async def test_a_run_whose_agents_all_hang_ends_in_time_with_a_report(grace: int) -> None:
    conductor, clock = slow(1e9)
    begun = clock.now()
    async with conductor:
        run = await begin(conductor, minutes=10, grace=grace, agent_seconds=30)
        outcome = await conductor.result(run)
    assert outcome.status is Status.FAILED
    assert clock.now() - begun <= 600 + grace + 0.5
    assert outcome.memory['report'] and outcome.memory['agents']['planner']['metrics']['degraded'] >= 1
    assert all(
        message['degraded'] for message in outcome.memory['messages'] if message['type'].endswith('RESPONSE')
    )


async def test_a_run_whose_agents_all_fail_tries_each_call_four_times_and_ends() -> None:
    model_error = ModelError('overloaded', retryable=True)
    model = FakeModel(lambda request: model_error)
    async with make_conductor(good, model=model) as conductor:
        run = await begin(conductor)
        outcome = await conductor.result(run)
        steps = await conductor.transitions(run)
    assert outcome.status is Status.FAILED
    retries = [
        step.event
        for step in steps
        if step.event.name == 'retry' and step.event.at.endswith('writing.thinking')
    ]
    assert [event.attempt for event in retries][:3] == [2, 3, 4]
    delays = [event.data['delay'] for event in retries[:3]]
    assert delays == sorted(delays) and delays[0] > 0
    assert any(
        entry['kind'] == 'degraded' and 'overloaded' in entry['text'] for entry in outcome.memory['event_log']
    )
    assert 'Fallbacks' in outcome.memory['report']


async def test_a_run_whose_agents_all_lie_does_not_pass() -> None:
    def lying(request: ModelRequest) -> Any:
        if leaf(request) == 'coding':
            return write(request, BAD)
        if leaf(request) == 'exploring':
            return {'passed': True, 'summary': 'All tests pass!', 'coverage': 100}
        return good(request)

    outcome, steps = await play(lying, max_failed_steps=15, max_rounds=1, max_fix_cycles=1)
    memory = outcome.memory
    assert memory['status'] == 'failed' and not memory['verified']
    assert all(step['status'] == 'failed' for step in memory['steps'].values())
    assert any('says otherwise' in entry['text'] for entry in memory['event_log'])
    goal = memory['verifications'][-1]
    assert goal['score'] == 90 and ['integration_tests_pass', False] in goal['conditions']
    guards = [guard for step in steps for guard in step.guards if guard.name == 'integration_tests_pass']
    assert [guard.value for guard in guards] == [False]


async def test_a_coder_without_the_claimed_tests_is_blocked() -> None:
    claim = {'summary': 'Done, with tests.', 'files': ['double.py'], 'tests': ['test_double.py']}
    outcome, steps = await play(team(coding=claim), max_rounds=1, max_attempts=2)
    assert outcome.memory['status'] in ('failed', 'aborted')
    guards = [guard for step in steps for guard in step.guards if guard.name == 'tests_are_included']
    assert guards and not any(guard.value for guard in guards)


async def test_time_can_be_added_while_it_runs() -> None:
    conductor, _clock = slow(20)
    async with conductor:
        run = await begin(conductor, minutes=3, grace=0, agent_seconds=500)
        await reaches(conductor, run, 'planning')
        with pytest.raises(InvalidInput, match='seconds'):
            await conductor.send(run, 'add_time', data={'seconds': -5})
        await conductor.send(run, 'add_time', data={'seconds': 3600})
        outcome = await conductor.result(run)
    assert outcome.memory['status'] == 'completed'
    assert outcome.memory['time_limit'] == 180 + 3600
    assert [grant['seconds'] for grant in outcome.memory['clock']['grants']] == [3600]


async def test_finish_now_lets_the_current_call_finish() -> None:
    conductor, _ = slow(lambda request: 100 if leaf(request) == 'coding' else 1)
    async with conductor:
        run = await begin(conductor, minutes=60, wait_for_time=600)
        await reaches(conductor, run, 'coding')
        await conductor.send(run, 'finish_now')
        outcome = await conductor.result(run)
        steps = await conductor.transitions(run)
        assert await conductor.audit(run) == len(steps)
    matching_step = next(step for step in steps if step.event.name == 'finish_now')
    assert matching_step.left == ()
    assert steps[matching_step.seq].event.name == 'done' and 'coding' in steps[matching_step.seq].event.at
    assert (outcome.status, outcome.done_with_issues) == (Status.DONE, True)
    assert outcome.error.startswith('A person finished the run early: 0 of 2 steps are complete')
    assert outcome.memory['steps']['1']['status'] == 'failed'
    assert not any(plan['status'] == 'in_progress' for plan in outcome.memory['plans'].values())
    assert outcome.error in outcome.memory['report'] and 'add time' not in outcome.memory['report'].lower()


@pytest.mark.parametrize(
    ('name', 'data'), [('add_time', {'seconds': 60}), ('take_seat', {'seat': 'planner'})]
)
async def test_actions_after_finish_now_do_not_cut_off_the_current_call(
    name: str, data: dict[str, Any]
) -> None:
    hold = asyncio.Event()

    def reply(request: ModelRequest) -> Any:
        should_hang = leaf(request) == 'coding' and request.hints.visit == 1 and not hold.is_set()
        return hold if should_hang else good(request)

    async with make_conductor(reply, clock=SimulatedClock()) as conductor:
        run = await begin(conductor, minutes=600, agent_seconds=3600)
        await reaches(conductor, run, 'coding')
        await conductor.send(run, 'finish_now')
        with pytest.raises(EventRefused, match='has_pending_steps is false'):
            await conductor.send(run, 'replan', data={'why': 'other steps'})
        await conductor.send(run, name, data=data)
        assert 'working.executing.step.coding.thinking' in (await conductor.view(run)).active
        hold.set()
        outcome = await conductor.result(run)
        assert await conductor.audit(run)
    # Added time revokes the request to finish.
    assert outcome.memory['verified'] is (name == 'add_time')


async def test_a_second_finish_now_stops_immediately() -> None:
    conductor, _ = slow(lambda request: 1e9 if leaf(request) == 'coding' else 1)
    async with conductor:
        run = await begin(conductor, minutes=600, agent_seconds=3600)
        await reaches(conductor, run, 'coding')
        await conductor.send(run, 'finish_now')
        await conductor.send(run, 'finish_now')
        outcome = await conductor.result(run)
    assert outcome.error.startswith('A person finished the run early')


async def test_verification_gets_all_remaining_time() -> None:
    outcome = await play_slowly(lambda request: 100 if leaf(request) == 'judging' else 1, minutes=5)
    memory = outcome.memory
    assert (memory['status'], outcome.error) == ('completed', '')
    assert memory['clock']['spans'][-1]['ended'] > 100


async def test_expired_verification_continues_with_more_time() -> None:
    waits = [400.0]

    def seconds(request: ModelRequest) -> float:
        return waits.pop() if waits and leaf(request) == 'judging' else 1

    conductor, _ = slow(seconds, longest=3600)
    async with conductor:
        run = await begin(conductor, minutes=5, grace=0, agent_seconds=3600, wait_for_time=7200)
        view = await reaches(conductor, run, 'stopped')
        assert view.memory['status'] == 'time_expired'
        assert view.error == view.memory['reason'] == 'The time limit of 300 seconds was reached.'
        await conductor.send(run, 'add_time', data={'seconds': 60})
        outcome = await conductor.result(run)
    assert (outcome.memory['status'], outcome.error) == ('completed', '')
    assert all(step['attempts'] == 1 for step in outcome.memory['steps'].values())


async def test_added_time_extends_the_step_and_the_call() -> None:
    conductor, _ = slow(lambda request: 200 if leaf(request) == 'coding' and request.hints.visit == 1 else 1)
    async with conductor:
        run = await begin(conductor, minutes=2, agent_seconds=3600, max_rounds=1)
        view = await reaches(conductor, run, 'coding')
        before = view.memory['clock']
        await conductor.send(run, 'add_time', data={'seconds': 1000})
        after = (await conductor.view(run)).memory['clock']
        outcome = await conductor.result(run)
    # 900 of 1,000 seconds are for two steps; the rest is reserved for verification.
    for name in ('step_budget', 'step_ends', 'call_ends'):
        assert after[name] - before[name] == pytest.approx(450)
    assert (outcome.memory['status'], outcome.error) == ('completed', '')


@pytest.mark.parametrize('seconds', [1, 20])
async def test_the_report_and_the_clock_agree_on_the_used_time(seconds: float) -> None:
    outcome = await play_slowly(seconds, minutes=10)
    clock = outcome.memory['clock']
    used = clock['limit'] - (clock['ends'] - clock['stopped'])
    assert f'{used:.0f} of 600 seconds' in outcome.memory['report']


async def test_a_run_without_time_for_another_round_says_so_and_uses_none_while_waiting() -> None:
    def miss_goal(request: ModelRequest) -> Any:
        if leaf(request) == 'judging' and request.hints.visit == 1:
            return verdict(20, goal_met=False, evidence='', issues=['be quick'])
        return good(request)

    conductor, clock = slow(lambda request: 116 if leaf(request) == 'judging' else 0, miss_goal, longest=3600)
    async with conductor:
        run = await begin(conductor, minutes=2, grace=0, wait_for_time=7200)
        view = await reaches(conductor, run, 'stopped')
        assert view.error == (
            'The goal is not reached: score 20 (minimum 80), not met: goal is met, goal score is enough; '
            'be quick. The remaining 4 of 120 seconds are too few for another round.'
        )
        used = '116 of 120 seconds, 1 round;'
        assert used in view.memory['report']
        await clock.sleep(600)
        await conductor.send(run, 'finish_now')
        outcome = await conductor.result(run)
        assert await conductor.audit(run)
    assert used in outcome.memory['report']
    assert outcome.error == (
        'A person finished the run when its time was up: 2 of 2 steps are complete, '
        'and the goal is not verified.'
    )


@pytest.mark.parametrize('where', ['stopped', 'coding'])
async def test_the_report_of_a_cancelled_run_asks_for_no_time_and_shows_nothing_in_progress(
    where: str,
) -> None:
    conductor, _ = slow(lambda request: 4e3 if leaf(request) == 'coding' else 1, longest=100)
    async with conductor:
        minutes = 1 if where == 'stopped' else 600
        run = await begin(conductor, minutes=minutes, agent_seconds=3600, wait_for_time=7200)
        await reaches(conductor, run, where)
        await conductor.cancel(run, 'enough')
        view = await conductor.view(run)
        report = report_of(conductor.catalog, await conductor.shape(run), view).text
    assert '**Cancelled.** The run was cancelled: enough.' in report
    assert 'Add time' not in report and 'in progress' not in report
    assert 'To continue, fork the run at the step before its end.' in report


async def test_the_report_has_no_constants_and_is_stated_at_every_step() -> None:
    conductor, _ = slow(lambda request: 1)
    async with conductor:
        run = await begin(conductor, minutes=10)
        await conductor.result(run)
        shape, end = await conductor.shape(run), await conductor.view(run)
        report = report_of(conductor.catalog, shape, end)
        assert report.final and report.text == end.memory['report']
        assert '| Verify response |' in report.text and 'VERIFY_RESPONSE' not in report.text
        early = report_of(conductor.catalog, shape, await conductor.view(run, 4))
        assert not early.final and 'No plan was adopted' in early.text and early.data is not None
        assert report_of(conductor.catalog, shape, await conductor.view(run, 0)).text == ''
        unknown = replace(shape, pattern='gone')
        assert report_of(conductor.catalog, unknown, end).text == end.memory['report']


async def test_a_run_that_cannot_wait_does_not_suggest_adding_time() -> None:
    outcome = await play_slowly(1e9, minutes=1, wait_for_time=0)
    assert outcome.memory['status'] == 'time_expired' and 'Add time' not in outcome.memory['report']
    assert outcome.error == outcome.memory['reason']
    assert not any(step['status'] == 'in_progress' for step in outcome.memory['steps'].values())


PLACES = ['writing', 'reviewing', 'coding', 'reviewing_code', 'exploring', 'reviewing_step', 'judging']


@pytest.mark.parametrize('where', PLACES)
async def test_an_expired_run_continues_where_it_was(where: str) -> None:
    clock, late = SimulatedClock(), 1e6
    hanging = [asyncio.Event()]

    def reply(request: ModelRequest) -> Any:
        return hanging.pop() if hanging and leaf(request) == where else good(request)

    async with make_conductor(reply, clock=clock) as conductor:
        run = await begin(conductor, minutes=5, grace=0, agent_seconds=3600, wait_for_time=1e5)
        await reaches(conductor, run, where)
        # As if the shares ended only after the total.
        names = ('phase_ends', 'step_ends', 'call_ends')
        edits = [{'op': 'replace', 'path': f'/memory/clock/{name}', 'value': late} for name in names]
        await conductor.send(run, 'edit', data={'changes': edits})
        await until(lambda: not hanging)
        await clock.advance(301)
        view = await reaches(conductor, run, 'stopped')
        assert (view.status, view.waiting) == (Status.WAITING, 'more time')
        memory = dict(view.memory)
        assert memory['status'] == 'time_expired' and 'Add time' in memory['report']
        statuses = {name: step['status'] for name, step in memory['steps'].items()}
        await clock.advance(500)  # The clock had stopped a second earlier.
        await conductor.send(run, 'add_time', data={'seconds': 3000})
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == len(await conductor.transitions(run))
    after = outcome.memory
    assert after['status'] == 'completed', after['reason']
    assert (after['iteration'], after['clock']['idle'], len(after['plans'])) == (1, 501, 1)
    assert set(statuses) <= set(after['steps']) and after['time_limit'] == 3300
    plans = [message for message in after['messages'] if message['type'] == 'PLAN_RESPONSE']
    assert len(plans) == 1, 'finished planning is not repeated'


async def test_an_expired_run_ends_if_nobody_adds_time() -> None:
    outcome = await play_slowly(1e9, minutes=1, wait_for_time=500, agent_seconds=3600)
    assert outcome.memory['status'] in ('time_expired', 'failed')


async def test_pauses_are_not_counted() -> None:
    conductor, clock = slow(lambda request: 20)
    async with conductor:
        run = await begin(conductor, minutes=10)
        await reaches(conductor, run, 'coding')
        await conductor.pause(run)
        await until(lambda: not conductor._live.runs[run].world.runner._tasks)
        clock._now += 10_000
        await conductor.resume(run)
        outcome = await conductor.result(run)
    assert outcome.memory['status'] == 'completed'
    assert sum(span['ended'] - span['started'] for span in outcome.memory['clock']['spans']) < 600


async def test_an_ended_expired_run_can_be_forked_with_more_time() -> None:
    conductor, _ = slow(lambda r: 3000 if (leaf(r), r.hints.visit) == ('coding', 2) else 1, longest=3600)
    async with conductor:
        run = await begin(conductor, minutes=2, grace=0, agent_seconds=3600, wait_for_time=7200)
        view = await reaches(conductor, run, 'stopped')
        await conductor.send(run, 'finish_now')
        finished = await conductor.result(run)
        assert finished.done_with_issues and 'A person finished the run' in finished.error
        fork = await conductor.fork(run, view.seq)
        assert (await conductor.view(fork)).waiting == 'more time'
        await conductor.send(fork, 'add_time', data={'seconds': 900})
        outcome = await conductor.result(fork)
    assert outcome.memory['status'] == 'completed', outcome.memory['reason']
    assert outcome.memory['steps']['1']['attempts'] == 1 and len(outcome.memory['plans']) == 1


async def test_a_spent_token_budget_ends_with_a_report() -> None:
    async with make_conductor(good) as conductor:
        run = (await conductor.start('time-bounded', QUICK, budget=Budget(tokens=60, grace=5))).id
        outcome = await conductor.result(run)
        steps = await conductor.transitions(run)
        assert await conductor.audit(run) == len(steps)
    assert 'exhausted' in [step.event.name for step in steps]
    assert (outcome.memory['status'], outcome.status) == ('failed', Status.FAILED)
    assert 'tokens' in outcome.memory['reason'] and outcome.memory['reason'] in outcome.memory['report']


def test_added_time_defaults_to_five_minutes_and_may_be_given_in_seconds() -> None:
    pattern = TimeBounded.sample()
    for fields, seconds in (({}, 300), ({'seconds': 20}, 20), ({'minutes': 1, 'seconds': 20}, 80)):
        assert pattern.validate_input('add_time', fields)['seconds'] == seconds
    for minutes, problem in ((0, 'how much time'), (-1, 'minutes')):
        with pytest.raises(InvalidInput, match=problem):
            pattern.validate_input('add_time', {'minutes': minutes})


class LongSuite(QuickSandbox):
    """A sandbox whose tests take the clock's time."""

    def __init__(self, clock: IdleClock, seconds: float) -> None:
        super().__init__()
        self._clock, self._seconds = clock, seconds

    async def run(self, command: Any, workspace: Workspace, *how: Any, **more: Any) -> CommandResult:
        allowed = how[0].limits.seconds
        await self._clock.sleep(min(self._seconds, allowed))
        if self._seconds > allowed:
            return CommandResult(code=137, output='', ended='time', seconds=allowed)
        return await super().run(command, workspace, *how, **more)


@pytest.mark.parametrize(
    ('takes', 'allowed', 'status'),
    [(400, 600, 'completed'), (1_500, 1_800, 'completed'), (400, 120, 'failed')],
)
async def test_a_test_suite_may_take_as_long_as_its_limit_allows(
    takes: float, allowed: float, status: str
) -> None:
    clock = IdleClock()
    catalog = Catalog.load()
    catalog.models['scripted'] = FakeModel(good)  # type: ignore[assignment]
    limits = {'minutes': 600, 'test_seconds': allowed, 'agent_seconds': 60, 'max_rounds': 1}
    async with LocalConductor(catalog=catalog, clock=clock, sandbox=LongSuite(clock, takes)) as conductor:
        run = await begin(conductor, **limits)
        outcome = await conductor.result(run)
    assert outcome.memory['status'] == status, outcome.error
    if status == 'completed':
        assert clock.now() - NOW > 2 * takes, 'both steps were tested'
