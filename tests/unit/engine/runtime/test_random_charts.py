"""Random charts: after every event, the active states, the running activities and the journal agree."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from engine import LocalConductor
from engine.host.clock import settle
from tests.support.charts.random_charts import TRIGGERS, Algorithm, Traced, charts
from tests.support.charts.scxml import Endless, Step

EVENTS = st.tuples(st.sampled_from(TRIGGERS), st.integers(0, 3))


@settings(max_examples=50, deadline=None)
@given(charts(leaf=st.just({'invoke': 'work'})), st.lists(EVENTS, min_size=3, max_size=10))
def test_a_run_journals_what_the_algorithm_says_and_what_is_active_runs(
    random: type[Traced], script: list[tuple[str, int]]
) -> None:
    async def play() -> None:
        algorithm = Algorithm(random())
        async with LocalConductor() as conductor:
            try:
                expected = algorithm.send('start')
                run = (await conductor.start(random)).id
                for trigger, number in script:
                    steps = algorithm.send(trigger, number=number)
                    expected += steps
                    if steps:
                        await conductor.send(run, trigger, data={'number': number})
            except Endless:
                return  # Such a run fails; `test_chart` has that.
            await settle()
            steps = await conductor.transitions(run)
            assert list(map(Step.of, steps)) == expected
            working = {path for path in steps[-1].active if algorithm.by_id[path].kind == 'atomic'}
            assert random.running == (working if algorithm.running else set())
            assert await conductor.audit(run) == len(steps)

    asyncio.run(play())
