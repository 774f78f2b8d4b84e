"""Custom requests without a real model: the scripted one improvises, says so, and meets the criteria."""

from __future__ import annotations

from typing import Any

import pytest

from engine import Catalog, LocalConductor, Status
from engine.journal import MemoryJournal
from engine.models.scripted import has_scenario
from engine.models.scripted.model import Scripted
from engine.models.scripted.tool_agents import FILLER
from engine.records import Outcome
from tests.support.harness import FakeModel, HastyClock

TALK = '\n'.join(
    f'{who}: {line}'
    for who, line in (
        ('Anna', 'Welcome to the show about bees on the roofs of this city.'),
        ('Bob', 'A hive on a roof weighs more than people think it does.'),
        ('Anna', 'And what do the neighbours say when they find out about it?'),
        ('Bob', 'Most of them ask for honey, and then they come back for more.'),
    )
)
POST: dict[str, Any] = {'request': 'Write about bees on city roofs'}
EPISODE = {'request': 'What is in this?', 'transcript': f'{TALK}\n'}


async def play(pattern: str, parameters: dict[str, Any], model: Any = None) -> Outcome:
    catalog = Catalog.load()
    catalog.models['scripted'] = model or Scripted(pace=0)
    async with LocalConductor(MemoryJournal(), catalog=catalog, clock=HastyClock()) as conductor:
        run = (await conductor.start(pattern, parameters)).id
        outcome = await conductor.result(run)
        assert await conductor.audit(run)
    return outcome


@pytest.mark.parametrize('mode', ['dynamic', 'fixed', 'compare'])
@pytest.mark.parametrize(('pattern', 'parameters'), [('blog', POST), ('podcast', EPISODE)])
async def test_custom_requests_are_carried_out_and_marked_as_filler(
    pattern: str, parameters: dict[str, Any], mode: str
) -> None:
    outcome = await play(pattern, {**parameters, 'mode': mode})
    assert outcome.status is Status.DONE, outcome.error
    assert FILLER in outcome.answer and 'CONTENT_COMPLETE' not in outcome.answer
    assert not outcome.memory['caveat']


async def test_notes_of_a_custom_episode_quote_it() -> None:
    outcome = await play('podcast', EPISODE)
    assert '“A hive on a roof weighs more than people think it does.”' in outcome.answer


@pytest.mark.parametrize('mode', ['dynamic', 'fixed'])
@pytest.mark.parametrize('transcript', ['Anna: Hi.\nBob: Bye.\n', 'Hello there, this is it.', 'A: x\n'])
async def test_notes_of_a_short_episode_meet_the_criteria_and_quote_nothing_else(
    transcript: str, mode: str
) -> None:
    outcome = await play('podcast', {**EPISODE, 'transcript': transcript, 'mode': mode})
    assert (outcome.status, outcome.error) == (Status.DONE, '')
    quoted = [line for line in outcome.answer.splitlines() if line.startswith('- “')]
    assert quoted and all(line[3:-1] in transcript for line in quoted)


async def test_sections_of_an_improvised_post_differ() -> None:
    answer = (await play('blog', {**POST, 'mode': 'fixed'})).answer
    headings = [line for line in answer.splitlines() if line.startswith('## ')]
    assert len(headings) == len(set(headings)) > 1


async def test_the_failure_quotes_an_agent_that_stops_too_early() -> None:
    outcome = await play('podcast', EPISODE, FakeModel('I may not open files.'))
    assert outcome.status is Status.FAILED
    assert outcome.error.endswith('It said last: I may not open files.')


def test_a_scenario_fits_only_the_project_it_is_about() -> None:
    task = 'The spans tests fail: find the bug and fix it'
    assert has_scenario('debugger', task, {'project': 'sample:spans'})
    assert not has_scenario('debugger', task, {'project': '/home/me/spans'})
    assert not has_scenario('debugger', 'Something is wrong', {'project': 'sample:spans'})
