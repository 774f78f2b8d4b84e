"""Marking answers: blind, by buttons and keys, and what is left to mark in the inbox."""

from dataclasses import replace

import pytest
from nicegui import ui
from nicegui.testing import User

from engine import LocalConductor
from engine.operations import Role
from engine.operations.experiments import Experiment, ScorerSpec
from engine.runtime.run_factory import acting_as
from tests.pages.experiments.conftest import LOAVES
from tests.support.pages.clicks import click, see

PEOPLE = ScorerSpec(name='people', kind='people')
BESIDE = ScorerSpec(name='people', kind='people', settings={'compare': True})
TWO = LOAVES.variants[:2]


@pytest.fixture
async def alone(conductor: LocalConductor) -> Experiment:
    """An experiment over whose answers wait to be marked one by one."""
    return (await conductor.experiment(replace(LOAVES, variants=TWO, scorers=(PEOPLE,)))).experiment


@pytest.fixture
async def beside(conductor: LocalConductor) -> Experiment:
    """One whose answers wait to be compared."""
    return (await conductor.experiment(replace(LOAVES, variants=TWO, scorers=(BESIDE,)))).experiment


async def press_key(pages: User, key: str) -> None:
    """Press a key on the page."""
    assert pages.client
    (keyboard,) = [item for item in pages.client.elements.values() if isinstance(item, ui.keyboard)]
    pressed = {'action': 'keydown', 'repeat': False, 'key': key, 'code': '', 'location': 0}
    modifiers = dict.fromkeys(('altKey', 'ctrlKey', 'metaKey', 'shiftKey'), False)
    for listener in keyboard._event_listeners.values():
        with pages.client:
            listener.handler(type('Event', (), {'args': pressed | modifiers})())


async def test_answers_are_marked_one_by_one_without_the_names_of_variants(
    pages: User, conductor: LocalConductor, alone: Experiment
) -> None:
    await pages.open(f'/experiments/{alone.id}/mark')
    await see(pages, 'Very good', 'Skip', '0 answers marked')
    await pages.should_not_see('as it is')
    await pages.should_not_see('wrong')
    click(pages, 'Very good')
    await see(pages, '1 answer marked', retries=20)
    (mark,) = await conductor.experiments.marks(alone.id)
    assert (mark.value, mark.over, mark.author) == (1.0, '', 'ada')


async def test_keys_mark_two_answers_side_by_side(
    pages: User, conductor: LocalConductor, beside: Experiment
) -> None:
    await pages.open(f'/experiments/{beside.id}/mark')
    await see(pages, 'A is better', 'B is better')
    await press_key(pages, '3')
    await see(pages, '1 answer marked', retries=20)
    (mark,) = await conductor.experiments.marks(beside.id)
    assert mark.value == 0.0 and mark.over


async def test_the_inbox_and_the_experiment_lead_to_what_is_to_be_marked(
    pages: User, conductor: LocalConductor, beside: Experiment
) -> None:
    await pages.open('/inbox')
    await see(pages, 'Loaves', '8 answers wait to be marked', 'Mark answers', retries=20)
    await pages.open('/')
    await see(pages, 'Needs you (8)', 'Mark 8 answers', retries=20)
    with acting_as('ada'):
        for pairing in (await conductor.experiments.to_mark(beside.id, 100))[:-1]:
            await conductor.experiments.mark(beside.id, pairing.cell, over=pairing.over, value=0.5)
        assert [item.left for item in await conductor.experiments.unmarked()] == [1]
        (last,) = await conductor.experiments.to_mark(beside.id, 100)
        await conductor.experiments.mark(beside.id, last.cell, over=last.over, value=0.5)
        assert await conductor.experiments.unmarked() == []
    with acting_as('ben'):
        assert [item.left for item in await conductor.experiments.unmarked()] == [8], 'each has their own'
    await pages.open(f'/experiments/{beside.id}/mark')
    await see(pages, 'Nothing is left to mark')


@pytest.mark.parametrize('role', [Role.VIEWER])
async def test_who_may_not_mark_is_not_told_that_they_should(pages: User, beside: Experiment) -> None:
    for path in ('/', '/inbox', f'/experiments/{beside.id}'):
        await pages.open(path)
        await pages.should_not_see('Mark')
