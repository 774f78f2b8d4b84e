"""The chart follows the algorithm of the SCXML recommendation: cases by its sections, and random charts."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Event, Pattern, PatternError
from engine.records import StatePath
from engine.records.events import ENDINGS
from engine.statechart.chart import Chart
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START
from tests.support.charts.random_charts import TRIGGERS, Algorithm, Trace, Traced, charts, note
from tests.support.charts.scxml import Endless, Interpreter, Step

LEAF = ['x', 'y', {'name': 'end', 'final': True}]


def box(name: str, *edges: Any, children: list[Any] = LEAF, **more: Any) -> dict[str, Any]:
    first = children[0] if isinstance(children[0], str) else children[0]['name']
    return {'name': name, 'initial': first, 'children': children, 'transitions': edges, **more}


def both(*regions: Any) -> dict[str, Any]:
    return {'name': 'both', 'parallel': regions or [box('l'), box('r')]}


def back(history: str, dest: str = 'p', source: str = 'q') -> dict[str, Any]:
    return {'trigger': 'back', 'source': source, 'dest': dest, 'history': history}


OVER = {'name': 'over', 'final': True}
FAILED_BOX = box('l', children=['x', {'name': 'end', 'final': True, 'outcome': 'failed'}])
DEEP = box('p', children=[box('a'), 'b', {'name': 'end', 'final': True}])
NESTED = {
    'name': 'both',
    'parallel': [
        {'name': 'l', 'parallel': [box('m', ['a', 'x', 'end']), box('n', ['a', 'x', 'end'])]},
        box('r'),
    ],
}

CASES: dict[str, tuple[list[Any], list[Any], dict[str, list[str]]]] = {
    '3.3 a compound state is entered with its initial state': (
        ['q', DEEP],
        [['a', 'q', 'p']],
        {'a': ['a -q +p +p.a +p.a.x']},
    ),
    '3.3 a target is entered with the states around it, the outermost first': (
        ['q', DEEP],
        [['a', 'q', 'p.a.y']],
        {'a': ['a -q +p +p.a +p.a.y']},
    ),
    '3.4 regions are entered in document order, each as a whole': (
        ['q', both()],
        [['a', 'q', 'both']],
        {'a': ['a -q +both +both.l +both.l.x +both.r +both.r.x']},
    ),
    '3.4 a target in one region enters the others, too': (
        ['q', both()],
        [['a', 'q', 'both.r.y']],
        {'a': ['a -q +both +both.l +both.l.x +both.r +both.r.y']},
    ),
    '3.7 a final state ends the compound state around it': (
        [box('p', ['a', 'x', 'end']), 'q'],
        [['done', 'p', 'q']],
        {'a': ['a -p.x +p.end', 'done@p -p.end -p +q']},
    ),
    '3.7 done is for that compound state only': (
        [box('p', children=[box('c', ['a', 'x', 'end'])]), 'q'],
        [['done', 'p', 'q'], ['done', 'p.c', None]],
        {'a': ['a -p.c.x +p.c.end', 'done@p.c']},
    ),
    '3.7 a final state may say that it failed, which the states around hear, too': (
        [box('p', children=[box('c', ['a', 'x', 'end'], children=FAILED_BOX['children'])]), 'q'],
        [['failed', 'p', 'q']],
        {'a': ['a -p.c.x +p.c.end', 'failed@p.c -p.c.end -p.c -p +q']},
    ),
    '3.7 a parallel state is done when each of its regions is': (
        [both(), 'q'],
        [['a', 'both.l.x', 'both.l.end'], ['b', 'both.r.x', 'both.r.end'], ['done', 'both', 'q']],
        {
            'a': ['a -both.l.x +both.l.end'],
            'b': ['b -both.r.x +both.r.end', 'done@both -both.r.end -both.r -both.l.end -both.l -both +q'],
        },
    ),
    '3.7 regions end one after the other, and then the parallel state': (
        [both(), 'q'],
        [['a', 'both.l.x', 'both.l.end'], ['a', 'both.r.x', 'both.r.end']]
        + [['done', path, None] for path in ('both.l', 'both.r', 'both')],
        {
            'a': [
                'a -both.r.x -both.l.x +both.l.end +both.r.end',
                'done@both.l',
                'done@both.r',
                'done@both',
            ]
        },
    ),
    '3.7 a parallel state in a parallel state ends like any region': (
        [NESTED, 'q'],
        [['b', 'both.r.x', 'both.r.end'], ['done', 'both', 'q'], ['done', 'both.l', None]],
        {
            'b': ['b -both.r.x +both.r.end'],
            'a': [
                'a -both.l.n.x -both.l.m.x +both.l.m.end +both.l.n.end',
                'done@both.l',
                'done@both -both.r.end -both.r -both.l.n.end -both.l.n -both.l.m.end -both.l.m -both.l -both'
                ' +q',
            ],
        },
    ),
    '3.7 after a final state outside of all others, nothing happens': (
        ['q'],
        [['a', 'q', 'over'], ['b', '*', 'q']],
        {'a': ['a -q +over'], 'b': []},
    ),
    '3.10 shallow history enters the child that was left last, and in it the initial state': (
        [DEEP, 'q'],
        [['b', 'p.a.x', 'p.a.y'], ['a', 'p', 'q'], back('shallow')],
        {'b': ['b -p.a.x +p.a.y'], 'a': ['a -p.a.y -p.a -p +q'], 'back': ['back -q +p +p.a +p.a.x']},
    ),
    '3.10 deep history enters the states that were left last': (
        [DEEP, 'q'],
        [['b', 'p.a.x', 'p.a.y'], ['a', 'p', 'q'], back('deep')],
        {'b': ['b -p.a.x +p.a.y'], 'a': ['a -p.a.y -p.a -p +q'], 'back': ['back -q +p +p.a +p.a.y']},
    ),
    '3.10 an edge leads back into what its own step has left': (
        [box('o', children=[box('p', ['a', 'x', 'y']), 'z'])],
        [back('deep', 'o.p', 'o')],
        {'a': ['a -o.p.x +o.p.y'], 'back': ['back -o.p.y -o.p +o.p +o.p.y']},
    ),
    '3.10 deep history enters each region where it was': (
        [both(), 'q'],
        [['b', 'both.r.x', 'both.r.y'], ['a', 'both', 'q'], back('deep', 'both')],
        {
            'b': ['b -both.r.x +both.r.y'],
            'a': ['a -both.r.y -both.r -both.l.x -both.l -both +q'],
            'back': ['back -q +both +both.l +both.l.x +both.r +both.r.y'],
        },
    ),
    '3.10 the default of history is the initial state': (
        ['q', DEEP],
        [back('deep')],
        {'back': ['back -q +p +p.a +p.a.x']},
    ),
    '3.10 history from inside does not leave the state': (
        [DEEP, 'q'],
        [['b', 'p', 'p.b'], ['a', 'p', 'q'], ['a', 'q', 'p'], back('shallow', source='p.a')],
        {
            'b': ['b -p.a.x -p.a +p.b'],
            'a': ['a -p.b -p +q'],
            'a@q': ['a@q -q +p +p.a +p.a.x'],
            'back': ['back -p.a.x -p.a +p.b'],
        },
    ),
    '3.12 consequences come before the next event, in the order in which they arose': (
        [both(box('l', ['a', 'x', 'end']), box('r', ['a', 'x', 'end'])), 'q'],
        [['done', 'both.r', None], ['done', 'both.l', None], ['b', 'both', 'q']],
        {
            'a': ['a -both.r.x -both.l.x +both.l.end +both.r.end', 'done@both.l', 'done@both.r'],
            'b': ['b -both.r.end -both.r -both.l.end -both.l -both +q'],
        },
    ),
    '3.13 an inner edge is taken before an outer one': (
        [box('p', ['a', 'x', 'y']), 'q'],
        [['a', 'p', 'q']],
        {'a': ['a -p.x +p.y']},
    ),
    '3.13 an outer edge is taken if the guard of the inner one does not hold': (
        [box('p', ['a', 'x', 'y', 'no']), 'q'],
        [['a', 'p', 'q']],
        {'a': ['a -p.x -p +q']},
    ),
    '3.13 of the edges of a state, the first in document order is taken whose guards hold': (
        ['p', 'q', 'r'],
        [['a', 'p', 'q', 'yes', 'yes'], ['a', 'p', 'r', ['yes'], 'no'], ['a', 'p', 'q']],
        {'a': ['a -p +r']},
    ),
    '3.13 an event moves each region': (
        [both(box('l', ['a', 'x', 'y']), box('r', ['a', 'x', 'y']))],
        [],
        {'a': ['a -both.r.x -both.l.x +both.l.y +both.r.y']},
    ),
    '3.13 an edge that two regions share is taken once': (
        [both(), 'q'],
        [['a', 'both', 'q']],
        {'a': ['a -both.r.x -both.r -both.l.x -both.l -both +q']},
    ),
    '3.13 of edges that leave the same state, that of the first region is taken': (
        [both(box('l', ['a', 'x', 'y']), box('r')), 'q'],
        [['a', 'both.r.x', 'q']],
        {'a': ['a -both.l.x +both.l.y']},
    ),
    '3.13 the edge of an inner state preempts that of an outer one, even if its region comes later': (
        [both(box('l'), box('r', ['a', 'x', 'y'])), 'q'],
        [['a', 'both', 'q']],
        {'a': ['a -both.r.x +both.r.y']},
    ),
    '3.13 an edge without a target leaves nothing, and excludes none': (
        [both(box('l', ['a', 'x', None]), box('r', ['a', 'x', 'y']))],
        [],
        {'a': ['a -both.r.x +both.r.y']},
    ),
    '3.13 an edge of a compound state to a state inside does not leave it': (
        [DEEP],
        [['a', 'p', 'p.b']],
        {'a': ['a -p.a.x -p.a +p.b']},
    ),
    '3.13 an edge of a state to itself leaves it': (
        [DEEP],
        [['a', 'p', '=']],
        {'a': ['a -p.a.x -p.a -p +p +p.a +p.a.x']},
    ),
    '3.13 an edge of any state is one of each state beside it but the final ones': (
        [box('p', ['a', '*', 'y'], ['b', 'y', 'end']), 'q'],
        [['a', '*', 'q']],
        {'a': ['a -p.x +p.y'], 'b': ['b -p.y +p.end'], 'a@p.end': ['a@p.end -p.end -p +q']},
    ),
    '3.13 an edge of any state to itself leaves it with what is inside': (
        [DEEP, 'q'],
        [['a', '*', '=']],
        {'a': ['a -p.a.x -p.a -p +p +p.a +p.a.x']},
    ),
    '3.13 an edge of an inner state to itself leaves that state only': (
        [box('p', ['a', '*', '='])],
        [],
        {'a': ['a -p.x +p.x']},
    ),
    '3.13 an edge to the state around its source leaves that state': (
        [DEEP],
        [['a', 'p.a', 'p']],
        {'a': ['a -p.a.x -p.a -p +p +p.a +p.a.x']},
    ),
    '3.13 an edge between regions leaves their parallel state': (
        [both()],
        [['a', 'both.l.x', 'both.r.y']],
        {'a': ['a -both.r.x -both.r -both.l.x -both.l -both +both +both.l +both.l.x +both.r +both.r.y']},
    ),
    '3.13 an edge of a parallel state to a state inside leaves it': (
        [both()],
        [['a', 'both', 'both.r.y']],
        {'a': ['a -both.r.x -both.r -both.l.x -both.l -both +both +both.l +both.l.x +both.r +both.r.y']},
    ),
    '3.13 edges without an event are taken before a consequence, the inner one first': (
        [box('p', ['a', 'x', 'end'], ['always', 'end', 'y', 'no']), 'q', 'r'],
        [['always', 'q', 'r'], ['done', 'p', 'q'], ['b', 'r', 'p']],
        {'a': ['a -p.x +p.end', 'done@p -p.end -p +q', 'always@q -q +r'], 'b': ['b -r +p +p.x']},
    ),
    '3.13 regions take their edges without an event in turn': (
        [both(*(box(name, ['a', 'x', 'y'], ['always', 'y', 'end']) for name in 'lr'))],
        [['done', 'both', None]],
        {
            'a': [
                'a -both.r.x -both.l.x +both.l.y +both.r.y',
                'always@both.l.y -both.l.y +both.l.end',
                'always@both.r.y -both.r.y +both.r.end',
                'done@both',
            ]
        },
    ),
    '6.2 the end of a time limit reaches the state, and those around it': (
        [both(), 'q'],
        [['expired', 'both.r', 'q'], ['expired', 'both.l.x', 'both.l.y']],
        {
            'expired@both.l': [],
            'expired@both.l.x': ['expired@both.l.x -both.l.x +both.l.y'],
            'expired@both.l.y': [],
            'expired@both.r.x': ['expired@both.r.x -both.r.x -both.r -both.l.y -both.l -both +q'],
        },
    ),
    '6.4 the end of work reaches the state that invoked it only': (
        [box('p', ['done', 'x', 'y', 'yes']), 'q'],
        [['done', 'p', 'q']],
        {'done@p.y': [], 'done@p.x': ['done@p.x -p.x +p.y'], 'failed@p.y': []},
    ),
}  # fmt: skip


class Case(Pattern, abstract=True):
    """A chart with two guards."""

    Memory = Trace

    def yes(self, memory: Trace, event: Event) -> bool:
        return True

    def no(self, memory: Trace, event: Event) -> bool:
        return False


def pattern_of(states: list[Any], transitions: list[Any]) -> Pattern:
    """Return a pattern that is not validated, since its states may lead nowhere."""

    class Chart(Case, abstract=True):
        initial = states[0] if isinstance(states[0], str) else states[0]['name']

    Chart.states, Chart.transitions = [*states, OVER], transitions
    return Chart()


class Played:
    """A chart with its current active states; the second time, its decisions are cached."""

    def __init__(self, pattern: Pattern, chart: Chart | None = None) -> None:
        self.chart = chart or Chart(pattern)
        self.state = RunState(pattern, Trace())
        self.active: tuple[StatePath, ...] = (START,)

    def send(self, name: str, at: str = '', **data: Any) -> list[Step]:
        moves = self.chart.fire(self.active, self.state, Event(name=name, at=StatePath(at), data=data))
        self.active = moves[-1].active if moves else self.active
        return list(map(Step.of, moves))

    @property
    def ran(self) -> list[str]:
        return self.state.memory.trace  # type: ignore[attr-defined, no-any-return]


def line_of(step: Step) -> str:
    event = f'{step.event}@{step.at}' if step.at else step.event
    return ' '.join([event, *(f'-{path}' for path in step.left), *(f'+{path}' for path in step.entered)])


@pytest.mark.parametrize('section', CASES)
def test_the_chart_and_the_algorithm_take_the_steps_of_each_section(section: str) -> None:
    states, transitions, expected = CASES[section]
    pattern = pattern_of(states, transitions)
    for machine in (Played(pattern), Interpreter(pattern, guard=lambda name: name == 'yes')):
        machine.send('start')
        assert {
            event: list(map(line_of, machine.send(*event.split('@')))) for event in expected
        } == expected, type(machine).__name__


def test_appendix_d_content_runs_before_the_exits_and_after_the_entries() -> None:
    def content(*keys: str, of: str) -> dict[str, Any]:
        return {key: partial(note, f'{key} {of}') for key in keys}

    inside = [{'name': 'x', **content('on_enter', 'on_exit', of='x')}, 'y', {'name': 'end', 'final': True}]
    edge = {'trigger': 'a', 'source': 'p.x', 'dest': 'q', **content('before', 'after', of='edge')}
    pattern = pattern_of(
        [
            box('p', children=inside, **content('on_enter', 'on_exit', of='p')),
            {'name': 'q', **content('on_enter', of='q')},
        ],
        [edge],
    )
    played = Played(pattern)
    played.send('start')
    played.send('a')
    assert played.ran == [
        'on_enter p', 'on_enter x', 'before edge', 'on_exit x', 'on_exit p', 'on_enter q', 'after edge'
    ]  # fmt: skip


EVENTS = st.tuples(st.sampled_from((*TRIGGERS, *ENDINGS)), st.integers(0, 20), st.integers(0, 3))
"""A name, the number of the state that an ending is addressed to, and a number in the event."""


@settings(max_examples=100, deadline=None)
@given(charts(), st.lists(EVENTS, min_size=5, max_size=15))
def test_appendix_d_any_chart_does_what_the_algorithm_says(
    random: type[Traced], script: list[tuple[str, int, int]]
) -> None:
    pattern = random()
    chart = Chart(pattern)
    paths = list(chart.states)
    for events in (script, script, script[::-1]):  # From the second time on, some decisions are cached.
        played, algorithm = Played(pattern, chart), Algorithm(pattern)
        for name, place, number in [('start', 0, 0), *events]:
            at = paths[place % len(paths)] if name in ENDINGS else ''
            try:
                expected = algorithm.send(name, at, number=number)
            except Endless:
                with pytest.raises(PatternError, match='transitions without an event'):
                    played.send(name, at, number=number)
                break
            assert played.send(name, at, number=number) == expected
            assert played.ran == algorithm.ran
