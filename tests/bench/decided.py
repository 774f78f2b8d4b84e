"""Deciding a transition, against the bare `transitions` library deciding the same event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transitions.extensions import HierarchicalMachine
from transitions.extensions.nesting import NestedState

from engine import Event, Memory, Pattern
from engine.records import StatePath
from engine.statechart.chart import Chart
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START
from tests.bench.table import Row
from tests.bench.timing import Lap, Stopwatch, compare
from tests.bench.work import texts


def _pair(one: str, other: str, trigger: str = 'go') -> list[dict[str, Any]]:
    edge = {'trigger': trigger, 'conditions': 'is_text', 'unless': 'is_spent', 'after': 'keep'}
    return [{**edge, 'source': one, 'dest': other}, {**edge, 'source': other, 'dest': one}]


def _region(name: str) -> dict[str, Any]:
    """Like an agent's states: it thinks, uses tools, and thinks again."""
    return {
        'name': name,
        'initial': 'thinking',
        'children': ['thinking', 'using', 'approving'],
        'transitions': _pair('thinking', 'using', f'go_{name}'),
    }


class _Decided(Pattern):
    class Memory(Memory):
        text: str = ''

    def is_text(self, memory: Any, event: Event) -> bool:
        return bool(event.data['text'])

    def is_spent(self, memory: Any, event: Event) -> bool:
        return event.data['text'] == 'spent'

    def keep(self, memory: Any, event: Event) -> None:
        memory.text = event.data['text']


class Flat(_Decided):
    """Two states."""

    initial = 'here'
    states = ['here', 'there']
    transitions = _pair('here', 'there', 'go_a')


class Nested(_Decided):
    """An agent's states, three levels down."""

    initial = 'work'
    states = [
        {
            'name': 'work',
            'initial': 'team',
            'children': [{'name': 'team', 'initial': 'a', 'children': [_region('a')]}],
        }
    ]
    transitions = [['leave', 'work', 'work']]


class Parallel(_Decided):
    """Two agents side by side."""

    initial = 'both'
    states = [{'name': 'both', 'parallel': [_region('a'), _region('b')]}]
    transitions = [['leave', 'both', 'both']]


class _State(NestedState):
    separator = '.'


class _Machine(HierarchicalMachine):
    state_cls = _State


class Bare:
    """The model of a bare machine: the same guards, the same action on an attribute."""

    def __init__(self, pattern: type[Pattern]) -> None:
        self.text = ''
        _Machine(
            model=self,
            states=pattern.states,
            transitions=pattern.transitions,
            initial=pattern.initial,
            auto_transitions=False,
            send_event=True,
        )

    def is_text(self, event: Any) -> bool:
        return bool(event.kwargs['text'])

    def is_spent(self, event: Any) -> bool:
        return bool(event.kwargs['text'] == 'spent')

    def keep(self, event: Any) -> None:
        self.text = event.kwargs['text']


class Ours:
    """A chart, and the data of one run."""

    def __init__(self, pattern: type[Pattern]) -> None:
        workflow = pattern()
        self._chart, self._state = Chart(workflow), RunState(workflow, workflow.remember())
        self._active: tuple[StatePath, ...] = (START,)
        self.fire('start', '')

    def fire(self, name: str, text: str) -> None:
        moves = self._chart.fire(self._active, self._state, Event(name=name, data={'text': text}))
        self._active = moves[-1].active


def measure(*, fast: bool) -> Iterator[Row]:
    """A row for each kind of chart."""
    rounds, count = (2, 50) if fast else (15, 400)
    replies = texts(count)
    for pattern, what in ((Flat, 'flat'), (Nested, 'nested 3 levels'), (Parallel, 'parallel')):
        chart, bare = Ours(pattern), Bare(pattern)
        ours: list[Lap] = []
        base: list[Lap] = []
        for _ in range(rounds):
            with Stopwatch(count) as watch:
                for text in replies:
                    chart.fire('go_a', text)
            ours.append(watch.lap)
            with Stopwatch(count) as watch:
                for text in replies:
                    bare.go_a(text=text)  # type: ignore[attr-defined]
            base.append(watch.lap)
        yield compare(f'decided, {what}', ours, base, against='bare transitions')
