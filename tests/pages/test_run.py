"""The run page without a browser: what a full disk, an approval, a lost run and a missing file look like."""

import asyncio
from dataclasses import replace

import pytest
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from engine import Budget, Catalog, Conductor, JournalUnavailable, MemoryJournal
from tests.pages.clicks import click, hide_answered
from tests.support import FakeModel, calls
from ui.door import Door
from ui.pages import run as run_page
from ui.pages import runs as runs_page
from ui.panes import agent as agent_pane
from ui.theme import serve_assets


class FullDisk(MemoryJournal):
    """Has no room until somebody makes some."""

    full = False

    async def append(self, info, transitions, snapshot=None):
        if self.full:
            raise JournalUnavailable('The disk is full.')
        return await super().append(info, transitions, snapshot)


def asks_first(request):
    if request.hints.turn == 0 and request.hints.role == 'researcher':
        return calls(('notes', {'action': 'list'}))
    if request.schema and 'findings' in request.schema['properties']:
        return {'findings': ['one']}
    return {'approved': True, 'score': 90, 'summary': 'good'} if request.schema else 'a draft'


@pytest.fixture
def door():
    return Door()


async def opened(door: Door, journal: MemoryJournal, model: FakeModel) -> Conductor:
    catalog = Catalog.load()
    catalog.models['scripted'] = model
    conductor = Conductor(journal, catalog=catalog)
    door.open(conductor)
    serve_assets()
    run_page.register(door)
    return conductor


def press(user: User, text: str) -> None:
    """Click the button around a text."""
    (label,) = user.find(text).elements
    button = label.parent_slot.parent
    for listener in button._event_listeners.values():
        if listener.type == 'click':
            button._handle_event({'listener_id': listener.id, 'args': {}})


async def test_a_full_disk_is_said_and_nothing_is_lost(user: User, door):
    journal, model = FullDisk(), FakeModel(asks_first)
    conductor = await opened(door, journal, model)
    run = await conductor.start('pipeline', {'task': 'anything'})
    journal.full = True
    await user.open(f'/runs/{run}')
    await user.should_see('The disk is full.', retries=30)
    await user.should_see('Nothing is lost')
    journal.full = False
    await user.should_see('Result', retries=60)
    await user.should_not_see('The disk is full.')
    assert len(model.requests) == 4  # none was called again
    assert await conductor.audit(run) > 0


async def test_an_approval_waits_for_a_person_and_takes_the_answer(user: User, door):
    journal, model = MemoryJournal(), FakeModel(asks_first)
    conductor = await opened(door, journal, model)
    conductor.catalog.tools['notes'] = replace(conductor.catalog.tools['notes'], approval=True)
    run = await conductor.start('pipeline', {'task': 'anything'})
    await user.open(f'/runs/{run}')
    await user.should_see('May researcher use notes?', retries=30)
    await user.should_see('Waiting for you')
    press(user, 'Deny')
    await user.should_see('Result', retries=60)
    said = [step for step in await conductor.transitions(run) if step.event.name == 'deny']
    assert len(said) == 1


async def test_a_run_of_another_process_can_be_watched_only(user: User, door):
    journal = MemoryJournal()
    conductor = await opened(door, journal, FakeModel(asyncio.Event()))
    other = Conductor(journal, catalog=conductor.catalog)
    run = await other.start('pipeline', {'task': 'anything'})
    await other.pause(run)
    await user.open(f'/runs/{run}')
    await user.should_see('Paused')
    await user.should_see('Another process runs it')
    await user.should_not_see('Continue')
    await other.cancel(run)
    await user.should_not_see('Another process runs it', retries=50)
    await user.should_see('Cancelled')


async def test_a_step_of_a_run_that_has_ended(user: User, door):
    conductor = await opened(door, MemoryJournal(), FakeModel(asks_first))
    run = await conductor.start('pipeline', {'task': 'anything'})
    await conductor.result(run)
    await user.open(f'/runs/{run}?at=3')
    await user.should_see('Step 3')
    await user.should_see('Live')


async def test_a_budget_burns_down_and_is_added_to(user: User, door):
    gate = asyncio.Event()
    conductor = await opened(
        door,
        MemoryJournal(),
        FakeModel(lambda request: gate if request.hints.role == 'analyzer' else {'findings': ['one']}),
    )
    run = await conductor.start('pipeline', {'task': 'anything'}, budget=Budget(tokens=100, warn=0.1))
    await user.open(f'/runs/{run}')
    await user.should_see('85 of 100 left, running low', retries=30)
    press(user, 'Add budget')
    await user.should_see('Add to the budget')
    press(user, 'Give it more')
    await user.should_see('Say how much to add.')
    user.find('More tokens').type('400')
    press(user, 'Give it more')
    await user.should_see('485 of 500 left', retries=30)
    await conductor.cancel(run)
    await user.should_not_see('Add budget', retries=30)


async def test_an_agent_that_says_nothing_for_long_is_marked(user: User, door, monkeypatch):
    monkeypatch.setattr(agent_pane, 'QUIET', 0.1)
    conductor = await opened(door, MemoryJournal(), FakeModel(asyncio.Event()))
    run = await conductor.start('pipeline', {'task': 'anything'})
    await user.open(f'/runs/{run}')
    await user.should_see('nothing for', retries=40)
    await conductor.pause(run)
    await user.should_not_see('nothing for', retries=40)


async def test_a_run_that_goes_on_is_deleted_only_by_who_is_sure(user: User, door):
    conductor = await opened(door, MemoryJournal(), FakeModel(asyncio.Event()))
    runs_page.register(door)
    run = await conductor.start('pipeline', {'task': 'anything'})
    await user.open(f'/runs/{run}')
    await user.should_see('Running', retries=30)
    for answer, status in (('Keep it', 'running'), ('Cancel and delete', 'cancelled')):
        (more,) = (
            found for found in user.client.elements.values() if found.props.get('aria-label') == 'More'
        )
        with user.client:
            UserInteraction(user, {more}, None).click()
        await user.should_see('Delete the run', retries=30)
        press(user, 'Delete the run')
        await user.should_see('It is cancelled, which cannot be undone', retries=30)
        click(user, answer)
        await hide_answered(user)
        await user.should_not_see('It is cancelled, which cannot be undone', retries=30)
        if status == 'cancelled':
            await user.should_see('Deleted “', retries=30)  # which is said when it is done
        info = await conductor.info(run)
        assert (info.status, bool(info.deleted)) == (status, status == 'cancelled')
    await user.should_see('No runs yet.', retries=30)
    press(user, 'Undo')
    await user.should_not_see('No runs yet.', retries=30)
    assert not (await conductor.info(run)).deleted
