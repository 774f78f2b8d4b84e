"""The chart: parallel regions, completion, addresses, edges without an event."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from engine import Event, Memory, Pattern, PatternError
from engine.records import StatePath
from engine.statechart.chart import Chart, Microstep
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START


def region(name: str, *, outcome: str = 'done') -> dict[str, Any]:
    return {
        'name': name,
        'initial': 'on',
        'children': ['on', {'name': 'off', 'final': True, 'outcome': outcome}],
        'transitions': [['end', 'on', 'off'], [f'end_{name}', 'on', 'off']],
    }


class Bench:
    """A chart with its current active states."""

    def __init__(self, pattern: type[Pattern]) -> None:
        self.pattern = pattern()
        self.chart = Chart(self.pattern)
        self.state = RunState(self.pattern, self.pattern.remember())
        self.active: tuple[StatePath, ...] = (START,)
        self.fire('start')

    def fire(self, name: str, at: str = '', **data: Any) -> list[Microstep]:
        moves = self.chart.fire(self.active, self.state, Event(name=name, at=StatePath(at), data=data))
        self.active = moves[-1].active if moves else self.active
        return moves


class Two(Pattern):
    initial = 'both'
    states = [
        {'name': 'both', 'parallel': [region('a'), region('b', outcome='failed')]},
        {'name': 'end', 'final': True},
        {'name': 'out', 'final': True},
    ]
    transitions = [['done', 'both', 'end'], ['leave', 'both.a', 'out'], ['leave', 'both.b', 'out']]


def test_a_composite_is_done_when_all_its_regions_are() -> None:
    bench = Bench(Two)
    assert [move.event.name for move in bench.fire('end_a')] == ['end_a']
    assert bench.active == ('both.a.off', 'both.b.on')
    moves = bench.fire('end_b')
    assert [(move.event.name, move.event.at, move.raised) for move in moves] == [
        ('end_b', '', False),
        ('done', 'both', True),
    ]
    assert bench.active == ('end',)


def test_a_broadcast_event_moves_every_accepting_region() -> None:
    bench = Bench(Two)
    first, *_ = bench.fire('end')
    assert first.entered == ('both.a.off', 'both.b.off') and bench.active == ('end',)


def test_the_first_region_to_leave_exits_the_others_once() -> None:
    bench = Bench(Two)
    (move,) = bench.fire('leave')
    assert move.active == ('out',) and len(move.edges) == 1
    assert sorted(move.left) == ['both', 'both.a', 'both.a.on', 'both.b', 'both.b.on']


def test_of_two_regions_that_leave_the_same_states_the_first_moves() -> None:
    class Conflict(Two):
        transitions = [
            *Two.transitions,
            ['leave_b', 'both.a.on', 'both.a.off'],
            ['leave_b', 'both.b', 'out'],
            ['restart', 'both.a.on', 'both'],
            ['restart', 'both.b.on', 'both.b.off'],
        ]

    bench = Bench(Conflict)
    (move,) = bench.fire('leave_b')
    assert move.entered == ('both.a.off',) and move.active == ('both.a.off', 'both.b.on')
    (move,) = Bench(Conflict).fire('restart')
    assert move.active == ('both.a.on', 'both.b.on') and len(move.edges) == 1


def test_a_failed_region_without_an_edge_lets_the_others_continue() -> None:
    bench = Bench(Two)
    assert len(bench.fire('end_b')) == 1
    assert bench.active == ('both.a.on', 'both.b.off')


def test_an_edge_for_a_failed_region_gets_the_reason() -> None:
    class Caring(Two):
        transitions = [*Two.transitions, ['failed', 'both', 'out']]

    moves = Bench(Caring).fire('end_b', error='no luck')
    assert moves[-1].event == Event(name='failed', at=StatePath('both.b'), data={'error': 'no luck'})
    assert moves[-1].active == ('out',)


def test_eventless_edges_fire_when_the_last_region_has_ended() -> None:
    class Long(Pattern):
        initial = 'both'
        states = [
            {
                'name': 'both',
                'parallel': [
                    {
                        'name': 'a',
                        'initial': 'first',
                        'children': ['first', 'second', {'name': 'off', 'final': True}],
                        'transitions': [['go', 'first', 'second'], ['end_a', 'second', 'off']],
                    },
                    region('b'),
                ],
            },
            {'name': 'end', 'final': True},
        ]
        transitions = [['done', 'both', 'end']]

    bench = Bench(Long)
    bench.fire('end_b')
    bench.fire('go')
    assert bench.active == ('both.a.second', 'both.b.off')
    bench.fire('end_a')
    assert bench.active == ('end',)


class Nested(Pattern):
    initial = 'all'
    states = [
        {
            'name': 'all',
            'parallel': [
                {'name': 'left', 'parallel': [region('a'), region('b')]},
                {
                    'name': 'right',
                    'initial': 'deep',
                    'children': [
                        {'name': 'deep', 'parallel': [region('c'), region('d')]},
                        {'name': 'after', 'final': True},
                    ],
                    'transitions': [['done', 'deep', 'after']],
                },
            ],
        },
        {'name': 'end', 'final': True},
    ]
    transitions = [['done', 'all', 'end']]


@pytest.mark.parametrize('order', ['abcd', 'dcba', 'acbd', 'cdab'])
def test_nested_parallels_are_done_after_their_last_region(order: str) -> None:
    bench = Bench(Nested)
    assert bench.active == ('all.left.a.on', 'all.left.b.on', 'all.right.deep.c.on', 'all.right.deep.d.on')
    for name in order[:-1]:
        bench.fire(f'end_{name}')
        assert 'end' not in bench.active, name
        assert all(isinstance(path, str) for path in bench.active)
    bench.fire(f'end_{order[-1]}')
    assert bench.active == ('end',)


def test_done_matches_its_own_state_only_and_expired_bubbles() -> None:
    class Timed(Pattern):
        initial = 'outer'
        states = [
            {
                'name': 'outer',
                'initial': 'inner',
                'children': [{'name': 'inner', 'initial': 'leaf', 'children': ['leaf']}],
            },
            {'name': 'late', 'final': True},
            {'name': 'end', 'final': True},
        ]
        transitions = [['done', 'outer', 'end'], ['expired', 'outer', 'late']]

    bench = Bench(Timed)
    assert bench.fire('done', at='outer.inner') == []
    assert bench.fire('expired', at='elsewhere') == []
    assert bench.fire('expired', at='outer.inner')[-1].active == ('late',)


def test_expiry_inside_one_region_does_not_reach_its_sibling() -> None:
    class Siblings(Two):
        transitions = [*Two.transitions, ['expired', 'both.a', 'out']]

    bench = Bench(Siblings)
    assert bench.fire('expired', at='both.b') == []
    assert bench.fire('expired', at='both.a.on')[-1].active == ('out',)


def test_unknown_events_and_addresses_are_not_cached() -> None:
    bench = Bench(Two)
    before = len(bench.chart._decisions)
    for number in range(100):
        assert bench.fire(f'noise_{number}') == []
        assert bench.fire('end_a', at=f'nowhere.{number}') == []
    assert len(bench.chart._decisions) == before


class Counter(Memory):
    n: int = 0


class Loop(Pattern):
    Memory = Counter
    initial = 'one'
    states = ['one', 'two', {'name': 'end', 'final': True}]
    transitions = [
        {'trigger': 'always', 'source': 'two', 'dest': 'end', 'conditions': 'is_ten'},
        ['always', 'two', 'one'],
        {'trigger': 'always', 'source': 'one', 'dest': 'two', 'after': 'count'},
    ]

    def is_ten(self, memory: Counter, event: Event) -> bool:
        return memory.n == 10

    def count(self, memory: Counter, event: Event) -> None:
        memory.n += 1


def count(memory: Counter, event: Event) -> None:
    memory.n += 1


def note_place(by: int, context: CallbackContext, event: Event) -> None:
    memory: Any = context.state.memory
    memory.n += by if context.path == 'box' else 0


class WithFunctions(Pattern):
    """A pattern whose guards and actions are plain functions."""

    Memory = Counter
    initial = 'box'
    states = [
        {
            'name': 'box',
            'initial': 'one',
            'children': ['one', 'two'],
            'transitions': [
                {'trigger': 'go', 'source': 'one', 'dest': 'two', 'after': [count, partial(note_place, 10)]}
            ],
        },
        {'name': 'end', 'final': True},
    ]
    transitions = [
        {
            'trigger': 'stop',
            'source': 'box',
            'dest': 'end',
            'conditions': lambda memory, event: memory.n == 11,
        }
    ]


def test_a_plain_function_is_called_like_a_method_or_with_its_context_in_the_chart() -> None:
    bench = Bench(WithFunctions)
    assert bench.fire('stop') == []
    bench.fire('go')
    assert bench.state.memory.n == 11  # type: ignore[attr-defined]
    assert bench.fire('stop')[-1].active == ('end',)


def test_eventless_edges_run_until_stable() -> None:
    bench = Bench(Loop)
    assert bench.active == ('end',) and bench.state.memory.n == 10  # type: ignore[attr-defined]


def test_endless_eventless_edges_are_an_error() -> None:
    class Endless(Loop):
        def is_ten(self, memory: Counter, event: Event) -> bool:
            return False

    with pytest.raises(PatternError, match='transitions without an event'):
        Bench(Endless)


class Faulty(Pattern):
    Memory = Counter
    initial = 'in'
    states = [
        {'name': 'in', 'initial': 'a', 'children': ['a', 'b'], 'transitions': [['go', 'a', 'b', 'guard']]}
    ]
    transitions = [['leave', 'in', 'in']]
    broken = True

    def guard(self, memory: Counter, event: Event) -> bool:
        if event.data.get('exit'):
            raise SystemExit(1)
        if event.data.get('write'):
            memory.n += 1
        return bool(event.data['ok'])


@pytest.mark.parametrize(
    ('data', 'says'),
    [({}, 'KeyError'), ({'exit': 1}, 'SystemExit'), ({'write': 1, 'ok': 1}, 'only actions write')],
)
def test_a_failing_guard_is_named_and_changes_nothing(data: dict[str, Any], says: str) -> None:
    bench = Bench(Faulty)
    with pytest.raises(PatternError, match=f"'faulty'.*'go'.*'in.a'.*guard 'guard'.*{says}"):
        bench.fire('go', **data)
    assert bench.state.log.drain() == ()
    bench.fire('go', ok=True)  # The chart, which runs share, is unchanged.
    assert bench.active == ('in.b',)


@pytest.mark.parametrize(('trigger', 'place'), [('leave', 'in'), ('enter', 'out')])
def test_a_failing_action_is_named_with_its_state(trigger: str, place: str) -> None:
    class Bad(Pattern):
        initial = 'in'
        states = ['in', {'name': 'out', 'on_enter': 'fail'}]
        transitions = [
            ['leave', 'in', 'in', None, None, 'fail'],
            ['enter', 'in', 'out'],
            ['back', 'out', 'in'],
        ]

        def fail(self, memory: Memory, event: Event) -> None:
            raise ValueError('no')

    with pytest.raises(PatternError, match=f"trigger '{trigger}' in state '{place}': action 'fail' raised"):
        Bench(Bad).fire(trigger)
