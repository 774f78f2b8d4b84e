"""The schedule under all conditions: shares of the total, no time overspent, and every run ends."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Status
from engine.models.protocol import ModelRequest
from engine.patterns.time_bounded.memory.schedule import PHASES, PhaseBudget, allocate, burn_down
from tests.support.clocks import IdleClock
from tests.support.teams.time_bounded import BAD, begin, good, leaf, make_conductor, verdict, write
from tests.unit.engine.patterns.test_time_bounded_time import Slow

pytestmark = pytest.mark.slow

times = st.floats(0, 1e6, allow_nan=False)


@given(times)
def test_shares_never_exceed_the_whole(budget: float) -> None:
    shares = allocate(budget)
    assert 0 <= shares.planning <= 900 and 0 <= shares.verifying <= 600
    assert sum(shares.of(phase) for phase in PHASES) <= budget * (1 + 1e-9)


@given(
    st.lists(
        st.tuples(st.sampled_from([*PHASES, 'round', 'add', 'step', 'call']), st.floats(0, 500)), max_size=40
    )
)
def test_no_deadline_is_ever_later_than_the_end(events: list[tuple[str, float]]) -> None:
    clock, ran = PhaseBudget(limit=600, ends=600), 0.0
    clock.begin_round(ran, 1)
    for name, seconds in events:
        if name == 'add':
            clock.add_time(seconds + 1, 0, ran)
        elif name == 'round':
            clock.begin_round(ran, clock.round + 1)
        elif name == 'step':
            clock.begin_step(ran, seconds)
            clock.begin_fix(ran)
        elif name == 'call':
            clock.begin_call(ran, seconds)
        else:
            clock.begin_phase(name, ran)
        ran += seconds
        assert max(clock.phase_ends, clock.step_ends, clock.fixes_end) <= clock.ends
        assert clock.seconds_left(ran) == clock.ends - ran
    clock.stop(ran)
    assert all(span.ended >= span.started for span in clock.spans)
    assert clock.limit == pytest.approx(600 + sum(grant.seconds for grant in clock.grants))


@given(st.floats(0, 600), st.integers(0, 5), st.integers(1, 5))
def test_a_forecast_is_never_below_the_used_time(ran: float, done: int, steps: int) -> None:
    clock = PhaseBudget(limit=600, ends=600)
    clock.begin_round(0, 1)
    clock.begin_phase('executing', 0)
    burns = burn_down(clock, ran, done=min(done, steps), steps=steps)
    assert [burn.phase for burn in burns] == list(PHASES)
    assert all(burn.forecast >= burn.used >= 0 for burn in burns)


def fickle(seed: int) -> Any:
    """Return the replies of a team whose random behavior depends only on the seed."""

    def reply(request: ModelRequest) -> Any:
        hints = request.hints
        chance = random.Random(f'{seed}:{hints.state}:{hints.visit}:{hints.turn}:{hints.attempt}')
        where = leaf(request)
        if chance.random() < 0.1:
            return 'something else altogether'
        if where == 'coding' and chance.random() < 0.3:
            return {'summary': '', 'blocked': 'no', 'asks_for_plan': chance.random() < 0.3}
        if where == 'coding' and chance.random() < 0.4:
            return write(request, BAD)
        answer = good(request)
        if isinstance(answer, dict) and 'score' in answer and chance.random() < 0.4:
            return {**answer, **verdict(chance.randint(0, 100), issues=['better'])}
        return answer

    return reply


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    minutes=st.sampled_from([0.1, 0.5, 2, 10]),
    grace=st.sampled_from([0, 3, 20]),
    longest=st.sampled_from([0.1, 5, 40, 1e6]),
)
async def test_a_run_ends_within_its_time_and_the_grace(
    seed: int, minutes: float, grace: int, longest: float
) -> None:
    clock = IdleClock()
    begun = clock.now()
    chance = random.Random(seed)
    model = Slow(fickle(seed), clock, lambda request: chance.uniform(0, longest))
    async with make_conductor(good, clock=clock, model=model) as conductor:
        run = await begin(conductor, minutes=minutes, grace=grace, max_rounds=3)
        outcome = await conductor.result(run)
        assert outcome.status in (Status.DONE, Status.FAILED)
        assert outcome.memory['status'] in ('completed', 'failed', 'aborted', 'time_expired')
        assert clock.now() - begun <= minutes * 60 + grace + 0.1
        assert outcome.memory['clock']['stopped'] <= minutes * 60 + grace + 0.1
        assert outcome.memory['report'].startswith('# ')
        assert await conductor.audit(run) == len(await conductor.transitions(run))
