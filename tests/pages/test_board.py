"""The debate board and the candidates without a browser: long debates, replays, choices, seats."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.testing import User

from engine import SimulatedClock, Status
from tests.support.harness import wait_for_state
from tests.support.pages.clicks import answer, click, labelled, press, press_labelled, see
from tests.support.pages.serving import serve
from tests.support.teams.parallel_review import BEST, begin, everybody, position, review_conductor, writing
from tests.support.teams.time_bounded import QUICK, good, make_conductor

LONG = 'I insist on what I have said before, with all the words that it takes. ' * 40


def stubborn(request: Any) -> dict[str, Any]:
    """A verbose reviewer who always considers its own coder the best."""
    best = request.hints.role.replace('reviewer', 'coder')
    points = [f'{best} goes first, {LONG}'] * 3
    return position('REVISE_BEST', best, agrees=False, insists=points, rests_on=points) | {'text': LONG}


async def test_an_undecided_debate_is_synthesized_and_replayed(user: User):
    script = everybody(stubborn, position('APPROVE', 'coder1'), reviewers=3)
    script['synthesizer'] = position('REVISE_BEST', 'coder2', changes=['do both'])
    async with review_conductor(script) as conductor:
        serve(conductor)
        run = await begin(conductor, reviewers=3, max_rounds=5, max_revisions=1)
        await conductor.result(run)
        steps = await conductor.transitions(run)
        await user.open(f'/runs/{run}')
        click(user, 'Debate')
        await see(user, 'Round 5', 'No consensus: synthesized', 'do both', 'Final review', 'Consensus')
        await user.should_see('cannot approve anything')
        assert len(user.find(content='Insists').elements) >= 3 * 5
        spoke = [step.seq for step in steps if any(c.path == '/memory/transcript/-' for c in step.changes)]
        await user.open(f'/runs/{run}?at={spoke[3]}')  # after three reviews and one statement
        click(user, 'Debate')
        await user.should_see('Round 1')
        await user.should_not_see('Round 2')
        await user.should_not_see('No consensus: synthesized')
        await user.open(f'/runs/{run}?at=2')
        click(user, 'Debate')
        await user.should_see('No reviews yet.')
        click(user, 'Candidates')
        await user.should_see('No candidates yet.')


async def test_a_choice_is_confirmed_or_abandoned(user: User):
    async with review_conductor(everybody(BEST, coder2=writing('bad'))) as conductor:
        serve(conductor)
        run = await begin(conductor, pick='person', max_revisions=1)
        await wait_for_state(conductor, run, 'picking')
        await user.open(f'/runs/{run}')
        await user.should_see('your decision', retries=30)
        await user.should_not_see('Choose an implementation')  # no tab opens by itself
        click(user, 'Candidates')
        await user.should_see('Choose an implementation', retries=30)
        await user.should_see('the test command failed; it reported no tests')
        # The question would appear twice, once without facts.
        await user.should_not_see('The implementation that a person chooses.')
        click(user, 'Choose coder3')
        await user.should_see('Choose coder3?', retries=30)
        answer(user, 'Cancel')
        await user.should_not_see('Choose coder3?', retries=30)
        assert (await conductor.view(run)).waiting == 'choice'
        click(user, 'Choose coder3')
        await user.should_see('Choose coder3?', retries=30)
        answer(user, 'Choose')
        outcome = await conductor.result(run)
        assert outcome.memory['choices'][0]['by'] == 'person'
        click(user, 'Candidates')
        await user.should_see('Picked: by a person', retries=60)
        await user.should_not_see('Choose an implementation')


async def test_a_person_picks_files_and_resolves_a_conflict(user: User):
    extra = {f'coder{n}': writing(f'good {n}', ('extra.py', f'x = {n}\n')) for n in (1, 2, 3)}
    plan = {'files': [{'path': 'extra.py', 'coder': f'coder{n}'} for n in (2, 3)], 'why': 'both'}
    async with review_conductor(everybody(BEST, merger=plan, **extra)) as conductor:
        serve(conductor)
        run = await begin(conductor, merge='files', conflicts='person', max_revisions=1)
        await wait_for_state(conductor, run, 'merging.resolving')
        await user.open(f'/runs/{run}')
        click(user, 'Candidates')
        await see(user, 'Conflicting files', 'version of coder3', retries=30)
        click(user, 'Resolve')
        outcome = await conductor.result(run)
        assert outcome.memory['taken'] == {'extra.py': 'coder2'}
        await user.should_see('Merged: extra.py from coder2', retries=60)
    async with review_conductor(everybody(BEST, **extra)) as conductor:
        serve(conductor)
        run = await begin(conductor, merge='files', files_by='person', max_revisions=1)
        await wait_for_state(conductor, run, 'merging.listing')
        await user.open(f'/runs/{run}')
        click(user, 'Candidates')
        await see(user, 'Choose files to merge into the best implementation', 'from coder3', retries=30)
        click(user, 'Merge these files')
        assert (await conductor.result(run)).memory['plan']['files'] == []


async def test_a_person_speaks_in_a_seat_and_hands_it_back(user: User):
    hold = asyncio.Event()
    script = everybody(BEST, coder2=lambda request: hold)
    script['debating.reviewer1.speaking'] = [
        position('REVISE_BEST', 'coder1', insists=['It is large.']),
        BEST,
    ]
    async with review_conductor(script) as conductor:
        serve(conductor)
        run = await begin(conductor, coders=2, max_revisions=0)
        await user.open(f'/runs/{run}')
        click(user, 'Debate')
        await user.should_see('No reviews yet.', retries=30)
        press_labelled(user, 'Take seat: Reviewer 2')
        await user.should_see('Return seat', retries=30)
        hold.set()
        await user.should_see('Your turn as reviewer 2', retries=100)
        await conductor.send(run, 'say', data={'reviewer': 'reviewer2', 'text': 'I have read them.'})
        await wait_for_state(conductor, run, 'debating.reviewer2.person')
        await see(user, 'A person is speaking', 'your turn', 'Points of the others', retries=100)
        stance, why = (labelled(user, label)[0] for label in ('Answer to point 1', 'Why, for point 1'))
        await send_empty_form(user)
        assert (await conductor.view(run)).waiting == 'word'
        (words,) = user.find(kind=ui.textarea).elements - collapsed_areas(user)
        words.set_value('Not before it is tested.')
        assert isinstance(stance, ValueElement) and isinstance(why, ValueElement)
        stance.set_value('rebuts')
        why.set_value('It is small.')
        click(user, 'Send')
        await wait_for_state(conductor, run, 'debating.reviewer2.person')
        await user.should_see('Not before it is tested.', retries=60)
        click(user, 'Return seat')
        outcome = await conductor.result(run)
        assert outcome.status is Status.DONE, outcome.error
        debate = [entry for entry in outcome.memory['transcript'] if entry['phase'] == 'debate']
        mine = [turn for turn in debate if turn['speaker'] == 'reviewer2']
        assert [item['human'] for item in mine] == [True, False]
        assert mine[0]['position']['answers'] == [
            {'to': 'reviewer1/1.1/1', 'stance': 'rebuts', 'why': 'It is small.'}
        ]
        await user.should_not_see('Your turn as', retries=60)


async def test_the_seats_of_a_selected_stage_are_offered(user: User):
    hold = asyncio.Event()
    script = everybody(BEST)
    script['debating.reviewer1.speaking'] = lambda request: hold
    async with review_conductor(script) as conductor:
        serve(conductor)
        run = await begin(conductor, coders=2, max_revisions=1, pick='person')
        await wait_for_state(conductor, run, 'debating.reviewer1.speaking.thinking')
        await user.open(f'/runs/{run}')
        for stage, offered in (('Final review', 'Take seat: Reviewer 1'), ('Revising', 'Take seat: Coder 1')):
            await user.should_see(stage, retries=60)
            pick(user, stage)
            await wait_for_control(user, offered)
        hold.set()
        await wait_for_state(conductor, run, 'picking')
        pick(user, 'Debating')
        await wait_for_control(user, 'Take seat: Reviewer 2')
        await conductor.send(run, 'choose', data={'candidate': 'coder1'})
        await conductor.result(run)


async def test_a_person_judges_in_the_seat_of_a_supervisor(user: User):
    async with make_conductor(good, clock=SimulatedClock()) as conductor:
        serve(conductor)
        run = (await conductor.start('time-bounded', QUICK, paused=True)).id
        await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
        await conductor.resume(run)
        await wait_for_state(conductor, run, 'working.planning.reviewing.person')
        await user.open(f'/runs/{run}')
        await user.should_see('Judge', retries=60)
        await wait_for_control(user, 'Return seat: Supervisor')
        (hand_back,) = shown_controls(user, 'Return seat: Supervisor')
        press(user, hand_back)
        assert (await conductor.result(run)).status is Status.DONE


def pick(user: User, stage: str) -> None:
    """Press the button of a stage, whatever its status."""
    (button,) = [
        element
        for element in user.find(kind=ui.element).elements
        if str(element.props.get('aria-label', '')).startswith(f'{stage}: ')
    ]
    press(user, button)


def shown_controls(user: User, label: str) -> list[ui.element]:
    """Return the visible controls with this accessible name that are in visible parts."""
    return [
        element for element in labelled(user, label) if all(around.visible for around in element.ancestors())
    ]


async def wait_for_control(user: User, label: str) -> None:
    """Wait for a visible control with visible parents."""
    for _ in range(100):
        if shown_controls(user, label):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f'{label} is not shown')


async def send_empty_form(user: User) -> None:
    """Send the empty form until it is refused: the form of the first review may still be shown at first."""
    for _ in range(20):
        click(user, 'Send')
        with contextlib.suppress(AssertionError):
            await user.should_see('Enter a value.', retries=3)
            return
    raise AssertionError('the empty form is not refused')


async def test_points_show_rebuttals_and_unanswered_ones(user: User):
    script = everybody(BEST)
    insists = ['tests first', 'no globals']
    script['debating.reviewer1.speaking'] = [BEST | {'agrees': False, 'insists': insists}, BEST]
    answer = {'to': 'reviewer1/1.1/1', 'stance': 'rebuts', 'why': 'It has some.'}
    script['debating.reviewer2.speaking'] = position('REVISE_ALL', agrees=False, answers=[answer])
    script['synthesizer'] = BEST
    async with review_conductor(script) as conductor:
        serve(conductor)
        run = await begin(conductor, coders=2, max_revisions=0, max_rounds=1)
        await conductor.result(run)
        await user.open(f'/runs/{run}')
        click(user, 'Debate')
        await user.should_see('Rebutted by Reviewer 2: It has some.', retries=60)
        await user.should_see('Rebuts Reviewer 1: “tests first”')
        assert len(user.find(content='Unanswered').elements) == 1


async def test_a_comment_on_a_line_is_sent_to_the_coder(user: User):
    async with review_conductor(everybody(BEST)) as conductor:
        serve(conductor)
        run = await begin(conductor, coders=2, max_revisions=1, pick='person')
        await wait_for_state(conductor, run, 'picking')
        await user.open(f'/runs/{run}')
        click(user, 'Candidates')
        await user.should_see('Read and comment', retries=60)
        (part,) = labelled(user, 'Comments on lines')
        (text,) = [element for element in part.descendants() if isinstance(element, ui.textarea)]
        text.set_value('Say why.')
        click(user, 'Comment')
        await see(user, 'Say why.', 'A person, version 1 · open', retries=60)
        await conductor.send(run, 'choose', data={'candidate': 'coder1'})
        outcome = await conductor.result(run)
        assert outcome.memory['comments'][0] == {
            'candidate': 'coder1', 'path': 'work.txt', 'line': 1, 'text': 'Say why.', 'version': 1, 'by': '',
            'sent': 1,
        }  # fmt: skip
        await user.should_see('A person, version 1 · sent to its coder', retries=60)


async def test_a_person_hands_in_files_in_a_coders_seat(user: User):
    hold = asyncio.Event()
    async with review_conductor(everybody(BEST, coder1=lambda request: hold)) as conductor:
        serve(conductor)
        run = await begin(conductor, coders=2, max_revisions=0)
        await wait_for_state(conductor, run, 'implementing.coder1.working.thinking')
        await conductor.send(run, 'take_seat', data={'seat': 'coder1'})
        await wait_for_state(conductor, run, 'implementing.coder1.person')
        await user.open(f'/runs/{run}')
        click(user, 'Candidates')
        await see(user, 'Your turn as coder 1', 'No files changed yet.', retries=60)
        (seat,) = labelled(user, 'Your work')
        fields = [element for element in seat.descendants() if isinstance(element, ui.input)]
        (path,) = [field for field in fields if not isinstance(field, ui.textarea)]
        text, words = (element for element in seat.descendants() if isinstance(element, ui.textarea))
        path.set_value('work.txt')
        text.set_value('good by hand')
        words.set_value('I wrote it myself.')
        await user.should_see('To submit: work.txt')
        click(user, 'Submit')
        outcome = await conductor.result(run)
        assert outcome.memory['candidates']['coder1']['versions'][0]['said'] == 'I wrote it myself.'
        await user.should_not_see('Your turn as', retries=60)


def collapsed_areas(user: User) -> set[Any]:
    """Return the text areas in a form's collapsed section."""
    return {
        area
        for area in user.find(kind=ui.textarea).elements
        if any(parent.tag == 'details' for parent in area.ancestors())
    }
