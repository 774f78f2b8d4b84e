"""The launch page in a simulated browser: forms of any pattern, and how a start is refused."""

from typing import Literal

import pytest
from nicegui import ui
from pydantic import BaseModel, Field

from engine import Budget, Pattern, Status
from engine.charts.library import ChartLibrary
from engine.errors import JournalUnavailable
from engine.models.endpoint import Endpoint
from engine.models.http.endpoint_settings import EndpointSettings
from engine.records import RunQuery
from tests.support.charts.files import chart_text
from tests.support.harness import until
from tests.support.pages.clicks import click, press, see
from ui.web.pages.shared.launching.budget_limits import BudgetLimits, budget_values


class Wide(Pattern):
    """As many stations as requested."""

    class Parameters(BaseModel):
        topic: str = Field(min_length=1, title='Topic')
        tone: Literal['dry', 'warm'] = Field('dry', title='Tone')
        names: list[str] = Field([], title='Names')
        max_seconds: float | None = Field(None, gt=0, title='Time')

    initial = 'ready'
    states = ({'name': 'ready'}, {'name': 'over', 'final': True})
    transitions = (['always', 'ready', 'over'],)


async def test_an_earlier_version_is_launched_from_a_form_of_its_own(pages, conductor, launchers, tmp_path):
    charts = ChartLibrary(conductor.catalog, tmp_path)
    one = charts.save('ask', chart_text('first'), base='')
    charts.save('ask', chart_text('second'), base=one.version)
    charts.show(charts.look())
    await pages.open('/launch/ask')
    await pages.should_not_see('This is version')
    await pages.open(f'/launch/ask?version={one.version}')
    await see(pages, f'This is version 1 ({one.version}), not the current one.', 'Current version')
    await launchers[-1].start()
    (run,) = (await conductor.runs()).runs
    assert run.version == one.version
    assert (await pages.http_client.get('/launch/ask?version=0')).status_code == 404


async def test_a_form_is_drawn_for_any_pattern(pages, conductor):
    conductor.catalog.add(Wide)
    await pages.open('/launch/wide')
    await see(pages, 'As many stations as requested.', 'Topic', 'Tone', 'Names', 'Budgets', 'Time', 'Options')
    await pages.should_see('Simulated: the scripted model answers.')


async def test_a_run_can_be_private_where_people_log_in(pages, backend, conductor, launchers):
    conductor.catalog.add(Wide)
    await pages.open('/launch/wide')
    form = launchers[0]
    with pages:
        form._fields.parameters.controls['topic'].set_content('trams', by_user=True)
        form._fields.options.controls['private'].set_content(True, by_user=True)
    click(pages, 'Run')
    await pages.should_see('Here is run')
    (info,) = (await conductor.runs()).runs
    assert (info.private, info.author) == (True, 'ada')
    backend.open(conductor)
    await pages.open('/launch/wide')
    await pages.should_not_see('Private', retries=1)


async def test_a_failed_start_keeps_the_form(pages, conductor, monkeypatch):
    conductor.catalog.add(Wide)

    async def create(info, shape):
        raise JournalUnavailable('the disk is full')

    monkeypatch.setattr(conductor.journal, 'create', create)
    await pages.open('/launch/wide')
    topic = min(pages.find(ui.input).elements, key=lambda element: element.id)
    topic.set_value('trams')
    click(pages, 'Run')
    await pages.should_see('The run could not be started: the disk is full.')
    assert topic.value == 'trams'
    monkeypatch.undo()
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    assert (await conductor.runs(RunQuery())).total == 1


async def test_a_started_run_leaves_no_draft(pages, conductor, launchers):
    conductor.catalog.add(Wide)
    await pages.open('/launch/wide')
    form = launchers[0]
    with pages:
        form._fields.parameters.controls['topic'].set_content('trams', by_user=True)
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    form._on_models_edit()  # A list of models that loads late.
    assert not form._debounce.active


async def test_a_budget_is_applied_and_reused(pages, conductor, launchers):
    conductor.catalog.add(Wide)
    await pages.open('/launch/wide')
    form, named = launchers[0]._fields.parameters, launchers[0]._fields.limits.controls
    with pages:
        form.controls['topic'].set_content('trams', by_user=True)
        named['tokens'].set_content('0', by_user=True)
    click(pages, 'Run')
    await pages.should_see('Enter 1 or more.')
    with pages:
        for name, value in (('tokens', '5000'), ('cost', '0.5'), ('warn', '60')):
            named[name].set_content(value, by_user=True)
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    (info,) = (await conductor.runs()).runs
    assert info.budget == Budget(tokens=5000, cost=0.5, warn=0.6)
    await pages.open(f'/launch/wide?again={info.id}')
    raw = launchers[1]._fields.limits.raw
    assert (raw['tokens'], raw['cost'], raw['seconds'], raw['warn']) == ('5000', '0.5', '', '60')


def test_no_limit_is_no_budget():
    assert BudgetLimits(warn=50).budget is None
    assert BudgetLimits(seconds=9).budget == Budget(seconds=9)
    assert budget_values(None) == {}


async def test_an_input_is_reused(pages, conductor):
    run = (await conductor.start('pipeline', {'task': 'What is a hemicycle?', 'max_iterations': 1})).id
    await pages.open(f'/launch/pipeline?again={run}')
    await pages.should_see('What is a hemicycle?')
    await conductor.result(run)


async def record_run(conductor, **more):
    run = (
        await conductor.start('pipeline', {'task': 'What is a hemicycle?', **more}, record=True, seed=7)
    ).id
    assert (await conductor.result(run)).status is Status.DONE
    return run


async def newest(conductor):
    return (await conductor.runs(RunQuery(limit=1))).runs[0]


async def test_a_run_is_restarted_from_its_recording(pages, conductor, launchers):
    first = await record_run(conductor, max_iterations=1)
    await pages.open(f'/launch/pipeline?replay={first}')
    await see(pages, 'Model calls are answered from a recording.', 'Replay: answers come from the recording.')
    await pages.should_not_see('Model for all roles')
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    info = await newest(conductor)
    assert (await conductor.result(info.id)).answer == (await conductor.result(first)).answer
    assert (info.options, info.seed) == ({'replay': first}, 7)
    spending = (await conductor.view(info.id)).spending
    assert {spent.origins for spent in spending.values()} == {('replayed',)}


async def test_a_recording_is_picked_and_cleared(pages, conductor, launchers):
    await record_run(conductor)
    await pages.open('/launch/pipeline')
    await pages.should_see('Recordings')
    with pages:
        launchers[0]._replay_run(await newest(conductor))
    await pages.should_see('Model calls are answered from a recording.')
    click(pages, 'Call models instead')
    await pages.should_not_see('Model calls are answered from a recording.')
    await see(pages, 'Simulated: the scripted model answers.', 'Model for all roles')


async def test_a_stubbed_run_is_run_again_with_its_stubs(pages, conductor, launchers):
    stubs = {'researcher': [{'findings': ['Tea is cheap.']}]}
    first = await conductor.start('pipeline', task='Tea?', stubs=stubs)
    await conductor.result(first.id)
    await pages.open(f'/launch/pipeline?again={first.id}')
    await see(pages, 'Stubs answer instead of models.', 'for: researcher.')
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    assert (await newest(conductor)).options['stubs'] == stubs
    await pages.open(f'/launch/pipeline?again={first.id}')
    click(pages, 'Call models instead')
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    assert 'stubs' not in (await newest(conductor)).options


async def test_a_missing_recording_is_reported(pages, conductor, launchers):
    first = await record_run(conductor)
    conductor.recordings.path(first).unlink()
    await pages.open(f'/launch/pipeline?replay={first}')
    click(pages, 'Run')
    await see(pages, 'The run could not be started: ', 'has no recording')


@pytest.mark.parametrize('name', ['nothing', 'x' * 3_000, '%3Cb%3E'])
async def test_an_unknown_pattern_lists_the_known_ones(pages, name):
    answer = await pages.http_client.get(f'/launch/{name}')
    assert answer.status_code == 404
    assert 'There is no pattern' in answer.text
    assert 'Pipeline' in answer.text


async def test_an_unknown_address_has_a_page(pages, caplog):
    answer = await pages.http_client.get('/nowhere')
    assert answer.status_code == 404
    assert 'Page not found' in answer.text


async def test_inputs_without_a_sample_are_announced_as_filler(pages, conductor, launchers):
    await pages.open('/launch/blog')
    form = launchers[0]._fields.parameters
    with pages:
        form.controls['request'].set_content('Write about bees on city roofs', by_user=True)
    await pages.should_see('Your task will get filler answers: no model is connected', retries=50)
    with pages:
        form.controls['request'].set_content('Write a short post about why small tools last', by_user=True)
    await pages.should_not_see('Your task will get filler answers', retries=50)


async def test_a_model_that_was_just_connected_ends_the_filler(pages, conductor, launchers):
    endpoint = Endpoint(name='work', url='http://work.example/v1', models=('large',))
    conductor.catalog.registry.configure(EndpointSettings(endpoints={'work': endpoint}))
    await pages.open('/launch/blog')
    with pages:
        launchers[0]._fields.parameters.controls['request'].set_content(
            'Write about bees on city roofs', by_user=True
        )
    await pages.should_see('Your task will get filler answers: no model is chosen', retries=50)
    with pages:
        await launchers[0]._filler._use('work/large')
    await pages.should_see('by work/large.', retries=50)
    await pages.should_not_see('Your task will get filler answers')


async def test_missing_requirements_are_shown_at_their_field(pages, conductor, launchers, monkeypatch):
    monkeypatch.delenv('NOTION_TOKEN', raising=False)
    await pages.open('/launch/blog')
    await pages.should_see('Publishing to Notion is off: set NOTION_TOKEN', retries=50)
    publish = launchers[0]._fields.parameters.controls['publish']
    assert not publish._control.enabled
    with pages:
        launchers[0]._fields.parameters.controls['request'].set_content(
            'Write about bees on city roofs', by_user=True
        )
        publish.set_content(True, by_user=True)  # as in an earlier input
    assert publish._control.enabled
    click(pages, 'Run')
    await until(lambda: publish.problem.startswith('Publishing to Notion is off: set NOTION_TOKEN'))
    assert not (await conductor.runs(RunQuery())).runs


async def test_a_field_is_offered_where_it_is_configured(pages, conductor, launchers, monkeypatch):
    monkeypatch.setenv('NOTION_TOKEN', 'secret')
    monkeypatch.setenv('NOTION_DATABASE_ID', 'database')
    await pages.open('/launch/blog')
    await pages.should_see('Publish', retries=50)
    assert launchers[0]._fields.parameters.controls['publish']._control.enabled
    await pages.should_not_see('publishing to Notion is off')


async def test_a_field_for_a_project_offers_the_samples(pages, conductor, launchers):
    await pages.open('/launch/time-bounded')
    await pages.should_see('sample:prices', retries=20)
    click(pages, 'sample:prices')
    assert launchers[-1]._fields.parameters.raw['project'] == 'sample:prices'


async def test_a_missing_project_is_refused_at_its_field(pages, conductor, launchers, tmp_path):
    await pages.open('/launch/time-bounded')
    controls = launchers[-1]._fields.parameters.controls
    with pages:
        controls['primary_goal'].set_content('Fix the parser', by_user=True)
        controls['project'].set_content(str(tmp_path / 'gone'), by_user=True)
    click(pages, 'Run')
    await until(lambda: controls['project'].problem.startswith('There is no folder'))
    assert not (await conductor.runs(RunQuery())).runs


async def test_a_diagram_can_fill_the_page(pages, conductor, launchers):
    await pages.open('/launch/pipeline')
    form = launchers[-1]
    for large in (True, False):
        press(pages, form._size)
        assert ('charted' in form._page.classes) is large
        assert form._size.props['aria-pressed'] == str(large).lower()


async def test_the_field_shows_how_a_projects_tests_will_run(pages, conductor, launchers, tmp_path):
    (tmp_path / 'package.json').write_text('{"scripts": {"test": "jest"}, "dependencies": {"jest": "*"}}')
    await pages.open('/launch/builder')
    controls = launchers[0]._fields.parameters.controls
    with pages:
        controls['request'].set_content('Add a page', by_user=True)
    await pages.should_see('Found: pytest, bundled with Hemicycle.', retries=50)
    with pages:
        controls['project'].set_content(str(tmp_path), by_user=True)
    await pages.should_see('Found: npm test --silent. It is not installed', retries=50)
    with pages:
        controls['test_command'].set_content('make check', by_user=True)
    await pages.should_not_see('Found: ', retries=50)
