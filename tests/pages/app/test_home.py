"""Home, in a simulated browser: the first minute, and the desk after it."""

from dataclasses import replace

from nicegui import ui

from engine import Status
from engine.operations.experiments import SAMPLE, read_experiment
from engine.records import Fault, RunId, RunQuery
from tests.pages.app.test_runs import keep
from tests.support.pages.clicks import click, see
from ui.web.pages.shared.launching.samples import samples


async def test_an_empty_home_offers_a_sample_which_names_its_run(pages, conductor):
    await pages.open('/')
    await see(pages, 'Pipeline', 'Run sample', 'Four agents race for one bug', 'No runs yet.')
    await pages.should_not_see('Needs you')
    click(pages, 'Run this sample')
    await see(pages, 'Here is run', retries=30)
    (info,) = (await conductor.runs(RunQuery())).runs
    assert info.title == samples(conductor.catalog.patterns['pipeline'])[0].title


async def test_it_lists_what_waits_for_a_person(pages, conductor):
    run = await conductor.start('pipeline', {'task': 'Compare tea and coffee'}, approvals='all')
    async for _ in run.watch():
        if (await run.view()).waiting:
            break
    await pages.open('/')
    await see(pages, 'Needs you (1)', 'Allow researcher to use', retries=30)


async def test_results_are_shown_in_small_and_runs_under_way_once_with_their_agents(pages, conductor):
    done = await conductor.start('vote', {'task': 'Is 91 prime?'}, title='Is 91 prime?')
    async for _ in done.watch():
        if (await done.view()).status.ended:
            break
    await keep(conductor, 1, status=Status.RUNNING)
    await pages.open('/')
    await see(pages, 'Latest results', 'Votes', 'Running now (1)', retries=30)
    texts = [getattr(element, 'text', '') for element in pages.client.elements.values()]
    assert texts.count('Is 91 prime?') == 1
    assert texts.count('Run 1') == 1
    await pages.should_not_see('No runs yet.')


async def test_an_experiment_is_one_line_whatever_its_runs_do(pages, conductor):
    sample = read_experiment(SAMPLE)
    await conductor.datasets.save(sample.experiment.dataset, sample.cases)
    experiment = await conductor.experiments.add(replace(sample.experiment, at_once=1))
    await pages.open('/')
    await see(pages, 'Running now (1)', experiment.name, retries=30)
    while not (ended := await conductor.runs(RunQuery(status=(Status.DONE,)))).total:
        await conductor.clock.sleep(0.1)
    await pages.should_not_see(ended.runs[0].title)


async def test_the_desk_suggests_a_pattern_by_the_words_of_a_task_and_fills_it_in(pages, conductor):
    await keep(conductor, 1)
    await pages.open('/')
    await see(pages, 'What should be done?', 'No model is asked')
    (field,) = pages.find(kind=ui.input).elements
    field.set_value('Fix the bug in slugs')
    await see(pages, 'because the task says “fix” and “bug”.', retries=10)
    click(pages, 'Continue…')
    await see(pages, 'Configure Debugger', 'Fix the bug in slugs', retries=30)


async def test_faults_and_stranded_runs_are_named(pages, conductor):
    conductor.catalog.faults.append(Fault(path='mine.py', line=7, problem='SyntaxError: invalid syntax'))
    await keep(conductor, 1, status=Status.RUNNING)
    conductor.stranded[RunId('run001')] = 'its pattern has no state like that any more'
    await pages.open('/')
    await see(pages, 'mine.py:7', 'SyntaxError: invalid syntax')
    await pages.should_see('its pattern has no state like that any more')
