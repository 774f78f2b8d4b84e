"""The form of a regression test in a simulated browser: its expectations, a check, and its file."""

import pytest

from engine.operations import Role
from engine.operations.experiments import read_experiment
from tests.support.harness import complete_run
from tests.support.pages.clicks import answer, click, enter, see

TASK = {'task': 'Tea or coffee?'}


@pytest.fixture
async def opened(pages, conductor):
    run = await complete_run(conductor, 'pipeline', TASK)
    await pages.open(f'/runs/{run}/test')
    return pages


async def test_a_test_expects_what_the_run_did_until_its_fields_say_otherwise(opened):
    click(opened, 'Check now')
    await see(opened, 'Passed: 22 steps, as recorded.', retries=30)
    enter(opened, 'Tokens at most', 'few')
    click(opened, 'Check now')
    await see(opened, 'Enter a whole number.')
    enter(opened, 'Tokens at most', '')
    enter(opened, 'Answer contains', 'Beer')
    enter(opened, 'reviewing', 'not_visited')
    click(opened, 'Check now')
    await see(opened, 'Failed: 22 steps, as recorded.', retries=30)
    await see(opened, 'Not visited at step 10: expected reviewing; actual: it was entered.')


async def test_its_file_holds_the_expectations_of_the_form(opened, tmp_path):
    enter(opened, 'Ends as', '')
    enter(opened, 'Answer contains', 'Tea')
    enter(opened, 'Seconds at most', '60')
    enter(opened, 'failed', 'not_visited')
    click(opened, 'Download test')
    response = await opened.download.next()
    file = tmp_path / 'tea.yaml'
    file.write_text(response.text, 'utf-8')
    saved = read_experiment(file)
    (case,) = saved.cases
    path, text = saved.experiment.scorers
    assert (path.kind, path.settings['seconds'], path.settings['not_visited']) == ('path', 60.0, ['failed'])
    assert (text.kind, case.expectation) == ('contains', 'Tea')
    assert path.settings['visits']['analyzing'] == 2 and 'reviewing' in path.settings['visited']
    assert case.recording is not None and len(case.recording.steps) == 22


async def test_it_becomes_a_case_of_a_dataset_with_what_the_form_expects(opened, conductor):
    enter(opened, 'Answer contains', 'Tea')
    click(opened, 'Add to dataset')
    await see(opened, 'The run becomes a case')
    enter(opened, 'Dataset', 'drinks')
    answer(opened, 'Add')
    await see(opened, 'Added to drinks', retries=20)
    (case,) = await conductor.datasets.cases('drinks')
    assert (case.expectation, case.source) == ('Tea', case.id)


class TestForAViewer:
    @pytest.fixture
    def role(self):
        return Role.VIEWER

    async def test_a_check_needs_an_operator(self, opened):
        await see(opened, 'Download test')
        (check,) = opened.find(content='Check now').elements
        assert any('data-refused' in element.props for element in (check, *check.ancestors()))
