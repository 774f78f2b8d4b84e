"""Cached decisions equal uncached ones, with random charts and guards."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Event, Memory, Pattern, PatternError
from engine.records import StatePath
from engine.statechart.chart import Chart, Microstep
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START

TRIGGERS = ('go', 'stop', 'done', 'failed', 'always')


class Bits(Memory):
    bits: int = 0
    trace: list[str] = []


def states_of(rng: random.Random, depth: int, prefix: str) -> list[dict[str, Any]]:
    states: list[dict[str, Any]] = []
    for number in range(rng.randint(2, 3)):
        state: dict[str, Any] = {'name': f'{prefix}{number}'}
        kind = (
            rng.choice(['atomic', 'compound', 'parallel', 'final'])
            if depth
            else rng.choice(['atomic', 'final'])
        )
        if kind == 'final' and number:
            state |= {'final': True, 'outcome': rng.choice(['done', 'failed'])}
        if kind in ('compound', 'parallel'):
            inner = states_of(rng, depth - 1, f'{prefix}{number}_')
            if kind == 'parallel':
                state['parallel'] = [
                    {key: item[key] for key in item if key not in ('final', 'outcome')} for item in inner
                ]
            else:
                state |= {'children': inner, 'initial': inner[0]['name']}
            state['transitions'] = edges_of(rng, [item['name'] for item in inner], inner)
        if rng.random() < 0.3:
            state['on_enter'] = 'note'
        if rng.random() < 0.3:
            state['on_exit'] = 'note'
        states.append(state)
    return states


def edges_of(rng: random.Random, names: list[str], states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sources = [item['name'] for item in states if not item.get('final')]
    edges = []
    for _ in range(rng.randint(1, 4)):
        edge: dict[str, Any] = {
            'trigger': rng.choice(TRIGGERS),
            'source': rng.choice(sources),
            'dest': rng.choice(names),
        }
        if edge['trigger'] == 'always':
            edge['conditions'] = ['bit3', 'bit0']
        for key in ('conditions', 'unless'):
            if rng.random() < 0.5:
                edge.setdefault(key, rng.sample(['bit0', 'bit1', 'bit2'], rng.randint(1, 2)))
        if rng.random() < 0.5:
            edge['after'] = 'turn'
        edges.append(edge)
    return edges


def make(seed: int) -> type[Pattern]:
    rng = random.Random(seed)
    states = [{'name': 'root', 'initial': 'x0', 'children': states_of(rng, 2, 'x')}]
    names = [item['name'] for item in states[0]['children']]  # type: ignore[attr-defined]
    states[0]['transitions'] = edges_of(rng, names, states[0]['children'])  # type: ignore[arg-type]

    class Random(Pattern):
        """Guards read bits of memory, which actions flip."""

        Memory = Bits
        initial = 'root'

        def bit0(self, memory: Bits, event: Event) -> bool:
            return bool(memory.bits & 1)

        def bit1(self, memory: Bits, event: Event) -> bool:
            return bool(memory.bits & 2)

        def bit2(self, memory: Bits, event: Event) -> bool:
            return bool(event.data['bits'] & 1)

        def bit3(self, memory: Bits, event: Event) -> bool:
            return bool(event.data['bits'] & 2)

        def turn(self, memory: Bits, event: Event) -> None:
            memory.bits = (memory.bits * 5 + 1) % 8

        def note(self, memory: Bits, event: Event) -> None:
            memory.trace.append(event.name)

    Random.states = states  # Not in the class: it is not validated, since states may lead nowhere.
    return Random


def decide(pattern: Pattern, events: list[Event], chart: Chart | None) -> list[Any]:
    """Return the results of the events; without a chart, the library alone decides each on a new one."""
    state = RunState(pattern, pattern.remember())
    active: tuple[StatePath, ...] = (START,)
    outcomes: list[Any] = []
    for event in [Event(name='start', data={'bits': 0}), *events]:
        moves: list[Microstep] = []
        try:
            moves = (chart or UncachedChart(pattern)).fire(active, state, event)
        except PatternError as error:
            state.log.drain()
            outcomes.append(str(error))
        active = moves[-1].active if moves else active
        outcomes.append((moves, state.dump()))
    return outcomes


class UncachedChart(Chart):
    def _fire(self, *args: Any, **options: Any) -> Microstep | None:
        self._decisions.clear()
        return super()._fire(*args, **options)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    script=st.lists(st.tuples(st.sampled_from(TRIGGERS[:4]), st.integers(0, 3)), min_size=1, max_size=12),
)
def test_a_cached_decision_equals_the_librarys(seed: int, script: list[tuple[str, int]]) -> None:
    pattern = make(seed)()
    chart = Chart(pattern)
    paths = [*chart.states]
    rng = random.Random(seed)
    events = [
        Event(
            name=name,
            at=StatePath(rng.choice(paths) if name in ('done', 'failed') else ''),
            data={'bits': bits},
        )
        for name, bits in script
    ]
    expected = decide(pattern, events, None)
    assert decide(pattern, events, chart) == expected
    assert decide(pattern, events, chart) == expected  # now from the cache
