"""Random charts for hypothesis: nested, parallel and final states, guards, and edges from and to anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

from hypothesis import strategies as st

from engine import Activity, Event, Memory, Pattern
from engine.records import StatePath
from engine.statechart.shape_builder import walk
from tests.support.charts.scxml import Interpreter, Step

TRIGGERS = ('a', 'b', 'c')
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
def charts(draw: st.DrawFn, *, leaf: Mapping[str, Any] | None = None) -> type[Traced]:
    """Draw a pattern. It is not validated, since its states may lead nowhere.

    Args:
        draw: given by hypothesis.
        leaf: more keys of atomic states. If they invoke something, its end leads to the first final state.
    """
    numbers, labels = count(), count()

    def action(what: str) -> dict[str, Any]:
        return {what: partial(note, f'{what} {next(labels)}')}

    def edges(names: list[str], sources: list[str], most: int) -> list[dict[str, Any]]:
        def edge() -> dict[str, Any]:
            trigger = draw(st.sampled_from((*TRIGGERS, *TRIGGERS, 'done', 'failed', 'always')))
            dest = draw(st.sampled_from([*names, '=', *([None] if trigger != 'always' else [])]))
            return {
                'trigger': trigger,
                'source': draw(st.sampled_from(sources)),
                'dest': dest,
                'conditions': ['g0', *draw(guards())] if trigger == 'always' else draw(guards()),
                'unless': draw(guards()) if draw(st.booleans()) else [],
                **action('before'),
                **action('after'),
            }

        return [edge() for _ in range(draw(st.integers(1, most)))] if sources else []

    def tree(depth: int, kind: str) -> dict[str, Any]:
        state: dict[str, Any] = {'name': f's{next(numbers)}', **action('on_enter'), **action('on_exit')}
        if kind == 'final':
            return {**state, 'final': True, 'outcome': draw(st.sampled_from(['done', 'failed']))}
        if kind == 'atomic':
            return {**state, **(leaf or {})}
        kinds = ('atomic', 'compound', 'parallel') if depth else ('atomic',)
        inside = [tree(depth - 1, draw(st.sampled_from(kinds))) for _ in range(draw(st.integers(1, 3)))]
        if kind == 'parallel':
            state['parallel'] = inside
        else:
            state |= {'children': inside, 'initial': inside[0]['name']}
            inside += [tree(0, 'final') for _ in range(draw(st.integers(0, 1)))]
        paths = paths_in(inside)
        state['transitions'] = edges(list(paths), [name for name, final in paths.items() if not final], 2)
        return state

    kinds = [draw(st.sampled_from(('compound', 'parallel'))), 'atomic', 'final']
    listed = [tree(2, kind) for kind in kinds]
    paths = paths_in(listed)
    sources = [name for name, final in paths.items() if not final]
    ends = [['done', path, listed[-1]['name']] for path, _, state in walk(listed) if 'invoke' in state]

    class Random(Traced, abstract=True):
        """A random chart."""

        initial = draw(st.sampled_from([listed[0]['name'], *sources]))
        running: set[StatePath] = set()

    Random.states = listed
    Random.transitions = [*edges(list(paths), [*sources, '*'], 8), *ends]
    return Random


def paths_in(states: list[dict[str, Any]]) -> dict[str, bool]:
    """Return the paths of nested states, each with whether it is final."""
    return {str(path): bool(state.get('final')) for path, _, state in walk(states)}
