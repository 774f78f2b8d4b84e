"""Copies of memory for activities: unchanged by later steps; writes to them affect nothing."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from engine.statechart.memory import ChangeLog, Memory
from engine.statechart.memory_copy import lazy_copy


class Said(BaseModel):
    model_config = ConfigDict(frozen=True)
    text: str


class Inner(Memory):
    words: list[str] = []


class Plain(BaseModel):
    name: str = ''
    words: list[str] = []


class Run(Memory):
    plain: list[Plain] = []
    rows: list[dict[str, Any]] = []
    count: int = 0
    said: list[Said] = []
    notes: dict[str, str] = {}
    lists: dict[str, list[int]] = {}
    inner: Inner = Inner()
    pair: tuple[int, ...] = (1, 2)

    @property
    def last(self) -> str:
        return self.said[-1].text

    def add(self, text: str) -> None:
        self.said.append(Said(text=text))


@pytest.fixture
def log() -> ChangeLog:
    change_log = ChangeLog()
    change_log.open = True
    return change_log


@pytest.fixture
def live(log: ChangeLog) -> Run:
    run = Run(
        count=1,
        said=[Said(text='a'), Said(text='b')],
        notes={'x': '1'},
        lists={'l': [1, 2]},
        inner=Inner(words=['w']),
    )
    run.attach(log, '/memory')
    return run


def write(live: Run) -> None:
    """Change everything in place."""
    live.count = 9
    live.add('c')
    live.notes['y'] = '2'
    live.notes['x'] = '3'
    live.lists['l'].append(3)
    live.lists['m'] = []
    live.inner.words.append('v')


CHANGES = {
    'append': lambda items: items.append(Said(text='c')),
    'insert': lambda items: items.insert(0, Said(text='c')),
    'pop': lambda items: items.pop(0),
    'remove': lambda items: items.remove(Said(text='a')),
    'set': lambda items: items.__setitem__(0, Said(text='c')),
    'set slice': lambda items: items.__setitem__(slice(0, 1), [Said(text='c')] * 3),
    'delete': lambda items: items.__delitem__(0),
    'delete slice': lambda items: items.__delitem__(slice(0, 1)),
    'clear': lambda items: items.clear(),
    'sort': lambda items: items.sort(key=lambda item: item.text, reverse=True),
    'reverse': lambda items: items.reverse(),
    'add': lambda items: items.__iadd__([Said(text='c')]),
    'times': lambda items: items.__imul__(2),
}
DICT_CHANGES = {
    'add': lambda items: items.__setitem__('y', '2'),
    'set': lambda items: items.__setitem__('x', '2'),
    'delete': lambda items: items.__delitem__('x'),
    'update': lambda items: items.update(x='2', y='3'),
    'pop': lambda items: items.pop('x'),
    'popitem': lambda items: items.popitem(),
    'clear': lambda items: items.clear(),
    'setdefault': lambda items: items.setdefault('z', '3'),
}


@pytest.mark.parametrize('change', CHANGES.values(), ids=CHANGES)
def test_a_returned_list_does_not_change(live: Run, change: Any) -> None:
    first = lazy_copy(live)
    change(live.said)
    second, after = lazy_copy(live), list(live.said)
    change(live.said) if live.said and Said(text='a') in live.said else live.add('d')
    assert first.said == [Said(text='a'), Said(text='b')]
    assert second.said == after


@pytest.mark.parametrize('change', DICT_CHANGES.values(), ids=DICT_CHANGES)
def test_a_returned_dict_does_not_change(live: Run, change: Any) -> None:
    first = lazy_copy(live)
    change(live.notes)
    second, after = lazy_copy(live), dict(live.notes)
    live.notes['later'] = '4'
    assert first.notes == {'x': '1'} and second.notes == after


def test_a_returned_memory_does_not_change(live: Run) -> None:
    before = to_jsonable_python(live)
    memory_copy = lazy_copy(live)
    write(live)
    assert to_jsonable_python(memory_copy) == before != to_jsonable_python(live)
    assert list(memory_copy.model_dump()) == list(Run.model_fields) and type(memory_copy) is Run


def test_writes_to_a_copy_stay_in_it(live: Run, log: ChangeLog) -> None:
    before = to_jsonable_python(live)
    memory_copy, other = lazy_copy(live), lazy_copy(live)
    log.open = False
    write(memory_copy)
    memory_copy.notes.clear()
    memory_copy.said[0] = Said(text='z')
    assert to_jsonable_python(live) == to_jsonable_python(other) == before
    assert memory_copy.count == 9 and memory_copy.last == 'c' and log.drain() == ()


def test_a_copy_has_the_patterns_class(live: Run) -> None:
    memory_copy = lazy_copy(live)
    assert isinstance(memory_copy, Run) and isinstance(memory_copy.inner, Inner) and memory_copy.last == 'b'
    assert not isinstance(memory_copy, Inner) and not isinstance(Inner(), Run)
    assert type(memory_copy.said) is list and type(lazy_copy(live).notes) is dict
    with pytest.raises(AttributeError, match='nothing'):
        memory_copy.nothing  # noqa: B018


@pytest.mark.parametrize(
    'look',
    [copy.copy, copy.deepcopy, Run.model_copy, lambda memory: memory],
    ids=['copy', 'deepcopy', 'model', 'itself'],
)
def test_a_copy_equals_its_original(live: Run, look: Any) -> None:
    assert look(lazy_copy(live)) == Run.model_validate(to_jsonable_python(live))
    assert Run.model_validate(to_jsonable_python(live)) == look(lazy_copy(live))
    assert repr(look(lazy_copy(live))) == repr(Run.model_validate(to_jsonable_python(live)))


def test_copies_are_made_lazily(live: Run) -> None:
    memory_copy = lazy_copy(live)
    assert live.said._shared is not None and live.said._shared() is not None  # type: ignore[attr-defined]
    assert memory_copy.count == 1
    assert live.said._shared().items is live.said  # type: ignore[attr-defined]
    del memory_copy
    assert live.said._shared() is None  # type: ignore[attr-defined]


def test_invalid_writes_are_refused(live: Run) -> None:
    memory_copy = lazy_copy(live)
    with pytest.raises(ValueError, match='count'):
        memory_copy.count = 'many'  # type: ignore[assignment]
    with pytest.raises(ValueError, match='said'):
        lazy_copy(live).said = 3  # type: ignore[assignment]


def test_list_elements_are_copied_before_they_change(live: Run, log: ChangeLog) -> None:
    live.plain.append(Plain(name='a', words=['w']))
    live.rows.append({'n': 1, 'deep': [{'m': 1}]})
    log.drain()
    memory_copy = lazy_copy(live)
    live.plain[0].name = 'later'
    live.plain[0].words.append('later')
    live.rows[0]['deep'][0]['m'] = 2
    live.plain.append(Plain(name='b'))
    assert [(item.name, item.words) for item in memory_copy.plain] == [('a', ['w'])]
    assert memory_copy.rows == [{'n': 1, 'deep': [{'m': 1}]}]
    log.drain()
    memory_copy.plain[0].name = 'mine'
    memory_copy.rows[0]['deep'].append(3)
    assert log.drain() == () and live.plain[0].name == 'later' and live.rows[0]['deep'] == [{'m': 2}]
