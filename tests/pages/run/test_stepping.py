"""Step mode and breakpoints on the pages, without a browser: controls, messages and errors."""

import asyncio
import gc

from nicegui import ui
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from engine import Breakpoint, Catalog, LocalConductor
from engine.journal import MemoryJournal
from tests.pages.test_run import press
from tests.support.harness import FakeModel, until
from tests.support.pages.clicks import see
from tests.support.pages.serving import open_conductor, start_run
from ui.formatting.steps import path_text
from ui.web.components.elements import Diagram
from ui.web.components.widgets import NativeSelect


def send_event(user: User, kind: type[ui.element], event: str, data: dict | None = None) -> None:
    """Send an event to all elements of a kind."""
    elements = {element for element in user.client.elements.values() if isinstance(element, kind)}
    UserInteraction(user, elements, None).trigger(event, data)


async def test_paused_runs_offer_steps_and_active_ones_a_pause(user: User):
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True)
    await user.open(f'/runs/{run}?face=debug')
    await see(user, 'Continue', 'Step over', retries=30)
    press(user, 'Step in')
    await user.should_see('Stepping in…', retries=30)
    press(user, 'Step out')
    await user.should_see('“Step in” is in progress.', retries=30)
    press(user, 'Continue')
    await user.should_see('Running', retries=30)
    await user.should_not_see('Stepping in…')
    await conductor.cancel(run)
    await user.should_see('Cancelled', retries=30)
    press(user, 'Breakpoints')
    await user.should_see('its breakpoints are read-only', retries=30)


async def test_breakpoints_are_listed_including_those_of_others(user: User):
    stop = Breakpoint(enter='reviewing', once=True)
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True, breakpoints=[stop])
    await user.open(f'/runs/{run}?face=debug')
    press(user, 'Breakpoints')
    await see(user, 'Entering reviewing', 'not hit yet · pauses the whole run · once', retries=30)
    breakpoints = (await conductor.view(run)).breakpoints
    await conductor.set_breakpoints(run, [*breakpoints, Breakpoint(when='tokens > 5', enabled=False)])
    await see(user, 'tokens > 5', 'not hit yet · pauses the whole run · off', retries=30)
    await conductor.cancel(run)


async def test_breakpoints_of_another_process_are_read_only(user: User):
    journal = MemoryJournal()
    open_conductor(FakeModel(asyncio.Event()), journal=journal)
    other = LocalConductor(journal, catalog=Catalog.load())
    run = (
        await other.start(
            'pipeline', {'task': 'anything'}, paused=True, breakpoints=[Breakpoint(leave='reviewing')]
        )
    ).id
    await user.open(f'/runs/{run}?face=debug')
    press(user, 'Breakpoints')
    await see(user, 'Leaving reviewing', 'you can watch it here, but not control it', retries=30)
    await user.should_not_see('Add breakpoint')
    await user.should_not_see('Continue')
    await other.cancel(run)


async def test_a_run_at_a_breakpoint_shows_where_and_why_in_the_header_the_stages_and_the_step(user: User):
    stop = Breakpoint(enter='researching', when='step > 1')
    conductor, run = await start_run(FakeModel(asyncio.Event()), breakpoints=[stop])
    await user.open(f'/runs/{run}?face=debug')
    why = 'Stopped at breakpoint 1 at step 2: entering researching when step > 1'
    await user.should_see(f'{why} · {path_text("researching.thinking").capitalize()}', retries=30)
    elements = user.find(ui.element).elements
    assert 'Researcher: paused' in [item.props.get('aria-label') for item in elements]
    assert [getattr(item, 'text', '') for item in elements].count(why) == 2
    await conductor.cancel(run)


async def test_the_past_shows_todays_breakpoints_and_says_so(user: User):
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True)
    await conductor.set_breakpoints(run, [Breakpoint(enter='reviewing')])
    await user.open(f'/runs/{run}?face=debug&at=1')
    press(user, 'Breakpoints')
    await see(user, 'Entering reviewing', 'Shown as they are now', retries=30)
    await conductor.cancel(run)


async def test_a_condition_is_optional_only_with_a_place(user: User):
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True)
    await user.open(f'/runs/{run}?face=debug')
    press(user, 'Breakpoints')
    press(user, 'Add breakpoint')
    await user.should_see('always pauses', retries=30)
    where = next(element for element in user.find(NativeSelect).elements if element.value == 'enter')
    where.set_value('')
    await user.should_see('required without a state or transition', retries=30)
    await user.should_not_see('always pauses')
    await conductor.cancel(run)


async def test_a_dialog_outlives_the_menu_that_opened_it(user: User):
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True)
    await user.open(f'/runs/{run}?face=debug')
    await user.should_see('Continue', retries=30)
    send_event(user, Diagram, 'context', {'kind': 'state', 'name': 'reviewing', 'x': 1, 'y': 1})
    press(user, 'Add breakpoint…')
    send_event(user, ui.menu, 'hide')
    await user.should_see('New breakpoint', retries=30)
    gc.collect()
    await user.should_see('New breakpoint')
    press(user, 'Cancel')
    send_event(user, Diagram, 'context', {'kind': 'state', 'name': 'reviewing', 'x': 1, 'y': 1})
    press(user, 'Break when it is entered')
    send_event(user, ui.menu, 'hide')
    await user.should_see('Breakpoint set: ', retries=30)
    await conductor.cancel(run)


async def test_a_click_in_an_edges_explanation_counts_even_after_a_newer_step(user: User):
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True)
    await user.open(f'/runs/{run}?face=debug')
    await user.should_see('Continue', retries=30)
    send_event(user, Diagram, 'edge', ['analyzing>reviewing', 'focus'])
    await user.should_see('Break when it is taken', retries=30)
    [label] = user.find(content='Break when it is taken').elements
    [clicked] = [element for element in label.ancestors() if element.tag == 'button']
    send_event(user, Diagram, 'edge', ['analyzing>reviewing', 'press'])
    await conductor.set_breakpoints(run, [Breakpoint(enter='reviewing')])
    await user.should_see('At step 3', retries=30)
    with user.client:  # Events of an element that no longer exists are dropped.
        UserInteraction(user, {user.client.elements[clicked.id]}, None).click()
    await user.should_see('Breakpoint set: ', retries=30)
    assert [item.edge or item.enter for item in (await conductor.view(run)).breakpoints] == [
        'reviewing',
        'analyzing>reviewing',
    ]
    await conductor.cancel(run)


async def test_an_edges_explanation_stays_when_the_diagram_is_laid_out_again(user: User):
    conductor, run = await start_run(FakeModel(asyncio.Event()), paused=True)
    await user.open(f'/runs/{run}?face=debug')
    await user.should_see('Continue', retries=30)
    [drawing] = [element for element in user.client.elements.values() if isinstance(element, Diagram)]
    send_event(user, Diagram, 'edge', ['analyzing>reviewing', 'press'])
    await user.should_see('Break when it is taken', retries=30)
    before = drawing.props['svg']
    send_event(user, Diagram, 'room', [1200, 300, False])
    await until(lambda: drawing.props['svg'] != before)
    await user.should_see('Break when it is taken')
    before = drawing.props['svg']
    send_event(user, Diagram, 'fold', 'researching')
    await until(lambda: drawing.props['svg'] != before)
    send_event(user, Diagram, 'edge', ['researching.thinking>researching.done', 'press'])
    before = drawing.props['svg']
    send_event(user, Diagram, 'fold', 'researching')
    await until(lambda: drawing.props['svg'] != before)
    await user.should_not_see('Break when it is taken')
    await conductor.cancel(run)
