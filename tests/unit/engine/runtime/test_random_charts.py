"""Random charts: after every event, the active states, the running activities and the journal agree."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Activity, LocalConductor, Pattern, Transition
from engine.host.clock import settle
from engine.records import StatePath
from engine.statechart.shape_builder import walk

TRIGGERS = ('a', 'b')


@st.composite
def charts(draw: st.DrawFn) -> type[Pattern]:
    """Nested and parallel states that all invoke work if they are atomic, and edges between any two."""
    numbers = count()

    def state(depth: int, kind: str = '') -> dict[str, Any]:
        name = f's{next(numbers)}'
        kind = kind or draw(st.sampled_from(('atomic', 'composite', 'parallel') if depth else ('atomic',)))
        if kind == 'atomic':
            return {'name': name, 'invoke': 'work'}
        children = [state(depth - 1) for _ in range(draw(st.integers(2, 3)))]
        if kind == 'parallel':
            return {'name': name, 'parallel': children}
        return {'name': name, 'initial': children[0]['name'], 'children': children}

    tree = [state(3, 'parallel'), state(1), {'name': 'end', 'final': True}]
    paths = [path for path, _, _ in walk(tree) if path != 'end']
    edge = st.tuples(st.sampled_from(TRIGGERS), st.sampled_from(paths), st.sampled_from(paths))
    edges = draw(st.lists(edge, min_size=4, max_size=10))

    class Random(Pattern):
        initial = tree[0]['name']
        states = tree
        transitions = [*map(list, edges), *(['done', path, 'end'] for path in paths)]

        async def work(self, memory: Any, activity: Activity) -> None:
            running.add(activity.path)
            try:
                await asyncio.Event().wait()
            finally:
                running.remove(activity.path)

    running: set[StatePath] = set()
    Random.running = running  # type: ignore[attr-defined]
    return Random


def ancestry(leaves: tuple[StatePath, ...]) -> set[str]:
    """The states with all states around them."""
    return {
        '.'.join(parts[:depth])
        for parts in (path.split('.') for path in leaves)
        for depth in range(1, len(parts) + 1)
    }


def assert_consistent(before: set[str], step: Transition) -> set[str]:
    after = ancestry(step.active)
    assert len({*step.left}) == len(step.left) and len({*step.entered}) == len(step.entered), step
    assert before >= {*step.left} and after >= {*step.entered}, step
    assert after == before - {*step.left} | {*step.entered}, step
    return after


@settings(max_examples=50)
@given(charts(), st.lists(st.sampled_from(TRIGGERS), min_size=1, max_size=6))
def test_what_is_active_runs_and_nothing_else_does(pattern: type[Pattern], triggers: list[str]) -> None:
    async def play() -> None:
        async with LocalConductor() as conductor:
            run = (await conductor.start(pattern)).id
            for trigger in triggers:
                if any(event.event == trigger for event in await conductor.accepts(run)):
                    await conductor.send(run, trigger)
            await settle()
            steps, active = await conductor.transitions(run), set[str]()
            for step in steps:
                active = assert_consistent(active, step)
            assert pattern.running == {path for path in steps[-1].active if path != 'end'}  # type: ignore[attr-defined]
            assert await conductor.audit(run) == len(steps)
            await conductor.cancel(run)

    asyncio.run(play())
