"""Step mode on pages: messages, marks on the diagram, and the effect of other clients."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine import Breakpoint, Conductor, LocalConductor, Memory, Pattern, SimulatedClock
from engine.agents.chart import agent
from tests.support.harness import FakeModel, catalog, until
from ui.formatting.debugger import (
    CONTROLS,
    active_regions,
    breakpoint_facts,
    breakpoint_label,
    edge_labels,
    hit_numbers,
    pause_sentence,
    step_refusal,
)
from ui.formatting.values import as_sentence
from ui.web.pages.run.debugger.badges import breakpoint_layer
from ui.web.pages.run.debugger.context_menu import edges_of
from ui.web.pages.shared.run.debug_controller import DebugController


class Duo(Pattern):
    """Two agents side by side, then a person is asked."""

    class Memory(Memory):
        topic: str = 'tea'

    initial = 'both'
    states = [
        {'name': 'both', 'parallel': [agent('left', prompt='ask'), agent('right', prompt='ask')]},
        {'name': 'last', 'invoke': 'work'},
        {'name': 'end', 'final': True},
    ]
    transitions = [['done', 'both', 'last'], ['done', 'last', 'end'], ['failed', '*', 'end']]

    def ask(self, memory: Any) -> str:
        return 'Say something.'

    async def work(self, memory: Any, activity: Any) -> None:
        await asyncio.Event().wait()


class Stage:
    """A run of `Duo` whose agents answer on request, and a page's controller of it."""

    def __init__(self, conductor: Conductor, gates: dict[str, asyncio.Event]) -> None:
        self.conductor, self.gates = conductor, gates

    async def begin(self, **options: Any) -> Stage:
        self.run = (await self.conductor.start('duo', **options)).id
        self.controller = DebugController(self.conductor, self.run, await self.conductor.shape(self.run))
        await self.look()
        return self

    async def look(self) -> DebugController:
        """Load the current state, as the page does."""
        self.controller.update(
            await self.conductor.fold(self.run), await self.conductor.transitions(self.run)
        )
        return self.controller

    async def list_held(self) -> list[bool]:
        controller = await self.look()
        return [controller.is_paused(f'both.{side}') for side in ('left', 'right')]


@pytest.fixture
async def stage():
    gates = {side: asyncio.Event() for side in ('left', 'right')}
    model = FakeModel(lambda request: gates[request.hints.state.rpartition('.')[2]])
    async with LocalConductor(catalog=catalog(model, Duo), clock=SimulatedClock()) as conductor:
        yield Stage(conductor, gates)


def test_a_breakpoint_is_described_in_words():
    item = Breakpoint(id='2', enter='both.left', when='cost > 0.5')
    assert breakpoint_label(item) == 'Entering both › left, when cost > 0.5'  # noqa: RUF001
    assert breakpoint_label(Breakpoint(edge='a>b')) == 'Taking a → b'
    assert breakpoint_label(Breakpoint(edge='a>a', when='disagree')) == 'Taking a → itself, when disagree'
    assert breakpoint_label(Breakpoint(leave='a_b')) == 'Leaving a b'
    assert breakpoint_facts(replace(item, hits=3, once=True, stop='region')) == [
        'hit 3 times',
        'pauses only its region',
        'once',
    ]
    assert breakpoint_facts(item) == ['not hit yet', 'pauses the whole run']


def test_the_reason_for_a_stop_is_a_sentence():
    reason = (
        'breakpoint 2 at step 9: enter both.left when memory.left > 0.5; breakpoint 11 at step 9: leave a_b;'
        ' breakpoint 3 at step 9: edge both.left → both.left; breakpoint 4 at step 9: cost > 1'
    )
    assert pause_sentence(reason) == (
        'Stopped at breakpoint 2 at step 9: entering both › left when memory.left > 0.5;'  # noqa: RUF001
        ' breakpoint 11 at step 9: leaving a b; breakpoint 3 at step 9: taking both › left → itself;'  # noqa: RUF001
        ' breakpoint 4 at step 9: cost > 1'
    )
    assert pause_sentence('stepped out of both.left at step 4; stepped over at step 4') == (
        'Stepped out of both › left at step 4; stepped over at step 4'  # noqa: RUF001
    )
    unplayed = 'nothing is recorded of how both.left.thinking, last ended; resume to go on live'
    assert pause_sentence(unplayed) == (
        'Nothing is recorded of how both › left › thinking, last ended; resume to go on live'  # noqa: RUF001
    )
    assert pause_sentence('stepped over at step 4') == 'Stepped over at step 4'
    assert pause_sentence('') == ''
    assert hit_numbers(reason) == {'2', '11', '3', '4'}
    assert hit_numbers('stepped over at step 4') == frozenset()
    assert as_sentence('column 3: no') == 'Column 3: no.'


def test_step_mode_and_the_player_use_different_keys():
    keys = {words.key for words in CONTROLS.values()}
    assert keys.isdisjoint(set('ehpbvrgntml') | {' '})
    assert len(keys) == len(CONTROLS) - 1  # one key pauses and resumes


def test_the_shape_of_a_mark_shows_the_kind_of_breakpoint():
    layer = breakpoint_layer(
        [
            Breakpoint(id='1', enter='a'),
            Breakpoint(id='2', leave='a', enabled=False),
            Breakpoint(id='3', enter='b', when='cost > 1', enabled=False),
            Breakpoint(id='4', edge='a>b'),
            Breakpoint(id='5', when='cost > 2'),
        ],
        hit={'4'},
    )
    assert {path: (spot['badge'], spot['classes']) for path, spot in layer['states'].items()} == {
        'a': ('→● ○→', 'breakpoint'),
        'b': ('→○?', 'breakpoint-off'),
    }
    assert layer['edges']['a>b']['badge'] == '◉'
    assert 'breakpoint-hit' in layer['edges']['a>b']['classes']
    assert layer['edges']['a>b']['title'] == 'Breakpoint 4: Taking a → b (paused here)'
    assert 'off' in layer['states']['b']['title']


async def test_a_line_in_a_folded_chart_represents_all_its_edges(stage):
    shape = stage.conductor.catalog.draw('duo')
    assert edges_of(shape, 'both>last', frozenset()) == ['both>last']
    inside = edges_of(shape, 'both.left.thinking>both.left.done', frozenset())
    assert inside == ['both.left.thinking>both.left.done']
    loops = edges_of(shape, 'both>both', frozenset({'both'}))
    assert set(loops) == {f'both.{side}.thinking>both.{side}.thinking' for side in ('left', 'right')}
    assert 'both → last (done)' in edge_labels(shape).values()


async def test_unavailable_steps_say_why(stage):
    await stage.begin(paused=True)
    view, shape = stage.controller.view, stage.controller.shape
    assert [step_refusal(how, shape, view) for how in ('in', 'over', 'out')] == ['', '', '']
    assert active_regions(shape, view.active) == {'both.left': 'thinking', 'both.right': 'thinking'}
    ended = replace(view, active=('both.left.done', 'both.right.thinking'))
    assert 'Ended; waiting' in step_refusal('in', shape, ended, 'both.left')
    assert step_refusal('in', shape, ended, 'both.right') == ''
    waiting = replace(view, active=('both.left.approving', 'both.right.done'))
    assert 'Waiting for you' in step_refusal('over', shape, waiting)
    assert 'last has no parent' in step_refusal('out', shape, replace(view, active=('last',)))


async def test_a_region_continues_while_the_others_wait(stage):
    await stage.begin()
    await stage.controller.perform('pause', 'both.left')
    assert await stage.list_held() == [True, False]
    await stage.controller.perform('in', 'both.left')  # the others wait by default
    assert await stage.list_held() == [True, True]
    assert stage.controller.pending_step('both.left') == 'in'
    assert stage.controller.pending_step('both.right') is None
    stage.gates['left'].set()
    await until(lambda: stage.conductor.catalog.models['scripted'].requests)
    await until_active(stage, 'both.left.done')
    await stage.look()
    assert stage.controller.pending_step('both.left') is None


async def test_a_region_is_stepped_while_the_others_continue(stage):
    await stage.begin(paused=True)
    assert await stage.list_held() == [True, True]
    stage.controller.others_wait = False
    await stage.controller.perform('over', 'both.left')
    assert await stage.list_held() == [False, False]  # until it has been stepped over
    assert stage.controller.pending_step('both.left') == 'over'
    stage.gates['left'].set()
    await until_active(stage, 'both.left.done')
    assert not stage.controller.view.paused
    stage.gates['right'].set()
    await until_active(stage, 'last')


async def until_active(stage: Stage, leaf: str) -> None:
    for _ in range(2_000):
        await stage.look()
        if leaf in stage.controller.view.active:
            return
        await asyncio.sleep(0)
    raise AssertionError(stage.controller.view.active)


async def test_breakpoint_changes_start_from_the_current_list(stage):
    await stage.begin(paused=True, breakpoints=[Breakpoint(enter='last')])
    other = DebugController(stage.conductor, stage.run, stage.controller.shape)
    await other.change_breakpoints(lambda breakpoints: [*breakpoints, Breakpoint(leave='last')])
    # The other change is not loaded yet.
    await stage.controller.change_breakpoints(
        lambda breakpoints: [*breakpoints, Breakpoint(when='tokens > 5')]
    )
    await stage.look()
    assert [item.id for item in stage.controller.view.breakpoints] == ['1', '2', '3']
