"""Long lists in memory: snapshots hold only their tails, and every step reads back correctly."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import orjson
import pytest

from engine import Catalog, Conductor, Event, LocalConductor, Memory, Pattern
from engine.errors import JournalDamaged
from engine.journal import Fold, MemoryJournal, complete_snapshot, fold
from engine.journal.protocol import Journal
from engine.records import RunId, Snapshot, Transition
from engine.records import document as document_module
from engine.records.document import join_tails
from engine.runtime import recorder as recorder_module
from engine.statechart import run_state as run_state_module


class Item(Memory):
    """An item that can be changed in place."""

    text: str


class Collector(Pattern):
    """Stores lists and changes them in every way."""

    name = 'collector'

    class Memory(Memory):
        words: list[str] = []
        items: list[Item] = []
        count: int = 0

    initial = 'here'
    states = ['here', {'name': 'over', 'final': True}]
    transitions = [
        {'trigger': name, 'source': 'here', 'dest': 'here', 'after': name}
        for name in ('more', 'fix', 'cut', 'first', 'anew')
    ] + [{'trigger': 'stop', 'source': 'here', 'dest': 'over'}]

    def more(self, memory: Any, event: Event) -> None:
        memory.count += 1
        memory.words.append(f'word {memory.count}')
        memory.items.append(Item(text=f'item {memory.count}'))

    def fix(self, memory: Any, event: Event) -> None:
        memory.words[len(memory.words) // 2] = 'better'
        memory.items[2].text = 'better'

    def cut(self, memory: Any, event: Event) -> None:
        memory.words.pop()
        del memory.items[-2:]

    def first(self, memory: Any, event: Event) -> None:
        memory.words.insert(0, 'first')

    def anew(self, memory: Any, event: Event) -> None:
        memory.words = [f'new {number}' for number in range(12)]


CATALOG = Catalog(patterns={'collector': Collector})
HISTORY = [
    *['more'] * 14, 'fix', *['more'] * 5, 'cut', 'cut', 'cut', *['more'] * 7, 'first', *['more'] * 7, 'anew',
    *['more'] * 9, 'cut', 'fix', *['more'] * 5,
]  # fmt: skip


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat lists of five items as long, and take a snapshot every third step."""
    monkeypatch.setattr(run_state_module, 'LONG', 5)
    monkeypatch.setattr(recorder_module, 'SNAPSHOT_STEPS', 3)


class KeptOpen:
    """A journal that stays open when conductors close it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def close(self) -> None:
        pass


def open_conductor(journal: Journal) -> Conductor:
    second_journal: Any = KeptOpen(journal)
    return LocalConductor(second_journal, catalog=CATALOG)


async def grow_lists(journal: Journal) -> RunId:
    """Run through every kind of list change; a second process takes over midway."""
    run = None
    for part in (HISTORY[:25], HISTORY[25:]):
        async with open_conductor(journal) as conductor:
            if run is None:
                run = (await conductor.start('collector')).id
            else:
                await conductor.recover()
            for name in part:
                await conductor.send(run, name)
    assert run is not None
    return run


async def snapshots(journal: Journal, run: RunId, last: int) -> dict[int, Snapshot]:
    snapshots = [await journal.snapshot(run, at) for at in range(1, last + 1)]
    return {snapshot.seq: snapshot for snapshot in snapshots if snapshot}


async def test_each_step_reads_back_identically(journal: Journal) -> None:
    run = await grow_lists(journal)
    async with open_conductor(journal) as reader:
        steps, shape = await reader.transitions(run), await reader.shape(run)
        by_step = await snapshots(journal, run, len(steps))
        assert sum('tails' in snapshot.state for snapshot in by_step.values()) >= 5
        starts = [
            snapshot.state['tails']['words'][0] for snapshot in by_step.values() if 'tails' in snapshot.state
        ]
        assert max(starts) > 10, 'a snapshot repeats no item of those before it'
        for at in range(len(steps) + 1):
            view, expected = await reader.view(run, at), fold(run, shape, steps[:at])
            assert view == expected, at
            assert list(view.memory) == list(expected.memory), 'in the same order'
            assert orjson.dumps(dict(view.memory)) == orjson.dumps(dict(expected.memory))


async def test_a_fork_reads_its_parents_lists(journal: Journal) -> None:
    run = await grow_lists(journal)
    async with open_conductor(journal) as conductor:
        await conductor.recover()
        child = await conductor.fork(run, at=20)
        await conductor.send(child, 'more')
        steps, shape = await conductor.transitions(child), await conductor.shape(child)
        for at in range(len(steps) + 1):
            assert await conductor.view(child, at) == fold(child, shape, steps[:at]), at


async def test_a_list_that_was_read_does_not_change(journal: Journal) -> None:
    run = await grow_lists(journal)
    steps, shape = await journal.transitions(run), await journal.shape(run)
    snapshot = await journal.snapshot(run, len(steps) - 1)
    assert snapshot and 'tails' in snapshot.state
    unread, read = Fold.load(snapshot, shape), Fold.load(snapshot, shape)
    before = deepcopy(read.document)
    document = read.document
    for step in steps[snapshot.seq :]:
        unread.apply(step)
        assert read.apply(step).document == read.document
    assert unread.document == read.document == fold_document(run, shape, steps)
    assert document == before
    assert complete_snapshot(snapshot).state['document']['memory'] == before['memory']


def fold_document(run: RunId, shape: Any, steps: list[Transition]) -> Any:
    return Fold(run, shape).apply_all(steps).document


async def test_lists_are_loaded_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = MemoryJournal()
    run = await grow_lists(journal)
    names: list[str] = []

    def noting(field: str, value: Any) -> list[Any]:
        names.append(field)
        return join_tails(field, value)

    monkeypatch.setattr('engine.journal.memory_journal.join_tails', noting)
    async with open_conductor(journal) as reader:
        memory = (await reader.view(run)).memory
        assert memory['count'] and 'words' in memory and len(memory) == 3 and not names
        assert memory['items'] and memory['items'] and names == ['items']


def test_a_missing_part_is_reported_as_damage() -> None:
    def end(start: int, *items: int) -> Snapshot:
        return Snapshot(run=RunId('r'), seq=start, state={'tails': {'words': [start, list(items)]}})

    assert join_tails('words', [end(3, 3), end(4), end(1, 1, 2, 9), end(0, 0)]) == [0, 1, 2, 3]
    for missing in ([end(3, 3)], [end(3, 3), end(1, 1), end(0, 0)]):
        with pytest.raises(JournalDamaged, match='words of memory'):
            join_tails('words', missing)


def test_the_default_limit_is_hundreds_of_items() -> None:
    assert document_module.LONG == 500
