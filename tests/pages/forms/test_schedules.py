"""Schedules and triggers in a simulated browser: the launch form's fields, due times in words, mappings."""

import re

import pytest

from engine import Budget
from engine.operations.experiments import SAMPLE, read_experiment
from engine.records import Launch
from tests.support.pages.clicks import answer, click, control, enter, labelled, see
from ui.app.services.schedules import Interval, Schedule, ScheduleSpec, Trigger

TASK = 'What is new?'


@pytest.fixture
def opened(pages):
    """Opens the page for a reader in India."""

    async def open_page():
        pages.javascript_rules[re.compile('.*timeZone')] = lambda _: 'Asia/Kolkata'
        await pages.open('/schedules')
        return pages

    return open_page


@pytest.fixture
def schedules(backend):
    return backend.services.schedules


async def test_a_schedule_is_made_of_fields_and_tells_its_next_times(opened, schedules):
    page = await opened()
    click(page, 'New schedule')
    await see(page, 'Every weekday at 07:30 in Kolkata', retries=20)
    enter(page, 'Name', 'Nightly')
    enter(page, 'Repeat', 'monthly')
    enter(page, 'Day of the month', 'L')
    enter(page, 'Time', '23:30')
    enter(page, 'Time zone', 'Europe/Berlin')
    await see(page, 'On the last day of each month at 23:30 in Berlin')
    assert len(page.find(content='23:30 in Berlin').elements) >= 5
    enter(page, 'Pattern', 'pipeline')
    enter(page, 'Task', 'ab')
    answer(page, 'Save')
    await see(page, 'Enter at least 3 characters.')
    enter(page, 'Task', TASK)
    enter(page, 'Revision limit', '1')
    answer(page, 'Save')
    await page.should_see('Run now', retries=20)
    (made,) = await schedules.list()
    assert made.spec == ScheduleSpec(cron=('30 23 L * *',), time_zone='Europe/Berlin')
    assert made.action.parameters == {'task': TASK, 'max_iterations': 1}
    assert made.policy.catchup_window == 3_600


async def test_texts_stay_when_another_pattern_is_chosen_and_one_must_be_chosen(opened):
    page = await opened()
    click(page, 'New schedule')
    await see(page, 'Repeat', retries=20)
    answer(page, 'Save')
    await see(page, 'Choose one.')
    enter(page, 'Pattern', 'pipeline')
    enter(page, 'Task', TASK)
    enter(page, 'Pattern', 'parallel-review')
    assert control(page, 'Task').value == TASK


async def test_a_schedule_that_fields_cannot_say_is_edited_without_a_loss(opened, schedules):
    launch = Launch(
        pattern='pipeline',
        parameters={'task': TASK},
        models={'writer': 'scripted'},
        budget=Budget(tokens=9),
        instructions={'writer': 'Be short.'},
    )
    spec = ScheduleSpec(cron=('0 9 * * *', '0 15 * * *'), intervals=(Interval(every=7_000),))
    before = await schedules.add(Schedule(name='Often', action=launch, spec=spec))
    page = await opened()
    await page.should_see('Often', retries=20)
    click(page, 'Edit')
    await see(
        page, 'As it is: At 09:00 every day (UTC); At 15:00 every day (UTC); Every 7000 seconds', retries=20
    )
    enter(page, 'Name', 'Very often')
    answer(page, 'Save')
    await page.should_see('Very often', retries=20)
    after = await schedules.get(before.id)
    assert (after.spec, after.policy) == (spec, before.policy)
    assert (after.action.models, after.action.budget, after.action.instructions) == (
        launch.models, launch.budget, launch.instructions,
    )  # fmt: skip


async def test_a_wrong_cron_expression_is_explained_at_its_field(opened):
    page = await opened()
    click(page, 'New schedule')
    await see(page, 'Repeat', retries=20)
    enter(page, 'Repeat', 'cron')
    enter(page, 'Cron expression', '61 * * * *')
    answer(page, 'Save')
    await see(page, "'61 * * * *' is not a cron expression: Bad minute.")


async def test_a_trigger_takes_parameters_from_the_fields_of_an_example(opened, backend):
    page = await opened()
    click(page, 'New trigger')
    await see(page, 'Triggered by', retries=20)
    enter(page, 'Name', 'Issues')
    enter(page, 'Example of what is sent', '{"issue": {"labels": ["new"], "ti/tle": "Tea?"}}')
    enter(page, 'Pattern', 'pipeline')
    answer(page, 'Add a parameter')
    options = labelled(page, 'Task is taken from')[0].options
    assert options == {
        '/issue/labels/0': 'issue.labels.0: new', '/issue/ti~1tle': 'issue.ti/tle: Tea?',
        '/issue': 'issue', '/issue/labels': 'issue.labels', '': 'All of it',
    }  # fmt: skip
    with page.client:
        labelled(page, 'Task is taken from')[0].set_value('/issue/ti~1tle')
    answer(page, 'Save')
    await page.should_see('Signing secret of the trigger', retries=20)
    (made,) = await backend.services.triggers.list()
    assert (made.kind, dict(made.mapping)) == ('webhook', {'task': '/issue/ti~1tle'})
    assert made.action.parameters == {'max_iterations': 3}


async def test_a_trigger_by_file_offers_what_a_file_has(opened, backend):
    stored = await backend.services.triggers.add(
        Trigger(
            name='Letters',
            kind='file',
            files='/srv/in/*.txt',
            action=Launch(pattern='pipeline'),
            mapping={'task': '/name'},
        )
    )
    page = await opened()
    await page.should_see('Letters', retries=20)
    click(page, 'Edit')
    await see(page, 'Taken from what comes in', retries=20)
    assert labelled(page, 'Task is taken from')[0].value == '/name'
    with page.client:
        labelled(page, 'Task is taken from')[0].set_value('/text')
    enter(page, 'Files', 'in/*.txt')
    answer(page, 'Save')
    await see(page, 'Enter a path that begins with /, such as /srv/in/*.csv.')
    enter(page, 'Files', '/srv/new/*.txt')
    answer(page, 'Save')
    await page.should_not_see('Taken from what comes in', retries=20)
    after = await backend.services.triggers.get(stored.id)
    assert (after.files, dict(after.mapping)) == ('/srv/new/*.txt', {'task': '/text'})


async def test_a_schedule_starts_an_earlier_experiment_again(opened, schedules, backend):
    sample = read_experiment(SAMPLE)
    await backend().datasets.save(sample.experiment.dataset, sample.cases)
    experiment = await backend().experiments.add(sample.experiment)
    await backend().experiments.cancel(experiment.id)
    page = await opened()
    click(page, 'New schedule')
    await see(page, 'Starts', retries=20)
    enter(page, 'Name', 'Nightly')
    enter(page, 'Starts', experiment.name)
    answer(page, 'Save')
    await page.should_see('Run now', retries=20)
    (made,) = await schedules.list()
    assert (made.action, made.experiment.name, made.experiment.id) == (None, experiment.name, '')
    await page.should_see(f'Experiment: {experiment.name}')
