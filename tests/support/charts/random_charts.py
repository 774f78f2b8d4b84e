"""Random charts for hypothesis: nested, parallel and final states, guards, and edges from and to anywhere."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count, pairwise
from typing import Any

from hypothesis import strategies as st

from engine import Activity, Event, Memory, Pattern
from engine.records import StatePath
from engine.statechart.shape_builder import children_of, walk
from tests.support.charts.scxml import Interpreter, Step

NOTHING: st.SearchStrategy[dict[str, Any]] = st.just({})
TRIGGERS = ('a', 'b', 'c', 'turn', 'leave', 'back')
"""What people send: `turn` leads from child to child, `leave` out of the first state, `back` by history."""
GUARDS = ('g0', 'g1', 'g2')


class Trace(Memory):
    """What actions were run, in order."""

    trace: list[str] = []


def note(label: str, memory: Trace, event: Event) -> None:
    """Add a label to the trace."""
    memory.trace.append(label)


def answer(name: str, ran: int, number: int) -> bool:
    """Return what a guard says after so many actions, about an event that carries this number."""
    return (ran * 7 + number * 5 + int(name[1:]) * 3) % 4 != 0


class Traced(Pattern, abstract=True):
    """Its guards depend on how many actions have run before, and on the event's `number`."""

    Memory = Trace
    running: set[StatePath]

    def g0(self, memory: Trace, event: Event) -> bool:
        return answer('g0', len(memory.trace), event.data.get('number', 0))

    def g1(self, memory: Trace, event: Event) -> bool:
        return answer('g1', len(memory.trace), event.data.get('number', 0))

    def g2(self, memory: Trace, event: Event) -> bool:
        return answer('g2', len(memory.trace), event.data.get('number', 0))

    async def work(self, memory: Trace, activity: Activity) -> None:
        """Work until it is cancelled, and be listed in `running` meanwhile."""
        self.running.add(activity.path)
        try:
            await asyncio.Event().wait()
        finally:
            self.running.remove(activity.path)


class Algorithm(Interpreter):
    """Interprets a `Traced` pattern."""

    def __init__(self, pattern: Traced) -> None:
        self.ran: list[str] = []
        """What content was executed, in order."""
        self._number = 0
        super().__init__(pattern, guard=self._answer, run=self._note)

    def _answer(self, name: str) -> bool:
        return answer(name, len(self.ran), self._number)

    def _note(self, content: Any) -> None:
        self.ran += content.args if content else ()

    def send(self, event: str, at: str = '', number: int = 0) -> list[Step]:
        """Return the steps that an event with this number causes."""
        self._number = number
        return super().send(event, at)


def guards() -> st.SearchStrategy[list[str]]:
    """Some of the guards."""
    return st.lists(st.sampled_from(GUARDS), max_size=2, unique=True)


@st.composite
def charts(draw: st.DrawFn, *, leaf: st.SearchStrategy[dict[str, Any]] = NOTHING) -> type[Traced]:
    """Draw a pattern. It is not validated, since its states may lead nowhere.

    Args:
        draw: given by hypothesis.
        leaf: more keys of each atomic state. If it invokes something, the end of that leads to a final state.
    """
    numbers, labels = count(), count()

    def action(what: str) -> dict[str, Any]:
        return {what: partial(note, f'{what} {next(labels)}')}

    def edges(states: list[dict[str, Any]], most: int, *more: str) -> list[dict[str, Any]]:
        named = {str(path): state for path, _, state in walk(states)}
        sources = [*more, *(path for path, state in named.items() if not state.get('final'))]

        def edge() -> dict[str, Any]:
            trigger = draw(st.sampled_from((*TRIGGERS[:3], *TRIGGERS[:3], 'done', 'failed', 'always')))
            dest = draw(st.sampled_from([*named, '=', *([None] if trigger != 'always' else [])]))
            history = (
                draw(st.sampled_from((None, 'shallow', 'deep'))) if children_of(named.get(dest, {})) else None
            )
            return {
                **({'history': history} if history else {}),
                'trigger': trigger,
                'source': draw(st.sampled_from(sources)),
                'dest': dest,
                'conditions': ['g0', *draw(guards())] if trigger == 'always' else draw(guards()),
                'unless': draw(guards()) if draw(st.booleans()) else [],
                **action('before'),
                **action('after'),
            }

        return [edge() for _ in range(draw(st.integers(1, most)))]

    def tree(depth: int, kind: str) -> dict[str, Any]:
        state: dict[str, Any] = {'name': f's{next(numbers)}', **action('on_enter'), **action('on_exit')}
        if kind == 'final':
            return {**state, 'final': True, 'outcome': draw(st.sampled_from(['done', 'failed']))}
        if kind == 'atomic':
            return {**state, **draw(leaf)}
        kinds = ('atomic', 'compound', 'parallel') if depth else ('atomic',)
        inside = [tree(depth - 1, draw(st.sampled_from(kinds))) for _ in range(draw(st.integers(1, 3)))]
        if kind == 'parallel':
            state['parallel'] = inside
        else:
            state |= {'children': inside, 'initial': inside[0]['name']}
            inside += [tree(0, 'final') for _ in range(draw(st.integers(0, 1)))]
        names = [child['name'] for child in inside if not child.get('final')]
        turn = [['turn', *pair] for pair in pairwise([*names, names[0]])] if kind == 'compound' else []
        state['transitions'] = [*edges(inside, 2), *turn]
        return state

    kinds = [draw(st.sampled_from(('compound', 'parallel'))), 'atomic', 'final']
    listed = [tree(2, kind) for kind in kinds]
    begin = [str(path) for path, _, state in walk(listed) if not state.get('final')]
    composites = [str(path) for path, _, state in walk(listed) if children_of(state)]
    leave = ['leave', listed[0]['name'], listed[1]['name']]
    back = {
        'trigger': 'back',
        'source': listed[1]['name'],
        'dest': draw(st.sampled_from(composites)),
        'history': draw(st.sampled_from(('shallow', 'deep'))),
    }
    ends = [['done', path, listed[-1]['name']] for path, _, state in walk(listed) if 'invoke' in state]

    class Random(Traced, abstract=True):
        """A random chart."""

        initial = draw(st.sampled_from(begin))
        running: set[StatePath] = set()

    Random.states = listed
    Random.transitions = [*edges(listed, 8, '*'), leave, back, *ends]
    return Random
