"""What a rehearsal says holds: of every shipped pattern, of recorded runs, and of random charts."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Catalog, Pattern
from engine.errors import PatternError
from engine.models.protocol import Model
from engine.operations.rehearsal import Figures, Means, play, rehearse
from engine.operations.rehearsal.cost import cost_of
from engine.operations.rehearsal.free_chart import MAX_ANSWERS, FreeChart, TooManyQuestions
from engine.operations.rehearsal.possibility import Possibility
from engine.operations.rehearsal.search import Search
from engine.records import Event, Usage
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


def test_no_recorded_run_costs_more_calls_than_its_worst_case() -> None:
    bounded = 0
    means = Means(models=CATALOG.registry, tools=CATALOG.tools)
    for path in JOURNALS:
        document = json.loads(path.read_text('utf-8'))
        pattern = CATALOG.pattern(document['pattern'])
        cost = rehearse(pattern(pattern.parse(document['parameters'])), seconds=0, means=means).cost
        calls, visits = 0, Counter[str]()
        for step in document['steps']:
            calls += step['event']['data'].get('usage', {}).get('calls', 0)
            visits.update(step.get('entered', ()))
        assert cost.most.calls is None or calls <= cost.most.calls, path.name
        assert (cost.most.calls is None) == (cost.unbounded_calls is not None), path.name
        for state in cost.states:
            assert state.visits is None or visits[state.path] <= state.visits, f'{state.path} of {path.name}'
        bounded += cost.most.calls is not None
    assert bounded > 10


@pytest.mark.parametrize(
    ('name', 'changes', 'most'),
    [
        ('pipeline', {}, 468),
        ('pipeline', {'max_iterations': 0}, 156),
        ('vote', {'max_ballots': 1}, 3 * 13 * 4 + 13 * 4),
        ('supervisor', {'max_tasks': 2}, (1 + 2 + 1) * 13 * 4),
    ],
)
def test_the_worst_case_follows_the_parameters(name: str, changes: dict[str, Any], most: int) -> None:
    assert rehearse(CATALOG.pattern(name).sample(changes), seconds=0).cost.most.calls == most


class Priced:
    """A model that charges a dollar for each token, and two for those written to its cache."""

    simulated, attempts, largest_call = False, 2, Usage(calls=1, input=100, output=10)

    def price(self, usage: Usage) -> float:
        return usage.input + usage.output + usage.written


def test_every_call_may_be_as_large_as_the_models_allow_and_each_fallback_may_be_tried() -> None:
    pipeline = CATALOG.pattern('pipeline').sample({'max_iterations': 0})

    def most(models: str) -> Figures:
        means = Means(
            chosen={'reviewer': models}, models={**CATALOG.registry, 'priced': cast(Model, Priced())}
        )
        return rehearse(pipeline, seconds=0, means=means).cost.most

    alone, fallen = most('priced'), most('priced, scripted')
    assert alone.calls == 2 * 13 * 4 + 13 * 2 and alone.dollars == 13 * 2 * 210
    assert fallen.calls == 2 * 13 * 4 + 13 * 4 * 2 and fallen.dollars == 13 * 4 * 2 * 210
    assert most('nobody').dollars is None, 'a model that is not known is not free'


class Endless(Pattern):
    """It works until it is good."""

    initial = 'working'
    states = (
        {'name': 'working', 'invoke': 'work', 'most_calls': 2},
        {'name': 'over', 'final': True},
    )
    transitions = (['done', 'working', 'over', 'is_good'], ['done', 'working', 'working'])

    def is_good(self, memory: Any, event: Event) -> bool:
        """It is good."""
        return False

    async def work(self, memory: Any, activity: Any) -> None:
        """Do it."""


def test_an_edge_that_nothing_bounds_is_named() -> None:
    cost = rehearse(Endless()).cost
    assert cost.most.calls is None and cost.least_calls == 0
    assert cost.unbounded_calls and cost.unbounded_calls.edge == 'done: working → working'


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


LEAVES = st.sampled_from([{}, {'invoke': 'work', 'most_calls': 1}, {'waits': 'go'}, {'within': 5}])


@settings(max_examples=100, deadline=None)
@given(charts(leaf=LEAVES), st.integers(0, 2**32))
def test_no_random_run_does_what_is_called_impossible(drawn: type[Traced], seed: int) -> None:
    pattern, dice = drawn(), random.Random(seed)
    chart = FreeChart(pattern)
    possible = Possibility(pattern, chart)
    edges = {(edge.trigger, edge.source, edge.dest) for edge in possible.edges}
    look = Search(chart, possible, seconds=0)
    cost = cost_of(pattern, chart, possible, Means())
    calls, extra = 0, {repeat.edge: repeat.calls for repeat in cost.repeats}
    most = math.inf if cost.most.calls is None else cost.most.calls
    active, event = (START,), Event(name='start')
    for _ in range(30):
        answers = tuple(dice.random() < 0.5 for _ in range(MAX_ANSWERS))
        try:
            microsteps = chart.play(active, event, answers)
        except (TooManyQuestions, PatternError):
            return
        for step in microsteps:
            calls += sum(chart.states[path].invokes for path in step.entered)
            for edge in step.edges:
                more = extra.get(f'{step.event.name}: {edge.source} → {edge.dest}', 0)
                most += math.inf if more is None else more
            assert calls <= most
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
