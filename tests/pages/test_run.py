"""The run page without a browser: a full disk, an approval, a lost run and a missing file."""

import asyncio
import threading
from dataclasses import replace

import pytest
from nicegui import ui
from nicegui.testing import User

from engine import Budget, LocalConductor
from engine.errors import JournalUnavailable, StepDamaged
from engine.journal import MemoryJournal
from engine.models.protocol import Completed
from tests.support.harness import FakeModel, calls, complete_run, pipeline_reply, until
from tests.support.journals.damaged_journal import DamagedJournal
from tests.support.pages.clicks import click, hide_answered, press_labelled, see
from tests.support.pages.serving import finish_run, open_conductor, start_run
from ui.web.components.elements import Conversation
from ui.web.components.theme import serve_assets
from ui.web.pages.run import page as run_page
from ui.web.pages.run import screen
from ui.web.pages.run.agents import agent as agent_pane
from ui.web.pages.run.inspector import inspector
from ui.web.pages.runs import page as runs_page
from ui.web.pages.shared import errors


class FullDiskJournal(MemoryJournal):
    """A journal whose disk is full until a test makes room."""

    full = False

    async def append(self, info, transitions, snapshot=None):
        if self.full:
            raise JournalUnavailable('The disk is full.')
        return await super().append(info, transitions, snapshot)


class UnreadableJournal(FullDiskJournal):
    """A journal that cannot be read either."""

    async def transitions(self, *args, **options):
        if self.full:
            raise JournalUnavailable('The disk is full.')
        return await super().transitions(*args, **options)


def call_a_tool_first(request):
    if request.hints.turn == 0 and request.hints.role == 'researcher':
        return calls(('notes', {'action': 'list'}))
    if request.schema and 'findings' in request.schema['properties']:
        return {'findings': ['one']}
    return {'approved': True, 'score': 90, 'summary': 'good'} if request.schema else 'a draft'


def press(user: User, text: str) -> None:
    """Click the button with this text, preferably one in a dialog."""
    matches = user.find(text).elements
    matches = [item for item in matches if getattr(item, 'text', '') == text] or list(matches)
    labels = [item for item in matches if any(isinstance(outer, ui.dialog) for outer in item.ancestors())]
    # An approval is shown in its pane and over the page; the text is that of the button or of its label.
    button, listener = next(
        (button, listener)
        for label in labels or matches
        for button in (label, label.parent_slot.parent)
        for listener in button._event_listeners.values()
        if listener.type == 'click'
    )
    button._handle_event({'listener_id': listener.id, 'args': {}})


async def test_a_full_disk_is_reported_and_nothing_is_lost(user: User):
    journal, model = FullDiskJournal(), FakeModel(call_a_tool_first)
    conductor = open_conductor(model, journal=journal)
    run = (await conductor.start('pipeline', {'task': 'anything'})).id
    journal.full = True
    await user.open(f'/runs/{run}')
    await see(user, 'The disk is full.', 'Nothing is lost', retries=30)
    journal.full = False
    await conductor.result(run)
    await user.should_see('Result', retries=60)
    await user.should_not_see('The disk is full.')
    assert len(model.requests) == 4  # no call was repeated
    assert await conductor.audit(run) > 0


async def test_an_approval_waits_for_a_persons_answer(user: User):
    conductor = open_conductor(FakeModel(call_a_tool_first))
    conductor.catalog.tools['notes'] = replace(conductor.catalog.tools['notes'], approval=True)
    run = (await conductor.start('pipeline', {'task': 'anything'})).id
    await user.open(f'/runs/{run}')
    await see(user, 'Allow researcher to use notes?', 'Waiting for you', ' approving · ', retries=30)
    press(user, 'Deny')
    await conductor.result(run)
    steps = await conductor.transitions(run)
    assert [step.event.name for step in steps].count('deny') == 1
    await user.should_see('Result', retries=60)
    await user.should_see(f'Complete after {steps[-1].seq} steps', retries=30)


async def test_a_run_of_another_process_is_read_only(user: User):
    journal = MemoryJournal()
    conductor = open_conductor(FakeModel(asyncio.Event()), journal=journal)
    other = LocalConductor(journal, catalog=conductor.catalog)
    run = (await other.start('pipeline', {'task': 'anything'})).id
    await other.pause(run)
    await user.open(f'/runs/{run}')
    await see(user, 'Paused', 'Another process is running it')
    await user.should_not_see('Continue')
    await other.cancel(run)
    await user.should_not_see('Another process is running it', retries=50)
    await user.should_see('Cancelled')


async def test_a_read_only_run_is_followed_again_after_an_outage(user: User):
    journal = UnreadableJournal()
    conductor = open_conductor(FakeModel(asyncio.Event()), journal=journal)
    other = LocalConductor(journal, catalog=conductor.catalog)
    run = (await other.start('pipeline', {'task': 'anything'})).id
    await user.open(f'/runs/{run}')
    await user.should_see('Another process is running it', retries=30)
    journal.full = True
    await user.should_see('The disk is full.', retries=60)
    journal.full = False
    await user.should_see('Another process is running it', retries=60)
    await user.should_not_see('The disk is full.')
    await other.cancel(run)
    await user.should_see('Cancelled', retries=60)


async def test_a_step_of_a_run_that_has_ended(user: User):
    run = await finish_run(FakeModel(call_a_tool_first))
    await user.open(f'/runs/{run}?at=3')
    await user.should_see('Step 3')
    live = [element for element in user.find(ui.element).elements if 'live' in element.classes]
    assert [element for element in live if 'off' in element.classes] == live, (
        'there is nothing live in a run that has ended'
    )


@pytest.mark.parametrize('at', ['x', '-1', '²', '9' * 5000], ids=['word', 'negative', 'superscript', 'huge'])
async def test_a_step_that_is_no_number_is_not_found(user: User, at: str):
    run = await finish_run(FakeModel(call_a_tool_first))
    answer = await user.http_client.get(f'/runs/{run}', params={'at': at})
    assert (answer.status_code, f'has no step {at[:40]}' in answer.text) == (404, True)


async def test_the_address_is_replaced_in_one_call(user: User, monkeypatch):
    """A reload while the page is being drawn must open the same tab."""
    run = await finish_run(FakeModel(call_a_tool_first))
    link, scripts = f'/runs/{run}/messages?at=3&inspect=memory', []
    monkeypatch.setattr(screen.ui, 'run_javascript', scripts.append)
    await user.open(link)
    await until(lambda: [script for script in scripts if 'State' in script])
    assert [script for script in scripts if 'State' in script] == [
        f'history.replaceState(null, "", path_prefix + "{link}")'
    ]


async def test_memory_is_read_off_the_event_loop(user: User, monkeypatch):
    """Long lists are read from earlier snapshots, and other pages must not wait for that."""
    run = await finish_run(FakeModel(call_a_tool_first))
    threads = []
    monkeypatch.setattr(
        inspector, '_document_of', lambda view: threads.append(threading.current_thread()) or ({}, {})
    )
    await user.open(f'/runs/{run}?at=3&inspect=memory')
    await until(lambda: threads)
    assert threading.main_thread() not in threads


async def test_memory_catches_up_when_steps_come_faster_than_it_is_read(user: User, monkeypatch):
    """Only one read at a time: its result is shown, and then the last step, skipping those in between."""
    run = await finish_run(FakeModel(call_a_tool_first))
    read, displayed, may_end = [], [], threading.Event()

    def document_of(view):
        read.append(view.seq)
        may_end.wait(10)
        return {'memory': view.seq}, {}

    monkeypatch.setattr(inspector, '_document_of', document_of)
    monkeypatch.setattr(inspector.JsonTree, 'show', lambda tree, value, *_: displayed.append(value['memory']))
    await user.open(f'/runs/{run}?at=3&inspect=memory')
    await until(lambda: read)
    for step in (4, 5):
        press_labelled(user, 'Next step (→)')
        await user.should_see(f'Step {step}')
    assert read == [3]
    may_end.set()
    await until(lambda: displayed[-1:] == [5])
    assert displayed == [3, 5] == read


async def test_a_budget_burns_down_and_is_extended(user: User):
    gate = asyncio.Event()
    model = FakeModel(lambda request: gate if request.hints.role == 'analyzer' else {'findings': ['one']})
    conductor, run = await start_run(model, budget=Budget(tokens=100, warn=0.1))
    await user.open(f'/runs/{run}')
    await user.should_see('85 of 100 left, running low', retries=30)
    press(user, 'Add budget')
    await user.should_see('The run continues with the added budget')
    press(user, 'Add')
    await user.should_see('Enter an amount.')
    await user.should_see('More tokens')
    more = user.find(ui.input)
    more.type('0,5')
    await user.should_see('Enter a whole number.')
    more.clear().type('400')
    press(user, 'Add')
    await user.should_see('485 of 500 left', retries=30)
    await conductor.cancel(run)
    await user.should_not_see('Add budget', retries=30)


async def test_a_silent_agent_is_marked(user: User, monkeypatch):
    monkeypatch.setattr(agent_pane, 'SILENT_AFTER', 0.1)
    conductor, run = await start_run(FakeModel(asyncio.Event()))
    await user.open(f'/runs/{run}')
    await user.should_see('silent', retries=40)
    await conductor.pause(run)
    await user.should_not_see('silent', retries=40)


class GatedModel(FakeModel):
    """A model that ends the reviewer's reply only when its gate opens."""

    def __init__(self) -> None:
        super().__init__(pipeline_reply)
        self.gate = asyncio.Event()

    async def stream(self, request):
        async for event in super().stream(request):
            if isinstance(event, Completed) and request.hints.role == 'reviewer':
                await self.gate.wait()
            yield event


async def test_tokens_of_a_reply_are_estimated_until_it_has_ended(user: User):
    model = GatedModel()
    conductor, run = await start_run(model)
    await user.open(f'/runs/{run}')
    await user.should_see('≈', retries=60)
    model.gate.set()
    await user.should_see('Done', retries=60)
    usage = (await conductor.info(run)).usage
    await user.should_see(f'{usage.input + usage.output} tokens', retries=60)
    await user.should_not_see('≈')


async def test_a_stopped_agent_is_not_shown_as_done(user: User, monkeypatch):
    cut: list[Conversation] = []

    def note(talk: Conversation) -> None:
        cut.append(talk)

    monkeypatch.setattr(Conversation, 'reset', note)
    conductor, run = await start_run(GatedModel())
    await user.open(f'/runs/{run}')
    await user.should_see('≈', retries=60)  # the reviewer is replying
    await conductor.cancel(run)
    await user.should_see('Cancelled', retries=60)
    labels = {str(element.props.get('aria-label')): element for element in user.client.elements.values()}
    assert {'Analyzer: done', 'Reviewer: stopped'} <= labels.keys()
    press_labelled(user, 'Reviewer: stopped')
    await until(lambda: cut)
    assert [talk.props['label'] for talk in cut] == ['Conversation of Reviewer']  # its unfinished text


async def test_deleting_an_unfinished_run_needs_confirmation(user: User):
    conductor = open_conductor(FakeModel(asyncio.Event()), run_page, runs_page)
    run = (await conductor.start('pipeline', {'task': 'anything'})).id
    await user.open(f'/runs/{run}')
    await user.should_see('Running', retries=30)
    for answer, status in (('Keep running', 'running'), ('Cancel and delete', 'cancelled')):
        press_labelled(user, 'More')
        await user.should_see('Delete run', retries=30)
        press(user, 'Delete run')
        await user.should_see('It will be cancelled, which cannot be undone', retries=30)
        click(user, answer)
        await hide_answered(user)
        await user.should_not_see('It will be cancelled, which cannot be undone', retries=30)
        if status == 'cancelled':
            await user.should_see('Deleted “', retries=30)  # shown once the deletion is done
        info = await conductor.info(run)
        assert (info.status, bool(info.deleted)) == (status, status == 'cancelled')
    await user.should_see('No runs yet.', retries=30)
    press(user, 'Undo')
    await user.should_not_see('No runs yet.', retries=30)
    assert not (await conductor.info(run)).deleted


def never_approves(request):
    reply = call_a_tool_first(request)
    return {**reply, 'approved': False} if isinstance(reply, dict) and 'approved' in reply else reply


async def test_a_result_that_was_not_approved_is_done_with_issues(user: User):
    run = await finish_run(FakeModel(never_approves), {'task': 'anything', 'max_iterations': 1})
    await user.open(f'/runs/{run}')
    await see(user, 'Done with issues', 'not approved after 1 revision')


async def test_a_damaged_run_is_shown_up_to_the_damage(user: User):
    journal = DamagedJournal()
    conductor = open_conductor(FakeModel(pipeline_reply), journal=journal)
    run = await complete_run(conductor, 'pipeline', {'task': 'anything'})
    journal.damaged = 9
    for step in (3, 8):
        await user.open(f'/runs/{run}?at={step}')
        await see(user, f'step 9 of run {run} is missing', f'Step {step}', retries=30)


async def test_the_page_of_a_damaged_step_links_to_the_step_before(user: User):
    serve_assets()
    ui.page('/damaged')(lambda: errors.read_error(StepDamaged('a1', 9, 'is missing')))
    response = await user.http_client.get('/damaged')
    assert response.status_code == 500
    assert 'Step 9 of run a1 is missing' in response.text and 'Show the run up to step 8' in response.text
