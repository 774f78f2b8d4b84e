"""Step mode and breakpoints on the pages, without a browser: what is offered, said and refused."""

import asyncio
import gc

import pytest
from nicegui import ui
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from engine import Breakpoint, Catalog, Conductor, MemoryJournal
from tests.pages.test_run import opened, press
from tests.support import FakeModel
from ui.door import Door
from ui.elements import Diagram
from ui.parts import Choice


@pytest.fixture
def door():
    return Door()


async def held(door: Door, journal: MemoryJournal, **options: object) -> tuple[Conductor, str]:
    """A run that is paused from the first."""
    conductor = await opened(door, journal, FakeModel(asyncio.Event()))
    return conductor, await conductor.start('pipeline', {'task': 'anything'}, paused=True, **options)


def hears(user: User, kind: type[ui.element], event: str, said: dict | None = None) -> None:
    """All elements of a kind hear of an event."""
    found = {element for element in user.client.elements.values() if isinstance(element, kind)}
    UserInteraction(user, found, None).trigger(event, said)


async def test_a_paused_run_offers_its_steps_and_a_moving_one_a_pause(user: User, door):
    conductor, run = await held(door, MemoryJournal())
    await user.open(f'/runs/{run}')
    await user.should_see('Continue', retries=30)
    await user.should_see('Step over', retries=30)
    press(user, 'Step in')
    await user.should_see('Stepping in …', retries=30)
    press(user, 'Step out')
    await user.should_see('A step in is under way.', retries=30)
    press(user, 'Continue')
    await user.should_see('Running', retries=30)
    await user.should_not_see('Stepping in …')
    await conductor.cancel(run)
    await user.should_see('Cancelled', retries=30)
    press(user, 'Breakpoints')
    await user.should_see('its breakpoints can be read', retries=30)


async def test_breakpoints_are_listed_and_follow_what_others_set(user: User, door):
    conductor, run = await held(door, MemoryJournal(), breakpoints=[Breakpoint(enter='reviewing', once=True)])
    await user.open(f'/runs/{run}')
    press(user, 'Breakpoints')
    await user.should_see('Entering reviewing', retries=30)
    await user.should_see('not hit yet · holds the whole run · once', retries=30)
    known = (await conductor.view(run)).breakpoints
    await conductor.set_breakpoints(run, [*known, Breakpoint(when='tokens > 5', enabled=False)])
    await user.should_see('tokens > 5', retries=30)
    await user.should_see('not hit yet · holds the whole run · off', retries=30)
    await conductor.cancel(run)


async def test_a_run_of_another_process_shows_its_breakpoints_and_says_why_they_stay(user: User, door):
    journal = MemoryJournal()
    await opened(door, journal, FakeModel(asyncio.Event()))
    other = Conductor(journal, catalog=Catalog.load())
    run = await other.start(
        'pipeline', {'task': 'anything'}, paused=True, breakpoints=[Breakpoint(leave='reviewing')]
    )
    await user.open(f'/runs/{run}')
    press(user, 'Breakpoints')
    await user.should_see('Leaving reviewing', retries=30)
    await user.should_see('watched, and not steered', retries=30)
    await user.should_not_see('Add breakpoint')
    await user.should_not_see('Continue')
    await other.cancel(run)


async def test_the_past_shows_breakpoints_as_they_are_now_and_says_so(user: User, door):
    conductor, run = await held(door, MemoryJournal())
    await conductor.set_breakpoints(run, [Breakpoint(enter='reviewing')])
    await user.open(f'/runs/{run}?at=1')
    press(user, 'Breakpoints')
    await user.should_see('Entering reviewing', retries=30)
    await user.should_see('They are shown as they are now', retries=30)
    await conductor.cancel(run)


async def test_a_condition_can_be_left_empty_only_where_a_place_is_named(user: User, door):
    conductor, run = await held(door, MemoryJournal())
    await user.open(f'/runs/{run}')
    press(user, 'Breakpoints')
    press(user, 'Add breakpoint')
    await user.should_see('it stops whenever it gets there', retries=30)
    where = next(one for one in user.find(Choice).elements if one.value == 'enter')
    where.set_value('')
    await user.should_see('needed, since no place is named', retries=30)
    await user.should_not_see('it stops whenever it gets there')
    await conductor.cancel(run)


async def test_what_was_asked_for_from_the_menu_of_the_diagram_outlives_the_menu(user: User, door):
    conductor, run = await held(door, MemoryJournal())
    await user.open(f'/runs/{run}')
    await user.should_see('Continue', retries=30)
    hears(user, Diagram, 'context', {'kind': 'state', 'name': 'reviewing', 'x': 1, 'y': 1})
    press(user, 'Add breakpoint …')
    hears(user, ui.menu, 'hide')
    await user.should_see('Add a breakpoint', retries=30)
    gc.collect()
    await user.should_see('Add a breakpoint')
    press(user, 'Leave it')
    hears(user, Diagram, 'context', {'kind': 'state', 'name': 'reviewing', 'x': 1, 'y': 1})
    press(user, 'Stop when it is entered')
    hears(user, ui.menu, 'hide')
    await user.should_see('Breakpoint set: ', retries=30)
    await conductor.cancel(run)
