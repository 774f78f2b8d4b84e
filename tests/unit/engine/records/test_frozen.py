"""Fast-constructed records are as frozen, comparable and strict as those of `dataclass`."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from engine.records import Event, RunId, RunInfo
from engine.records.frozen import evolve


def test_records_are_frozen_after_construction() -> None:
    event = Event(name='done')
    with pytest.raises(FrozenInstanceError):
        event.name = 'failed'  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        evolve(event, name='failed').name = 'done'  # type: ignore[misc]


def test_defaults_are_fresh_and_wrong_fields_are_refused() -> None:
    assert Event(name='a').data == {} and Event(name='a').data is not Event(name='a').data
    assert Event(name='a', data={'x': 1}).data == {'x': 1}
    with pytest.raises(
        TypeError, match=r"Event.__init__\(\) missing 1 required keyword-only argument: 'name'"
    ):
        Event()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match='nope'):
        Event(name='a', nope=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match='nope'):
        evolve(Event(name='a'), nope=1)


def test_copies_are_equal_and_of_the_same_class() -> None:
    info = RunInfo(id=RunId('r'), pattern='p', title='t')
    for same in (copy.copy(info), copy.deepcopy(info), pickle.loads(pickle.dumps(info)), replace(info)):
        assert same == info and type(same) is RunInfo
    changed = evolve(info, seq=4, error='x')
    assert changed == replace(info, seq=4, error='x') and type(changed) is RunInfo and info.seq == 0
    assert all(
        getattr(changed, each.name) == getattr(replace(info, seq=4, error='x'), each.name)
        for each in fields(info)
    )
