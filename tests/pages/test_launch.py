"""The launch page in a simulated browser: forms of any pattern, and how a start is refused."""

from typing import Literal

import pytest
from nicegui import ui
from pydantic import BaseModel, Field

from engine import Budget, JournalUnavailable, Pattern, RunQuery, Status
from tests.pages.clicks import click
from ui.launch.launcher import Launcher
from ui.launch.options import Limits, values_of
from ui.pages import launch


class Wide(Pattern):
    """As many stations as one asks for."""

    class Parameters(BaseModel):
        topic: str = Field(min_length=1, title='Topic')
        tone: Literal['dry', 'warm'] = Field('dry', title='Tone')
        names: list[str] = Field([], title='Names')
        max_seconds: float | None = Field(None, gt=0, title='Time')

    initial = 'ready'
    states = ({'name': 'ready'}, {'name': 'over', 'final': True})
    transitions = (['always', 'ready', 'over'],)


@pytest.fixture
def launchers(monkeypatch):
    """The launchers that pages have made, the newest last."""
    made = []

    class Kept(Launcher):
        def __init__(self, door, pattern):
            super().__init__(door, pattern)
            made.append(self)

    monkeypatch.setattr(launch, 'Launcher', Kept)
    return made


async def test_a_form_is_drawn_for_any_pattern(pages, conductor):
    conductor.catalog.add(Wide)
    await pages.open('/launch/wide')
    for text in ('As many stations as one asks for.', 'Topic', 'Tone', 'Names', 'Budgets', 'Time', 'Options'):
        await pages.should_see(text)
    await pages.should_see('Simulated: the scripted model answers.')


async def test_a_start_that_the_journal_refuses_keeps_the_form(pages, conductor, monkeypatch):
    conductor.catalog.add(Wide)

    async def create(info, shape):
        raise JournalUnavailable('the disk is full')

    monkeypatch.setattr(conductor.journal, 'create', create)
    await pages.open('/launch/wide')
    topic = min(pages.find(ui.input).elements, key=lambda element: element.id)
    topic.set_value('trams')
    click(pages, 'Run')
    await pages.should_see('The run did not start: the disk is full.')
    assert topic.value == 'trams'
    monkeypatch.undo()
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    assert (await conductor.runs(RunQuery())).total == 1


async def test_a_budget_is_given_to_the_run_and_used_again(pages, conductor, launchers):
    conductor.catalog.add(Wide)
    await pages.open('/launch/wide')
    form, named = launchers[0]._form, launchers[0]._limits.controls
    with pages:
        form.controls['topic'].put('trams', by_user=True)
        named['tokens'].put('0', by_user=True)
    click(pages, 'Run')
    await pages.should_see('Must be 1 or more.')
    with pages:
        for name, value in (('tokens', '5000'), ('cost', '0.5'), ('warn', '60')):
            named[name].put(value, by_user=True)
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    (info,) = (await conductor.runs()).runs
    assert info.budget == Budget(tokens=5000, cost=0.5, warn=0.6)
    await pages.open(f'/launch/wide?again={info.id}')
    raw = launchers[1]._limits.raw
    assert (raw['tokens'], raw['cost'], raw['seconds'], raw['warn']) == ('5000', '0.5', '', '60')


def test_no_limit_is_no_budget():
    assert Limits(warn=50).budget is None
    assert Limits(seconds=9).budget == Budget(seconds=9)
    assert values_of(None) == {}


async def test_an_input_is_used_again(pages, conductor):
    run = await conductor.start('pipeline', {'task': 'What is a hemicycle?', 'max_iterations': 1})
    await pages.open(f'/launch/pipeline?again={run}')
    await pages.should_see('What is a hemicycle?')
    await conductor.result(run)


async def recorded(conductor, **more):
    run = await conductor.start('pipeline', {'task': 'What is a hemicycle?', **more}, record=True, seed=7)
    assert (await conductor.result(run)).status is Status.DONE
    return run


async def newest(conductor):
    return (await conductor.runs(RunQuery(limit=1))).runs[0]


async def test_a_run_is_started_again_from_its_recording(pages, conductor, launchers):
    first = await recorded(conductor, max_iterations=1)
    await pages.open(f'/launch/pipeline?replay={first}')
    await pages.should_see('The recording answers in place of all models.')
    await pages.should_see('Replayed: answers come from the recording.')
    await pages.should_not_see('Model for all roles')
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    made = await newest(conductor)
    assert (await conductor.result(made.id)).answer == (await conductor.result(first)).answer
    assert (made.options, made.seed) == ({'approvals': 'marked', 'replay': first}, 7)
    spending = (await conductor.view(made.id)).spending
    assert {spent.origins for spent in spending.values()} == {('replayed',)}


async def test_a_recording_is_picked_in_the_form_and_let_go_of_again(pages, conductor, launchers):
    await recorded(conductor)
    await pages.open('/launch/pipeline')
    await pages.should_see('Replay a recording')
    with pages:
        launchers[0]._play(await newest(conductor))
    await pages.should_see('The recording answers in place of all models.')
    click(pages, 'Call models instead')
    await pages.should_not_see('The recording answers in place of all models.')
    await pages.should_see('Simulated: the scripted model answers.')
    await pages.should_see('Model for all roles')


async def test_a_recording_that_is_gone_is_said(pages, conductor, launchers):
    first = await recorded(conductor)
    conductor.recordings.path(first).unlink()
    await pages.open(f'/launch/pipeline?replay={first}')
    click(pages, 'Run')
    await pages.should_see('The run did not start: ')
    await pages.should_see('has no recording')


@pytest.mark.parametrize('name', ['nothing', 'x' * 3_000, '%3Cb%3E'])
async def test_an_unknown_pattern_names_those_there_are(pages, name):
    answer = await pages.http_client.get(f'/launch/{name}')
    assert answer.status_code == 404
    assert 'There is no pattern' in answer.text
    assert 'Pipeline' in answer.text


async def test_an_unknown_address_has_a_page(pages, caplog):
    answer = await pages.http_client.get('/nowhere')
    assert answer.status_code == 404
    assert 'There is no page here' in answer.text
