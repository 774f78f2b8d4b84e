"""What a rehearsal says holds: of every shipped pattern, of recorded runs, and of random charts."""

from __future__ import annotations

import json
import random
from pathlib import Path

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
from tests.support.charts.random_charts import Traced, charts

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


def test_a_rehearsal_of_more_cases_than_there_is_time_for_says_what_it_left_open() -> None:
    class Tangled(Pattern, abstract=True):
        initial = 'a'

    pairs = [[f'g{number}', f'g{(number * 7 + 3) % 40}'] for number in range(34)]
    Tangled.states = ['a', 'b', 'c', {'name': 'over', 'final': True}]
    Tangled.transitions = [  # Not in the class: it is not validated, and has none of these guards.
        *(['go', 'a', 'b', pair] for pair in pairs),
        {'trigger': 'go', 'source': 'a', 'dest': 'over', 'conditions': 'g1', 'unless': 'g1'},
        ['stop', 'b', 'c'],
        ['stop', 'c', 'over'],
    ]

    rehearsal = rehearse(Tangled(), seconds=1)
    assert not rehearsal.complete and rehearsal.undecided[:2] == ('c', 'over')
    assert [bool(state.events) for state in rehearsal.states] == [True, True, False, False]


def test_states_that_are_only_passed_in_an_endless_circle_have_no_way() -> None:
    class Circling(Pattern):
        initial = 'a'
        states = ['a', 'b', {'name': 'over', 'final': True}]
        transitions = [['always', 'a', 'b'], ['always', 'b', 'a'], ['go', 'a', 'over']]

    assert not any(state.events for state in rehearse(Circling()).states)


LEAVES = st.sampled_from([{}, {'invoke': 'work'}, {'waits': 'go'}, {'within': 5}])


@settings(max_examples=100, deadline=None)
@given(charts(leaf=LEAVES), st.integers(0, 2**32))
def test_no_random_run_does_what_is_called_impossible(drawn: type[Traced], seed: int) -> None:
    pattern, dice = drawn(), random.Random(seed)
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


@settings(max_examples=25, deadline=None)
@given(charts(leaf=LEAVES))
def test_a_way_found_in_a_random_chart_plays(drawn: type[Traced]) -> None:
    pattern = drawn()
    for state in rehearse(pattern, seconds=0.1).states:
        if state.events:
            steps = play(pattern, state.events)
            assert state.path in {path for step in steps for path in step.entered}
            assert steps[-1].active == state.events[-1].active
