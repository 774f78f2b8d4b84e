"""Breakpoints: where they stop a run, what they pause, and what is journaled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from engine import (
    Breakpoint,
    Conductor,
    InvalidInput,
    LocalConductor,
    Memory,
    Pattern,
    SimulatedClock,
    Status,
    Transition,
)
from engine.agents.chart import agent
from engine.history.audit import group_turns
from engine.journal import Fold, MemoryJournal
from engine.patterns.debate.records import DebateMemory, Position, Utterance
from engine.records import RunId
from tests.support.harness import FakeModel, Lone, calls, catalog, first_steps, pipeline_reply, until

QUESTION = {'task': 'Which database suits a small shop?'}


class Sides(Memory):
    said: list[str] = []


class Twins(Lone):
    """Two agents side by side."""

    Memory = Sides
    initial = 'both'
    states = [
        {
            'name': 'both',
            'parallel': [
                agent(name, prompt='ask', then='note', tools=('calculator',)) for name in ('left', 'right')
            ],
        },
        {'name': 'checking', 'initial': 'a', 'children': ['a', 'b']},
        {'name': 'end', 'final': True},
    ]
    transitions = [
        ['done', 'both', 'checking'],
        {'trigger': 'always', 'source': 'checking.a', 'dest': 'checking.b'},
        ['stay', 'checking', 'checking'],
        {'trigger': 'add', 'source': 'checking.b', 'dest': None, 'after': 'note'},
        ['leave', 'checking', 'end'],
    ]

    def note(self, memory: Sides, event: Any) -> None:
        memory.said.append(str(event.data.get('text', '')))


def reply(request: Any) -> Any:
    if request.hints.pattern == 'pipeline':
        return pipeline_reply(request)
    if request.hints.turn == 0:
        return calls(('calculator', {'expression': '1+1'}))
    return f'{request.hints.role} said'


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    async with LocalConductor(
        MemoryJournal(), catalog=catalog(FakeModel(reply), Twins), clock=SimulatedClock()
    ) as conductor:
        yield conductor


async def wait_until_at_rest(conductor: Conductor, run: RunId) -> Fold:
    """Wait until the run is at rest: paused or ended, with no work in progress."""
    live = conductor._live.runs.get(run)
    await until(
        lambda: (
            run not in conductor._live.runs
            or (live and live.projection.paused and not live.world.runner._tasks and not live.mailbox._task)
        )
    )
    return await conductor.fold(run)


async def start(conductor: Conductor, pattern: str, *breakpoints: Breakpoint) -> tuple[RunId, Fold]:
    parameters = QUESTION if pattern == 'pipeline' else {}
    run = (await conductor.start(pattern, parameters, breakpoints=breakpoints)).id
    return run, await wait_until_at_rest(conductor, run)


async def list_pauses(conductor: Conductor, run: RunId) -> list[Transition]:
    return [step for step in await conductor.transitions(run) if step.event.name == 'pause']


@pytest.mark.parametrize(
    ('item', 'active'),
    [
        (Breakpoint(enter='analyzing'), 'analyzing.thinking'),
        (Breakpoint(enter='researching.using_tools'), 'researching.using_tools'),
        (Breakpoint(enter='researching'), 'researching.thinking'),
        (Breakpoint(leave='analyzing'), 'reviewing.thinking'),
        (Breakpoint(edge='analyzing>reviewing'), 'reviewing.thinking'),
        (Breakpoint(edge='researching.thinking>researching.using_tools'), 'researching.using_tools'),
        (Breakpoint(when='"calculator" in tools'), 'researching.using_tools'),
        (Breakpoint(enter='analyzing', when='loops == 2'), 'analyzing.thinking'),
        (Breakpoint(when='tokens > 20'), 'analyzing.thinking'),
        (Breakpoint(when='contains(text, "draft 2")'), 'reviewing.thinking'),
        (Breakpoint(when='score < 60 and data.output.approved == false'), 'analyzing.thinking'),
        (Breakpoint(when='role == "analyzer" and event == "done"'), 'reviewing.thinking'),
        (Breakpoint(when='memory.sources[0] == "arithmetic"'), 'analyzing.thinking'),
        (Breakpoint(when='"reviewing" in entered and step > 8'), 'reviewing.thinking'),
    ],
    ids=lambda value: value.label if isinstance(value, Breakpoint) else '',
)
async def test_a_run_stops_before_anything_starts_because_of_the_step(
    conductor: Conductor, item: Breakpoint, active: str
) -> None:
    run, fold = await start(conductor, 'pipeline', item)
    view = fold.view
    assert (view.status, view.active) == (Status.PAUSED, (active,))
    *_, turn = group_turns((await conductor.transitions(run))[:-1])
    assert view.stopped in {f'breakpoint 1 at step {step.seq}: {item.label}' for step in turn}
    assert [stored.hits for stored in view.breakpoints] == [1]
    assert conductor._live.runs[run].world.runner._held == [active]
    assert await conductor.audit(run) == view.seq
    await conductor.set_breakpoints(run, [])
    await conductor.resume(run)
    assert (await conductor.result(run)).status is Status.DONE
    assert (await conductor.view(run)).stopped == ''


async def test_a_breakpoint_is_hit_again_only_on_return(conductor: Conductor) -> None:
    run, stopped = await start(conductor, 'pipeline', Breakpoint(enter='analyzing'))
    first = stopped.view.seq
    await conductor.resume(run)
    fold = await wait_until_at_rest(conductor, run)
    assert fold.view.active == ('analyzing.thinking',) and fold.view.seq > first + 5
    assert fold.view.breakpoints[0].hits == 2
    await conductor.resume(run)
    assert (await conductor.result(run)).status is Status.DONE
    assert len(await list_pauses(conductor, run)) == 2


async def test_a_lasting_condition_stops_once_when_it_becomes_true(conductor: Conductor) -> None:
    run, _ = await start(conductor, 'pipeline', Breakpoint(when='tokens > 20'))
    await conductor.resume(run)
    assert (await conductor.result(run)).status is Status.DONE
    assert len(await list_pauses(conductor, run)) == 1


async def test_a_condition_that_is_already_true_stops_at_once(conductor: Conductor) -> None:
    run, fold = await start(conductor, 'pipeline', Breakpoint(enter='analyzing'))
    await conductor.set_breakpoints(run, [Breakpoint(when='tokens > 20'), Breakpoint(when='tokens > 9999')])
    view = await conductor.view(run)
    assert [stored.hits for stored in view.breakpoints] == [1, 0]
    assert 'breakpoint 1 at step' in view.stopped and view.stopped.count('breakpoint') == 2
    assert view.seq == fold.view.seq + 2


async def test_a_one_time_breakpoint_is_disabled_after_its_hit(conductor: Conductor) -> None:
    run, fold = await start(conductor, 'pipeline', Breakpoint(enter='analyzing', once=True))
    assert (fold.view.breakpoints[0].enabled, fold.view.breakpoints[0].hits) == (False, 1)
    await conductor.resume(run)
    assert (await conductor.result(run)).status is Status.DONE


async def test_two_breakpoints_at_once_are_one_stop(conductor: Conductor) -> None:
    run, fold = await start(
        conductor, 'pipeline', Breakpoint(enter='analyzing'), Breakpoint(leave='researching', stop='region')
    )
    (pause,) = await list_pauses(conductor, run)
    assert (pause.event.at, pause.event.data['breakpoints']) == ('', ['1', '2'])
    seq = fold.view.seq - 1
    assert fold.view.stopped == (
        f'breakpoint 1 at step {seq}: enter analyzing; breakpoint 2 at step {seq}: leave researching'
    )


async def test_a_disabled_breakpoint_stops_nothing(conductor: Conductor) -> None:
    run, fold = await start(conductor, 'pipeline', Breakpoint(enter='analyzing', enabled=False))
    assert fold.view.status is Status.DONE and not await list_pauses(conductor, run)


async def test_a_breakpoint_can_hold_one_region(conductor: Conductor) -> None:
    item = Breakpoint(enter='both.left.using_tools', stop='region')
    run, fold = await start(conductor, 'twins', item)
    view = fold.view
    assert view.active == ('both.left.using_tools', 'both.right.done') and view.status is Status.PAUSED
    assert list(view.held) == ['both.left']
    assert view.held['both.left'].endswith('enter both.left.using_tools')
    assert view.memory['said'] == ['right said '], 'the other continued to its end'
    await conductor.resume(run, at='both.left')
    await until(lambda: conductor._live.runs[run].projection.active == ('checking.b',))
    assert await conductor.audit(run)


async def test_a_breakpoint_on_leaving_a_region_holds_the_target(conductor: Conductor) -> None:
    _, fold = await start(conductor, 'twins', Breakpoint(leave='both.left', stop='region'))
    assert fold.view.active == ('checking.b',) and fold.view.status is Status.PAUSED
    assert fold.view.held == {}


async def test_raised_steps_are_checked_too(conductor: Conductor) -> None:
    run, _ = await start(
        conductor, 'twins', Breakpoint(enter='checking.a'), Breakpoint(edge='checking.a>checking.b')
    )
    (pause,) = await list_pauses(conductor, run)
    assert pause.event.data['breakpoints'] == ['1', '2']
    steps = [step for step in await conductor.transitions(run) if step.raised]
    assert pause.event.data['reason'].startswith(f'breakpoint 1 at step {steps[0].seq}: ')
    assert await conductor.audit(run)


async def test_self_transitions_of_a_child_and_its_parent_are_distinguished(conductor: Conductor) -> None:
    run, _ = await start(conductor, 'twins', Breakpoint(enter='checking'))
    edges = [Breakpoint(edge='checking.b>checking.b'), Breakpoint(edge='checking>checking')]
    await conductor.set_breakpoints(run, edges)
    for number, event in (('1', 'add'), ('2', 'stay')):
        await conductor.resume(run)
        await conductor.send(run, event)
        assert (await list_pauses(conductor, run))[-1].event.data['breakpoints'] == [number]


async def test_a_hit_ends_a_step_over_in_progress(conductor: Conductor) -> None:
    stops = [Breakpoint(enter='researching.using_tools')]
    run = (await conductor.start('pipeline', QUESTION, paused=True, breakpoints=stops)).id
    await conductor.step(run, 'over')
    fold = await wait_until_at_rest(conductor, run)
    assert fold.view.active == ('researching.using_tools',)
    assert fold.view.stopped.startswith('breakpoint 1') and fold.projection.pauses.pending_steps == {}
    await conductor.resume(run)
    assert (await conductor.result(run)).status is Status.DONE, 'nothing of the step is left'


async def test_a_step_and_a_breakpoint_at_one_place_are_both_named(conductor: Conductor) -> None:
    stops = [Breakpoint(enter='analyzing')]
    run = (await conductor.start('pipeline', QUESTION, paused=True, breakpoints=stops)).id
    await conductor.step(run, 'over')
    fold = await wait_until_at_rest(conductor, run)
    seq = fold.view.seq - 1
    assert fold.view.stopped == f'stepped over at step {seq}; breakpoint 1 at step {seq}: enter analyzing'


async def test_an_ended_run_is_not_stopped(conductor: Conductor) -> None:
    run, fold = await start(conductor, 'pipeline', Breakpoint(enter='complete'))
    assert fold.view.status is Status.DONE and not await list_pauses(conductor, run)


async def test_a_failing_condition_is_false_and_reported_once(conductor: Conductor) -> None:
    run, fold = await start(conductor, 'pipeline', Breakpoint(when='memory.task > 3'))
    assert fold.view.status is Status.DONE
    matching = [step for step in await conductor.transitions(run) if step.event.name == 'breakpoints']
    assert len(matching) == 1
    assert fold.view.breakpoints[0].problem == 'it cannot compare a text with a number'
    assert fold.view.warnings == ('breakpoint 1: it cannot compare a text with a number',)
    assert await conductor.audit(run) == fold.view.seq


@pytest.mark.parametrize(
    ('items', 'field', 'says'),
    [
        ([Breakpoint()], 'breakpoints.0', 'say where or when'),
        ([Breakpoint(enter='analyzing', leave='reviewing')], 'breakpoints.0', 'give only one'),
        ([Breakpoint(enter='analysing')], 'breakpoints.0.enter', 'did you mean analyzing'),
        ([Breakpoint(leave='x')], 'breakpoints.0.leave', 'available: pending, researching, analyzing'),
        ([Breakpoint(edge='a>b')], 'breakpoints.0.edge', "no edge 'a>b'"),
        ([Breakpoint(when='cost >')], 'breakpoints.0.when', 'column 7'),
        ([Breakpoint(when='price > 3')], 'breakpoints.0.when', "no 'price'; available: cost, tokens"),
        ([Breakpoint(when='memory.find == 1')], 'breakpoints.0.when', "no field 'find'; available:"),
        ([Breakpoint(when='cost > 1'), {'when': 3}], 'breakpoints.1.when', 'must be text, not 3'),
        ([{'where': 'x'}], 'breakpoints.0.where', 'there is no such field'),
        ([{'when': 'step > 3', 'stop': 'all'}], 'breakpoints.0.stop', 'must be run or region'),
        ([Breakpoint(id='1', when='true'), Breakpoint(id='1', when='true')], 'breakpoints', 'same number'),
        ([Breakpoint(when='true')] * 101, 'breakpoints', 'at most 100'),
        ('x', 'breakpoints', 'must be a list'),
    ],
    ids=str,
)
async def test_an_invalid_breakpoint_is_refused_by_field(
    conductor: Conductor, items: Any, field: str, says: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await conductor.start('pipeline', QUESTION, breakpoints=items)
    assert says in refused.value.problems.get(field, str(refused.value.problems))
    assert (await conductor.runs()).total == 0
    run = (await conductor.start('pipeline', QUESTION, paused=True)).id
    with pytest.raises(InvalidInput) as refused:
        await conductor.send(run, 'breakpoints', data={'breakpoints': _plain(items)})
    assert says in refused.value.problems.get(field, '')


def _plain(items: Any) -> Any:
    if not isinstance(items, list):
        return items
    return [
        item if isinstance(item, dict) else {name: getattr(item, name) for name in item.__slots__}
        for item in items
    ]


async def test_breakpoints_keep_their_numbers_and_hits(conductor: Conductor) -> None:
    run, fold = await start(conductor, 'pipeline', Breakpoint(enter='analyzing'))
    breakpoints = await conductor.set_breakpoints(
        run, [*fold.view.breakpoints, Breakpoint(leave='reviewing')]
    )
    assert [(item.id, item.enabled) for item in breakpoints] == [('1', True), ('2', True)]
    await conductor.set_breakpoints(run, [replace(breakpoints[0], enabled=False), breakpoints[1]])
    view = await conductor.view(run)
    assert [(item.id, item.hits, item.enabled) for item in view.breakpoints] == [
        ('1', 1, False),
        ('2', 0, True),
    ]
    await conductor.set_breakpoints(run, [])
    assert (await conductor.view(run)).breakpoints == ()


async def test_breakpoints_survive_restarts_but_are_not_forked(conductor: Conductor) -> None:
    items = [Breakpoint(enter='analyzing', when='loops == 2'), Breakpoint(when='tokens > 20')]
    run, fold = await start(conductor, 'pipeline', *items)
    loaded = Fold.load(fold.snapshot(), fold.shape)
    assert loaded.view == fold.view and loaded.projection.pauses.dump() == fold.projection.pauses.dump()
    await conductor._live.runs[run].release()
    conductor._live.runs.clear()
    async with LocalConductor(conductor.journal, catalog=conductor.catalog) as second_conductor:
        await second_conductor.recover()
        await second_conductor.resume(run)
        fold = await wait_until_at_rest(second_conductor, run)
        assert [item.hits for item in fold.view.breakpoints] == [1, 1], 'what held before did not stop it'
        assert fold.view.active == ('analyzing.thinking',)
        fork = await second_conductor.fork(run, fold.view.seq)
        assert (await second_conductor.result(fork)).status is Status.DONE
        assert (await second_conductor.view(fork)).breakpoints == ()
        assert await second_conductor.audit(fork) and await second_conductor.audit(run)


async def test_recovery_at_any_step_hits_the_same_breakpoints(conductor: Conductor) -> None:
    items = [Breakpoint(enter='analyzing'), Breakpoint(when='tokens > 20')]
    run, _ = await start(conductor, 'pipeline', *items)
    while run in conductor._live.runs:
        await conductor.resume(run)
        await wait_until_at_rest(conductor, run)
    steps = await conductor.transitions(run)
    seqs = [step.seq for step, after in pairwise(steps) if not after.raised and after.event.name != 'pause']
    assert len(seqs) > 8
    for count in seqs:
        partial_journal = await first_steps(conductor.journal, run, count)
        async with LocalConductor(partial_journal, catalog=conductor.catalog) as successor:
            await successor.recover()
            await wait_until_at_rest(successor, run)
            is_paused = steps[count - 1].event.name == 'pause'
            by_itself = {step.event.name for step in await successor.transitions(run, after=count)}
            assert (by_itself <= {'recover'}) is is_paused, count
            while run in successor._live.runs:
                if (await wait_until_at_rest(successor, run)).view.paused:
                    await successor.resume(run)
            assert [item.hits for item in (await successor.view(run)).breakpoints] == [2, 1], count
            assert await successor.audit(run)


def say(speaker: str, verdict: str, best: str = '', debate: int = 1, **more: Any) -> Utterance:
    position = Position(text='', verdict=verdict, best=best)  # type: ignore[arg-type]
    return Utterance(speaker=speaker, phase='debate', debate=debate, text='', position=position, **more)


class Arguing(Pattern):
    """Records people's statements."""

    Memory = DebateMemory
    panels = {'debate': 'transcript'}
    initial = 'open'
    states = ['open', {'name': 'closed', 'final': True}]
    transitions = [
        {'trigger': 'say', 'source': 'open', 'dest': None, 'after': 'put_down'},
        ['close', 'open', 'closed'],
    ]

    def put_down(self, memory: DebateMemory, event: Any) -> None:
        memory.transcript = [Utterance.model_validate(item) for item in event.data['said']]


@pytest.mark.parametrize(
    ('transcript', 'differ'),
    [
        ([], False),
        ([say('a', 'APPROVE')], False),
        ([say('a', 'APPROVE'), say('b', 'APPROVE')], False),
        ([say('a', 'APPROVE'), say('b', 'REVISE_ALL')], True),
        ([say('a', 'REVISE_ALL'), say('b', 'APPROVE'), say('a', 'APPROVE')], False),
        ([say('a', 'REVISE_BEST', 'x'), say('b', 'REVISE_BEST', 'y')], True),
        ([say('a', 'REVISE_ALL', 'x'), say('b', 'REVISE_ALL', 'y')], False),
        ([say('a', 'APPROVE'), say('b', 'REVISE_ALL', debate=2), say('a', 'REVISE_ALL', debate=2)], False),
        ([say('a', 'APPROVE'), say('s', 'REVISE_ALL', synthesized=True)], False),
    ],
)
async def test_disagreement_is_read_from_the_latest_positions(transcript: Any, differ: bool) -> None:
    async with LocalConductor(catalog=catalog(FakeModel(), Arguing), clock=SimulatedClock()) as conductor:
        run = (await conductor.start('arguing', breakpoints=[Breakpoint(when='disagree')])).id
        data = {'said': [item.model_dump(mode='json') for item in transcript]}
        await conductor.send(run, 'say', data=data)
        assert bool(await list_pauses(conductor, run)) is differ
        await conductor.cancel(run)
