"""Folding many steps happens in place, but values returned or recorded before stay unchanged."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from engine.journal import Fold
from engine.records import Change, Event, RunId, Shape, Transition

RUN = RunId('r')
SHAPE = Shape(pattern='p', title='P', initial='', states=(), edges=())


def step(seq: int, *changes: tuple[Any, str, Any], **data: Any) -> Transition:
    event = Event(name='start' if data else 'go', data=data)
    recorded = tuple(Change(op=op, path=path, value=value) for op, path, value in changes)
    return Transition(run=RUN, seq=seq, time=float(seq), event=event, changes=recorded)


STEPS = [
    step(1, memory={'said': ['a'], 'notes': {}}),
    step(2, ('add', '/memory/said/-', 'b'), ('add', '/memory/said/-', {'words': ['c']})),
    step(3, ('add', '/memory/said/2/words/-', 'd'), ('add', '/memory/notes/x', [1])),
    step(4, ('add', '/memory/notes/x/-', 2), ('replace', '/memory/said/0', 'A')),
    step(5, ('replace', '/memory/said', ['z']), ('add', '/memory/said/-', 'y')),
    step(6, ('remove', '/memory/said/0', None), ('add', '/memory/notes/x/-', 3)),
]


def test_folding_many_steps_at_once_equals_folding_each() -> None:
    alone, recorded = Fold(RUN, SHAPE), deepcopy(STEPS)
    for until, one in enumerate(STEPS, start=1):
        alone.apply(one)
        assert Fold(RUN, SHAPE).apply_all(STEPS[:until]).document == alone.document
    assert alone.document['memory'] == {'said': ['y'], 'notes': {'x': [1, 2, 3]}}
    assert recorded == STEPS


def test_returned_values_do_not_change() -> None:
    fold = Fold(RUN, SHAPE)
    handed = []
    for begin in range(0, len(STEPS), 2):
        fold.apply_all(STEPS[begin : begin + 2])
        handed += [(fold.document, deepcopy(fold.document)), (fold.view.memory, deepcopy(fold.view.memory))]
    assert all(now == then for now, then in handed)
