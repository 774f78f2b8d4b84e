"""Memory: every change is logged, and the changes alone reproduce it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_jsonable_python

from engine import Memory
from engine.records.document import apply_patch
from engine.statechart.memory import ChangeLog, MemoryMisuse


class Point(BaseModel):
    model_config = ConfigDict(frozen=True)
    x: int = 0


class Part(Memory):
    count: int = 0
    items: list[int] = Field(default_factory=list)


class Task(BaseModel):
    """A plain pydantic model."""

    name: str = ''
    done: bool = False
    notes: list[str] = Field(default_factory=list)


class Whole(Memory):
    number: int = 0
    texts: list[str] = Field(default_factory=list)
    table: dict[str, Any] = Field(default_factory=dict)
    points: list[Point] = Field(default_factory=list)
    part: Part = Field(default_factory=Part)
    other: Part = Field(default_factory=Part)
    parts: dict[str, Part] = Field(default_factory=dict)
    anything: Any = None
    tasks: list[Task] = Field(default_factory=list)
    rows: list[dict[str, Any]] = Field(default_factory=list)
    current: Task | None = None


def attach_memory() -> tuple[Whole, ChangeLog]:
    memory, log = Whole(), ChangeLog()
    memory.attach(log, '/memory')
    log.open = True
    return memory, log


KEYS = st.text('ab/~é 0', max_size=3)
INDEX = st.integers(-5, 5)
TEXTS = st.lists(st.text('xyz', max_size=2), max_size=4)
VALUES = st.one_of(
    st.integers(), st.text('xy', max_size=2), st.none(), TEXTS, st.dictionaries(KEYS, st.integers())
)


class EveryChange(RuleBasedStateMachine):
    """Applies operations of plain collections to logged ones, and compares all three."""

    def __init__(self) -> None:
        super().__init__()
        self.memory, self.log = attach_memory()
        self.document = {'memory': to_jsonable_python(self.memory)}
        self.texts: list[str] = []
        self.table: dict[str, Any] = {}

    def both(self, do: Any) -> None:
        outcomes = []
        for texts, table in ((self.texts, self.table), (self.memory.texts, self.memory.table)):
            try:
                outcomes.append(do(texts, table))
            except (IndexError, KeyError, ValueError) as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]

    @rule(items=TEXTS)
    def extend(self, items: list[str]) -> None:
        self.both(lambda texts, table: texts.extend(items))

    @rule()
    def extend_by_itself(self) -> None:
        if len(self.texts) < 20:
            self.both(lambda texts, table: texts.extend(texts))

    @rule(item=st.text('xy', max_size=1), index=INDEX)
    def insert(self, item: str, index: int) -> None:
        self.both(lambda texts, table: texts.insert(index, item))

    @rule(index=INDEX)
    def pop(self, index: int) -> None:
        self.both(lambda texts, table: texts.pop(index))

    @rule(item=st.text('xy', max_size=1))
    def remove(self, item: str) -> None:
        self.both(lambda texts, table: texts.remove(item))

    @rule(first=INDEX, last=INDEX, step=st.sampled_from([None, 1, 2, -1]), items=TEXTS)
    def replace_slice(self, first: int, last: int, step: int | None, items: list[str]) -> None:
        self.both(lambda texts, table: texts.__setitem__(slice(first, last, step), items))

    @rule(first=INDEX, last=INDEX)
    def delete_slice(self, first: int, last: int) -> None:
        self.both(lambda texts, table: texts.__delitem__(slice(first, last)))

    @rule(index=INDEX, item=st.text('xy', max_size=1))
    def replace_item(self, index: int, item: str) -> None:
        self.both(lambda texts, table: texts.__setitem__(index, item))

    @rule(reverse=st.booleans())
    def sort(self, reverse: bool) -> None:
        self.both(lambda texts, table: texts.sort(reverse=reverse))
        self.both(lambda texts, table: texts.reverse())

    @rule(times=st.integers(0, 2))
    def in_place(self, times: int) -> None:
        if len(self.texts) < 20:
            self.texts += ['x']
            self.texts *= times
            self.memory.texts += ['x']
            self.memory.texts *= times

    @rule(key=KEYS, value=VALUES)
    def set_key(self, key: str, value: Any) -> None:
        self.both(lambda texts, table: table.__setitem__(key, copy.deepcopy(value)))

    @rule(key=KEYS, value=VALUES)
    def other_ways_to_set(self, key: str, value: Any) -> None:
        self.both(lambda texts, table: table.setdefault(key, copy.deepcopy(value)))
        self.both(lambda texts, table: table.update({key: 1}, named=2))
        self.table |= {key: 3}
        self.memory.table |= {key: 3}

    @rule(key=KEYS)
    def delete_key(self, key: str) -> None:
        self.both(lambda texts, table: table.pop(key, None))
        self.both(lambda texts, table: table.__delitem__(key))

    @rule()
    def pop_newest_and_clear(self) -> None:
        self.both(lambda texts, table: table.popitem())
        self.both(lambda texts, table: (texts.clear(), table.clear())[0])

    @rule(key=KEYS, number=st.integers(0, 9))
    def nest(self, key: str, number: int) -> None:
        memory = self.memory
        memory.number += number
        memory.part.items.append(number)
        memory.parts[key] = memory.part
        memory.parts[key].count += number
        memory.other = memory.part
        memory.other.items.append(number)
        memory.points.append(Point(x=number))

    @rule(place=INDEX, number=st.integers(0, 9))
    def inside_lists(self, place: int, number: int) -> None:
        memory = self.memory
        memory.tasks.insert(place, Task(name=str(number)))
        memory.rows.append({'n': number, 'in': [[number], {'x': 1}]})
        row = memory.rows[place % len(memory.rows)]
        row['in'][1]['y'] = [number]
        row['in'][0].append(number)
        memory.tasks[place % len(memory.tasks)].notes.append('later')
        memory.tasks[0].done = not memory.tasks[0].done
        memory.current = memory.tasks[-1]
        memory.current.name += '!'

    @rule(times=st.integers(0, 2), index=INDEX)
    def move_inside_lists(self, times: int, index: int) -> None:
        memory = self.memory
        memory.tasks.sort(key=lambda task: task.name)
        memory.rows.reverse()
        if len(memory.rows) < 10:
            memory.rows *= times
        for row in memory.rows[:3]:
            row['moved'] = index
        if memory.tasks:
            removed = memory.tasks.pop()
            removed.name = 'gone'
            memory.tasks += [removed, removed]
            memory.tasks[-1].done = True
            memory.tasks[:1] = [Task(name='first')]
            memory.tasks[0].notes += ['new']

    @invariant()
    def changes_reproduce_the_memory(self) -> None:
        self.document = apply_patch(self.document, self.log.drain())
        assert self.document['memory'] == to_jsonable_python(self.memory)
        assert (self.memory.texts, self.memory.table) == (self.texts, self.table)


TestEveryChange = EveryChange.TestCase
TestEveryChange.settings = settings(max_examples=25, stateful_step_count=20)


def test_appending_to_a_long_list_costs_one_small_change() -> None:
    memory, log = attach_memory()
    memory.texts = ['x'] * 1000
    log.drain()
    memory.texts += ['y']
    assert [(change.op, change.path, change.value) for change in log.drain()] == [
        ('add', '/memory/texts/-', 'y')
    ]


def test_an_object_stored_twice_is_copied() -> None:
    memory, log = attach_memory()
    memory.parts['a'] = memory.part
    log.drain()
    memory.parts['a'].count = 5
    assert [change.path for change in log.drain()] == ['/memory/parts/a/count']
    assert memory.part.count == 0


@pytest.mark.parametrize(
    'write',
    [
        lambda memory: setattr(memory, 'number', 1),
        lambda memory: memory.texts.append('x'),
        lambda memory: memory.table.update(a=1),
        lambda memory: setattr(memory.part, 'count', 1),
        lambda memory: memory.part.items.clear(),
        lambda memory: delattr(memory, 'number'),
    ],
)
def test_outside_an_action_every_write_is_refused(write: Any) -> None:
    memory, log = attach_memory()
    log.open = False
    with pytest.raises(MemoryMisuse):
        write(memory)
    assert log.drain() == () and memory.model_dump() == Whole().model_dump()


@dataclass
class Loose:
    x: int = 0


@pytest.mark.parametrize('value', [{1}, (1, [2]), Loose(), bytearray(b'x')], ids=repr)
def test_untracked_mutable_values_are_refused(value: Any) -> None:
    memory, _ = attach_memory()
    with pytest.raises(MemoryMisuse):
        memory.texts.append(value)


def test_private_attributes_are_refused() -> None:
    memory, _ = attach_memory()
    with pytest.raises(MemoryMisuse, match='make it a field'):
        memory._hidden = 1


def test_copies_of_collections_are_plain() -> None:
    memory, log = attach_memory()
    memory.texts, memory.table = ['a'], {'b': [1]}
    log.drain()
    for item in (copy.deepcopy(memory.texts), copy.copy(memory.table), memory.detached_copy().texts):
        item.clear()
    assert log.drain() == () and memory.texts == ['a'] and memory.table == {'b': [1]}


def test_a_list_element_logs_its_current_index() -> None:
    memory, log = attach_memory()
    memory.tasks = [Task(name='a'), Task(name='b')]
    second = memory.tasks[1]
    log.drain()
    memory.tasks.pop(0)
    second.done = True
    second.notes.append('x')
    assert [(change.path, change.value) for change in log.drain()] == [
        ('/memory/tasks/0', None),
        ('/memory/tasks/0/done', True),
        ('/memory/tasks/0/notes/-', 'x'),
    ]


def test_values_are_copied_when_stored_and_untracked_when_removed() -> None:
    memory, log = attach_memory()
    mine, row = Task(name='mine'), {'a': [1]}
    memory.tasks.append(mine)
    memory.rows.append(row)
    mine.name, row['a'] = 'changed', [2]
    assert (memory.tasks[0].name, memory.rows[0]) == ('mine', {'a': [1]})
    removed = memory.rows.pop()
    log.drain()
    removed['a'].append(3)
    assert removed == {'a': [1, 3]} and log.drain() == ()
    log.open = False
    with pytest.raises(MemoryMisuse):
        removed['b'] = 1


def test_a_plain_model_keeps_its_type() -> None:
    memory, log = attach_memory()
    memory.tasks.append(Task(name='a'))
    task = memory.tasks[0]
    assert isinstance(task, Task) and type(task).__name__ == 'Task'
    assert task == Task(name='a') and Task(name='a') == task and task != Task(name='b')
    assert Task(name='a') in memory.tasks and task.model_dump() == Task(name='a').model_dump()
    assert Whole.model_validate(to_jsonable_python(memory)).tasks == memory.tasks
    with pytest.raises(ValidationError):
        task.done = 'perhaps'  # type: ignore[assignment]
    log.open = False
    with pytest.raises(MemoryMisuse, match='only actions write memory'):
        task.done = True


def test_a_long_list_of_dicts_is_updated_quickly() -> None:
    memory, log = attach_memory()
    memory.rows = [{'n': number} for number in range(5_000)]
    log.drain()
    for row in memory.rows:
        row['n'] += 1
    assert [change.path for change in log.drain()][-1] == '/memory/rows/4999/n'
