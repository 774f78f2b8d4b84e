"""What a rehearsal says holds: of every shipped pattern, of recorded runs, and of random charts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Catalog, Pattern
from engine.errors import PatternError
from engine.operations.rehearsal import play, rehearse
from engine.operations.rehearsal.free_chart import MAX_ANSWERS, FreeChart, TooManyQuestions
from engine.operations.rehearsal.possibility import Possibility
from engine.operations.rehearsal.search import Search
from engine.records import Event
from engine.statechart.shape_builder import START

CATALOG = Catalog.load()
JOURNALS = sorted((Path(__file__).parents[1] / 'golden' / 'journals').glob('*.json'))


@pytest.mark.parametrize('name', CATALOG.patterns)
def test_a_shipped_pattern_has_no_errors_and_each_state_a_way_that_plays(name: str) -> None:
    pattern = CATALOG.pattern(name).sample()
    rehearsal = rehearse(pattern, seconds=30)
    assert rehearsal.errors == () and rehearsal.undecided == () and rehearsal.complete
    for state in rehearsal.states:
        microsteps = play(pattern, state.events)
        assert state.path in {path for step in microsteps for path in step.entered}
        assert microsteps[-1].active == state.events[-1].active


def test_no_recorded_run_takes_an_edge_that_is_called_impossible() -> None:
    taken = 0
    for path in JOURNALS:
        document = json.loads(path.read_text('utf-8'))
        pattern = CATALOG.pattern(document['pattern'])
        rehearsal = rehearse(pattern(pattern.parse(document['parameters'])))
        possible = {(edge.trigger, edge.source, edge.dest) for edge in rehearsal.edges if edge.possible}
        for step in document['steps']:
            edges = {(step['event']['name'], edge['source'], edge['dest']) for edge in step.get('edges', ())}
            assert edges <= possible, f'step {step["seq"]} of {path.name}'
            taken += len(edges)
    assert taken > 500


GUARDS = ('g0', 'g1', 'g2')


class Guarded(Pattern, abstract=True):
    """A pattern with three guards; rehearsals never call them."""

    def g0(self, memory: Any, event: Any) -> bool:
        """It is so."""
        raise AssertionError

    g1 = g2 = g0

    async def work(self, memory: Any, activity: Any) -> None:
        """Do it."""


@st.composite
def charts(draw: st.DrawFn) -> type[Pattern] | None:
    """Draw a pattern with nested and parallel states and random edges; None if it is refused."""
    leaf = st.sampled_from([{}, {'invoke': 'work'}, {'waits': 'go'}, {'within': 5}])
    count = draw(st.integers(2, 4))
    states: list[dict[str, Any]] = []
    for number in range(count):
        kind = draw(st.sampled_from(['leaf', 'leaf', 'compound', 'parallel']))
        state: dict[str, Any] = {'name': f's{number}'}
        inside = [{'name': 'a', **draw(leaf)}, {'name': 'b', **draw(leaf)}, {'name': 'end', 'final': True}]
        within = [
            [draw(st.sampled_from(['done', 'go', 'always', 'failed'])), source, dest, draw(guards())]
            for source, dest in (('a', 'b'), ('b', 'end'), ('a', 'end'))
            if draw(st.booleans())
        ]
        if kind == 'compound':
            state |= {'initial': 'a', 'children': inside, 'transitions': within}
        elif kind == 'parallel':
            region = {'initial': 'a', 'children': inside, 'transitions': within}
            state['parallel'] = [{'name': name, **region} for name in ('left', 'right')]
        else:
            state |= draw(leaf)
        states.append(state)
    names = [state['name'] for state in states]
    edges = [
        [
            draw(st.sampled_from(['done', 'go', 'stop', 'failed', 'expired', 'always'])),
            draw(st.sampled_from([*names, '*'])),
            draw(st.sampled_from([*names, 'over'])),
            draw(guards()),
        ]
        for _ in range(draw(st.integers(2, 6)))
    ]
    try:
        return type(
            'Random',
            (Guarded,),
            {'initial': 's0', 'states': [*states, {'name': 'over', 'final': True}], 'transitions': edges},
        )
    except PatternError:
        return None


def guards() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(GUARDS), max_size=2, unique=True)


@settings(max_examples=150, deadline=None)
@given(charts(), st.integers(0, 2**32))
def test_no_random_run_does_what_is_called_impossible(made: type[Pattern] | None, seed: int) -> None:
    if made is None:
        return
    pattern, dice = made(), random.Random(seed)
    chart = FreeChart(pattern)
    possible = Possibility(pattern, chart)
    edges = {(edge.trigger, edge.source, edge.dest) for edge in possible.edges}
    look = Search(chart, possible, seconds=0)
    active, event = (START,), Event(name='start')
    for _ in range(30):
        answers = tuple(dice.random() < 0.5 for _ in range(MAX_ANSWERS))
        try:
            microsteps = chart.play(active, event, answers)
        except (TooManyQuestions, PatternError):
            return
        for step in microsteps:
            assert set(step.entered) <= possible.states
            assert {(str(step.event.name), edge.source, edge.dest) for edge in step.edges} <= edges
        active = microsteps[-1].active if microsteps else active
        if any(chart.states[leaf].kind == 'final' and '.' not in leaf for leaf in active):
            return  # the run has ended
        ways = [event for leaf in active for event in look.events_of(leaf)]
        if not ways:
            return
        event = dice.choice(ways)
