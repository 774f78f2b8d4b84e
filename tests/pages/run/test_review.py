"""The review of agents' work: versions side by side, selected changes, comments, and merge problems."""

from __future__ import annotations

import pytest
from nicegui import ui
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from tests.support.harness import complete_run
from tests.support.pages.clicks import click, see
from tests.support.teams.merging import Making, make_project

MAX_LOOKS = 200


def tick(pages: User, name: str) -> None:
    """Tick the checkbox of this name."""
    (box,) = (box for box in pages.find(ui.checkbox).elements if box.text == name)
    with pages.client:
        box.value = True


async def test_changes_of_one_agent_are_picked_one_by_one(pages, conductor):
    conductor.catalog.add(Making)
    run = await complete_run(conductor, 'making', title='Make it')
    await pages.open(f'/runs/{run}/review')
    await see(pages, '0 files of 1 selected', 'Change 2, line', retries=MAX_LOOKS)
    await pages.should_see('Cannot be merged: the run was given no project')
    tick(pages, 'one')
    await pages.should_see('1 file of 1 selected', retries=MAX_LOOKS)
    mergeable = await conductor.merging.mergeable(run)
    assert set(mergeable.folders) == {'one', 'two'} and mergeable.best == ''
    tick(pages, 'two')
    await pages.should_see('1 file of 1 selected', retries=MAX_LOOKS)
    ticked = {box.text for box in pages.find(ui.checkbox).elements if box.value}
    assert 'two' in ticked and 'one' not in ticked


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path / 'project')


async def test_test_results_stay_during_the_merge_preview(pages, conductor, project):
    if problem := await conductor.sandbox.problem():
        pytest.skip(problem)
    conductor.catalog.add(Making)
    run = await complete_run(conductor, 'making', {'project': str(project)})
    await pages.open(f'/runs/{run}/review')
    await pages.should_see('0 files of 1 selected', retries=MAX_LOOKS)
    tick(pages, 'one')
    click(pages, 'Run tests')
    await pages.should_see('Tests pass.', retries=MAX_LOOKS)
    click(pages, 'Preview merge')
    await see(pages, 'Changes 1 file on main', 'Tests pass.', retries=MAX_LOOKS)
    tick(pages, 'two')
    await pages.should_not_see('Tests pass.', retries=MAX_LOOKS)
    await pages.should_not_see('Changes 1 file on main')


async def test_a_comment_is_kept_until_it_is_sent_back(pages, conductor):
    conductor.catalog.add(Making)
    run = await complete_run(conductor, 'making')
    await pages.open(f'/runs/{run}/review')
    (field,) = pages.find(ui.textarea).elements
    with pages.client:
        UserInteraction(pages, {field}, None).type('Name it')
    click(pages, 'Comment')
    await see(pages, 'not sent yet', 'Send back', retries=MAX_LOOKS)


async def test_a_run_without_files_says_so(pages, conductor):
    run = await complete_run(conductor, 'pipeline', {'task': 'Compare tea and coffee'})
    await pages.open(f'/runs/{run}/review')
    await pages.should_see('have not changed any files yet', retries=MAX_LOOKS)
