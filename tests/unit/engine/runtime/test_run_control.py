"""Actions of people: edits of memory, external events and their repetitions, starts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine import Conductor, EventRefused, InvalidInput, LocalConductor, Memory, Pattern, PatternError
from engine.agents.chart import agent
from engine.errors import UnknownPattern, UnknownRun
from engine.journal import Fold, MemoryJournal
from engine.journal.projection import MAX_KEYS
from engine.records import RunId
from engine.runtime import acting_as, run_factory
from tests.support.harness import FakeModel, Lone, catalog, start_run


class Kept(Memory):
    count: int = 0
    limit: int = Field(10, le=100)
    words: list[str] = Field(default_factory=list)
    table: dict[str, Any] = Field(default_factory=dict)


class Word(BaseModel):
    text: str = Field('', alias='word')


class Counting(Pattern):
    """Waits for an event."""

    class Parameters(BaseModel):
        limit: int = 10
        note: str = ''

    Memory = Kept
    initial = 'idle'
    inputs = {'keep': Word}
    states = ['idle', {'name': 'end', 'final': True}]
    transitions = [
        {'trigger': 'keep', 'source': 'idle', 'dest': None, 'after': 'keep_word'},
        {'trigger': 'add', 'source': 'idle', 'dest': None, 'after': 'count'},
        ['end', 'idle', 'end'],
    ]

    def count(self, memory: Kept, event: Any) -> None:
        memory.count += event.data.get('by', 1)

    def keep_word(self, memory: Kept, event: Any) -> None:
        memory.words.append(event.data['text'])


def change(op: str, path: str, value: Any = None) -> dict[str, Any]:
    return {'op': op, 'path': path, 'value': value}


@pytest.fixture
async def conductor() -> Any:
    async with LocalConductor(catalog=catalog(FakeModel(), Counting, Lone)) as conductor:
        yield conductor


async def test_an_edit_is_journaled_and_used_by_later_steps(conductor: Conductor) -> None:
    run = (await conductor.start('counting', {'limit': 7})).id
    changes = [
        change('replace', '/memory/count', '41'),
        change('add', '/memory/words/-', 'x'),
        change('add', '/memory/table/a~1b', [1]),
        change('remove', '/memory/limit'),
    ]
    await conductor.send(run, 'edit', data={'changes': changes[:2]})
    await conductor.send(run, 'add')
    await conductor.send(run, 'edit', data={'changes': changes[2:3]})
    view = await conductor.view(run)
    assert view.memory == {'count': 42, 'limit': 7, 'words': ['x'], 'table': {'a/b': [1]}}
    live = conductor._live.runs[run].state.dump()
    assert live['memory'] == view.memory
    await conductor.send(run, 'edit', data={'changes': changes[3:]})
    assert (await conductor.view(run)).memory['limit'] == 10, 'back at its default'
    assert (await conductor.view(run)).memory == conductor._live.runs[run].state.dump()['memory']
    assert await conductor.audit(run) == 5


@pytest.mark.parametrize(
    'changes',
    [
        [change('replace', '/memory/count', 'many')],
        [change('replace', '/memory/limit', 101)],
        [change('add', '/memory/colour', 'red')],
        [change('replace', '/memory/words/3', 'x')],
        [change('remove', '/memory/table/none')],
        [change('move', '/memory/count')],
        [change('replace', '/secret', 1)],
        [change('replace', '', 1)],
        [change('replace', '/memory', 3)],
        [change('remove', '/agents')],
        'nonsense',
    ],
    ids=str,
)
async def test_an_invalid_edit_is_refused_and_changes_nothing(conductor: Conductor, changes: Any) -> None:
    run = (await conductor.start('counting')).id
    before = conductor._live.runs[run].state.dump()
    with pytest.raises(InvalidInput):
        await conductor.send(run, 'edit', data={'changes': changes})
    assert (await conductor.info(run)).seq == 1 and conductor._live.runs[run].state.dump() == before


async def test_an_agent_cannot_be_removed(conductor: Conductor) -> None:
    conductor.catalog.models['scripted']._reply = lambda request: asyncio.Event()  # type: ignore[attr-defined]
    run = (await conductor.start('lone')).id
    with pytest.raises(InvalidInput, match='an agent cannot be removed'):
        await conductor.send(run, 'edit', data={'changes': [change('remove', '/agents/working')]})


async def test_event_data_that_is_not_json_is_refused(conductor: Conductor) -> None:
    run = (await conductor.start('counting')).id
    with pytest.raises(InvalidInput) as refused:
        await conductor.send(run, 'add', data={'by': object()})
    assert list(refused.value.problems) == ['data']
    await conductor.send(run, 'add', data={'by': 2, 'extra': (1, 2)})
    assert (await conductor.transitions(run))[-1].event.data == {'by': 2, 'extra': [1, 2]}


async def test_an_unaccepted_event_lists_the_accepted_ones(conductor: Conductor) -> None:
    run = (await conductor.start('counting')).id
    with pytest.raises(EventRefused, match="does not accept 'jump' now: the active states accept add, end"):
        await conductor.send(run, 'jump')
    with pytest.raises(UnknownRun):
        await conductor.send(RunId('none'), 'add')
    await conductor.send(run, 'end')
    with pytest.raises(EventRefused, match='it is done'):
        await conductor.send(run, 'add')


async def test_bad_starts_are_refused_by_name(conductor: Conductor) -> None:
    class Tooled(Lone):
        states = [agent('working', prompt='ask', tools=('telescope',)), *Lone.states[1:]]

    class Demanding(Lone):
        class Memory(Memory):
            needed: int

    for pattern in (Tooled, Demanding):
        conductor.catalog.add(pattern)
    for refused, says, name, options in (
        (UnknownPattern, "no pattern 'none'; available: counting", 'none', {}),
        (InvalidInput, 'limit: Input should be a valid integer', 'counting', {'parameters': {'limit': 'x'}}),
        (InvalidInput, "models.judge: there is no role 'judge'", 'lone', {'models': {'judge': 'none'}}),
        (InvalidInput, "models.working: there is no model 'none'", 'lone', {'models': {'working': 'none'}}),
        (
            InvalidInput,
            'effort.working: must be one of none, minimal',
            'lone',
            {'effort': {'working': 'much'}},
        ),
        (InvalidInput, 'effort: must be one of none, minimal', 'lone', {'effort': {'': 'much'}}),
        (PatternError, "'working': there is no tool 'telescope'", 'tooled', {}),
        (PatternError, 'Memory: it cannot start: needed: Field required', 'demanding', {}),
    ):
        with pytest.raises(refused, match=says):
            await conductor.start(name, **options)
    assert (await conductor.runs()).total == 0


async def test_titles_and_tags_are_one_line_in_one_encoding(conductor: Conductor) -> None:
    mark = 'e\u0301'
    run = await conductor.start('lone', title=f' Caf{mark}\n au lait ', tags=[mark, '\u00e9', ' '])
    info = await run.info()
    assert (info.title, info.tags) == ('Caf\u00e9 au lait', ('\u00e9',))
    assert (await conductor.annotate(run.id, tags=[mark])).tags == ('\u00e9',)


async def test_a_run_is_named_by_the_first_words_of_its_task(conductor: Conductor) -> None:
    run = (await conductor.start('counting', {'note': 'word ' * 1_000_000})).id
    assert (await conductor.info(run)).title == 'word ' * 5 + 'word…'
    assert (
        await conductor.info((await conductor.start('counting', {'note': ' \n '})).id)
    ).title == 'Counting'


async def test_parameter_dependent_charts_are_validated_and_not_cached_forever(
    conductor: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_factory, 'MAX_CHARTS', 5)

    class Sized(Pattern):
        class Parameters(BaseModel):
            size: int = 1

        initial = 's0'
        transitions = [['go', '*', 'end']]

        def states(self) -> Any:
            size = self.parameters.size
            return [*(f's{number % 500}' for number in range(size)), {'name': 'end', 'final': True}]

    conductor.catalog.add(Sized)
    for size in range(1, 12):
        run = (await conductor.start('sized', {'size': size})).id
        assert len((await conductor.shape(run)).states) == size + 1
    assert len(conductor._live.charts._charts) <= 5
    with pytest.raises(PatternError, match="state 's0': there are two states of this name"):
        await conductor.start('sized', {'size': 501})


async def test_a_misspelt_field_of_an_event_is_refused(conductor: Conductor) -> None:
    run = await conductor.start(Counting)
    with pytest.raises(InvalidInput) as refused:
        await run.send('keep', data={'wrod': 'no'})
    assert refused.value.problems == {'wrod': 'there is no such field'}
    await run.send('keep', data={'word': 'yes'})
    assert (await run.view()).memory['words'] == ['yes']


async def read_count(conductor: Conductor, run: RunId) -> int:
    return int((await conductor.view(run)).memory['count'])


async def test_a_repeated_event_is_recognized_by_its_key_after_a_restart() -> None:
    journal = MemoryJournal()
    async with LocalConductor(journal, catalog=catalog(FakeModel(), Counting)) as before:
        run = await start_run(before, 'counting')
        await before.send(run, 'add', key='a')
    async with LocalConductor(journal, catalog=catalog(FakeModel(), Counting)) as after:
        await after.recover()
        await after.send(run, 'add', key='a')
        assert await read_count(after, run) == 1


async def test_a_repeated_event_is_recognized_from_a_snapshot(conductor: Conductor) -> None:
    run = await start_run(conductor, 'counting')
    await conductor.send(run, 'add', key='a')
    fold = await conductor.fold(run)
    assert len(keys := fold.projection.keys) == 1
    assert Fold.load(fold.snapshot(), fold.shape).projection.keys == keys


async def test_a_run_remembers_its_latest_keys(conductor: Conductor) -> None:
    run = await start_run(conductor, 'counting')
    for number in range(MAX_KEYS + 1):
        await conductor.send(run, 'add', key=f'{number}')
    for number in (MAX_KEYS, 1):
        await conductor.send(run, 'add', key=f'{number}')
    assert await read_count(conductor, run) == MAX_KEYS + 1
    await conductor.send(run, 'add', key='0')
    assert await read_count(conductor, run) == MAX_KEYS + 2


async def test_a_key_belongs_to_one_person_run_and_event(conductor: Conductor) -> None:
    run = await start_run(conductor, 'counting')
    await conductor.send(run, 'add', key='a')
    await conductor.send(run, 'add', data={'by': 10}, key='a')
    with acting_as('ada'):
        await conductor.send(run, 'add', key='a')
    assert await read_count(conductor, run) == 12
    fork = await conductor.fork(run, (await conductor.info(run)).seq)
    await conductor.send(fork, 'add', key='a')
    assert await read_count(conductor, fork) == 13


async def test_a_refused_event_may_be_sent_again_with_its_key(conductor: Conductor) -> None:
    run = await start_run(conductor, 'counting')
    with pytest.raises(EventRefused):
        await conductor.resume(run, key='a')
    await conductor.pause(run)
    await conductor.resume(run, key='a')
    assert not (await conductor.view(run)).paused
