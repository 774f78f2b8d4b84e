"""The debate board and the candidates without a browser: long debates, replays, choices, seats."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from nicegui import ui
from nicegui.testing import User

from engine import Conductor, Status
from tests.pages.clicks import click
from tests.reviewing import begin, conducting, everybody, position, writing
from tests.support import settled
from ui.door import Door
from ui.pages import run as run_page
from ui.theme import serve_assets

LONG = 'I insist on what I have said before, with all the words that it takes. ' * 40
BEST = position('REVISE_BEST', 'coder1')


@pytest.fixture
def door() -> Door:
    return Door()


def served(door: Door, conductor: Conductor) -> None:
    door.open(conductor)
    serve_assets()
    run_page.register(door)


def stubborn(request: Any) -> dict[str, Any]:
    """A reviewer who holds its own coder for the best, for ever, at length."""
    best = request.hints.role.replace('reviewer', 'coder')
    points = [f'{best} goes first, {LONG}'] * 3
    return position('REVISE_BEST', best, agrees=False, insists=points, rests_on=points) | {'text': LONG}


async def test_a_long_debate_without_an_end_is_synthesized_and_replayed(user: User, door: Door):
    script = everybody(stubborn, position('APPROVE', 'coder1'), reviewers=3)
    script['synthesizer'] = position('REVISE_BEST', 'coder2', changes=['do both'])
    async with conducting(script) as here:
        served(door, here)
        run = await begin(here, reviewers=3, max_rounds=5, max_revisions=1)
        await here.result(run)
        steps = await here.transitions(run)
        await user.open(f'/runs/{run}')
        click(user, 'Debate')
        for told in ('Round 5', 'No consensus: synthesized', 'do both', 'Final review', 'Consensus'):
            await user.should_see(told)
        await user.should_see('cannot approve anything')
        assert len(user.find(content='Insists').elements) >= 3 * 5
        spoke = [step.seq for step in steps if any(c.path == '/memory/transcript/-' for c in step.changes)]
        await user.open(f'/runs/{run}?at={spoke[3]}')  # three reviews, and the first word of the debate
        await user.should_see('Round 1')
        await user.should_not_see('Round 2')
        await user.should_not_see('No consensus: synthesized')
        await user.open(f'/runs/{run}?at=2')
        click(user, 'Debate')
        await user.should_see('Nobody has reviewed anything yet.')
        click(user, 'Candidates')
        await user.should_see('Nobody has made a version yet.')


async def test_a_choice_is_asked_for_confirmed_and_can_be_left(user: User, door: Door):
    async with conducting(everybody(BEST, coder2=writing('bad'))) as here:
        served(door, here)
        run = await begin(here, pick='person', max_revisions=1)
        await settled(here, run, 'picking')
        await user.open(f'/runs/{run}')
        await user.should_see('Choose the implementation that the run goes on with', retries=30)
        await user.should_see('your decision')
        await user.should_see('1 failed')
        await user.should_not_see('Which implementation a person chooses.')  # asked twice, once without facts
        click(user, 'Take coder3')
        await user.should_see('Take coder3?', retries=30)
        click(user, 'Not yet')
        await user.should_not_see('Take coder3?', retries=30)
        assert (await here.view(run)).waiting == 'choice'
        click(user, 'Take coder3')
        await user.should_see('Take coder3?', retries=30)
        click(user, 'Take it')
        outcome = await here.result(run)
        assert outcome.memory['choices'][0]['by'] == 'person'
        click(user, 'Candidates')
        await user.should_see('Picked: by a person', retries=60)
        await user.should_not_see('Choose the implementation that the run goes on with')


async def test_a_person_takes_files_and_settles_a_conflict(user: User, door: Door):
    extra = {f'coder{n}': writing(f'good {n}', ('extra.py', f'x = {n}\n')) for n in (1, 2, 3)}
    plan = {'files': [{'path': 'extra.py', 'coder': f'coder{n}'} for n in (2, 3)], 'why': 'both'}
    async with conducting(everybody(BEST, merger=plan, **extra)) as here:
        served(door, here)
        run = await begin(here, merge='files', conflicts='person', max_revisions=1)
        await settled(here, run, 'merging.resolving')
        await user.open(f'/runs/{run}')
        click(user, 'Candidates')
        await user.should_see('Two files stand against each other', retries=30)
        await user.should_see('as coder3 has it')
        click(user, 'Settle them')
        outcome = await here.result(run)
        assert outcome.memory['taken'] == {'extra.py': 'coder2'}
        await user.should_see('Merged: extra.py from coder2', retries=60)
    async with conducting(everybody(BEST, **extra)) as here:
        door.open(here)
        run = await begin(here, merge='files', files_by='person', max_revisions=1)
        await settled(here, run, 'merging.listing')
        await user.open(f'/runs/{run}')
        await user.should_see('Choose the files that are taken into the best one', retries=30)
        await user.should_see('from coder3')
        click(user, 'Take these files')
        assert (await here.result(run)).memory['plan']['files'] == []


async def test_a_person_speaks_in_a_seat_and_hands_it_back(user: User, door: Door):
    hold = asyncio.Event()
    script = everybody(BEST, coder2=lambda request: hold)
    async with conducting(script) as here:
        served(door, here)
        run = await begin(here, coders=2, max_revisions=0)
        await user.open(f'/runs/{run}')
        click(user, 'Debate')
        await user.should_see('Nobody has reviewed anything yet.', retries=30)
        (button,) = [
            one for one in user.find(kind=ui.element).elements if says(one, 'Take the seat: Reviewer 2')
        ]
        press(user, button)
        await user.should_see('Hand back', retries=30)
        hold.set()
        await user.should_see('It is your turn, in the seat of reviewer 2', retries=100)
        await user.should_see('A person has the word')
        await user.should_see('your turn')
        click(user, 'Say it')
        await user.should_see('Fill this in.', retries=30)
        assert (await here.view(run)).waiting == 'word'
        (words,) = user.find(kind=ui.textarea).elements - others(user)
        words.set_value('Not before it is tested.')
        click(user, 'Say it')
        await settled(here, run, 'debating.reviewer2.person')
        await user.should_see('Not before it is tested.', retries=60)
        click(user, 'Hand the seat back')
        outcome = await here.result(run)
        assert outcome.status is Status.DONE
        debate = [said for said in outcome.memory['transcript'] if said['phase'] == 'debate']
        assert [said['human'] for said in debate if said['speaker'] == 'reviewer2'] == [True, False]
        await user.should_not_see('It is your turn', retries=60)


def says(element: ui.element, label: str) -> bool:
    return element.visible and element.props.get('aria-label') == label


def others(user: User) -> set[Any]:
    """The areas of a form that are in a fold: more of a position."""
    return {
        area
        for area in user.find(kind=ui.textarea).elements
        if any(parent.tag == 'details' for parent in area.ancestors())
    }


def press(user: User, button: ui.element) -> None:
    with user.client:
        for listener in button._event_listeners.values():
            if listener.type == 'click':
                button._handle_event({'listener_id': listener.id, 'args': {}})
