"""The form of a regression test in a simulated browser: its expectations, a check, and its file."""

import pytest
import yaml

from engine.history import RegressionTest
from engine.operations import Role
from tests.support.harness import complete_run
from tests.support.pages.clicks import click, enter, see

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


async def test_its_file_holds_the_expectations_of_the_form(opened):
    enter(opened, 'Ends as', '')
    enter(opened, 'Answer contains', 'Tea')
    enter(opened, 'Seconds at most', '60')
    enter(opened, 'failed', 'not_visited')
    click(opened, 'Download test')
    response = await opened.download.next()
    saved = RegressionTest.model_validate(yaml.safe_load(response.text))
    expect = saved.expect
    assert (expect.status, expect.answer, expect.seconds, expect.not_visited) == (
        None,
        'Tea',
        60.0,
        ['failed'],
    )
    assert expect.visits['analyzing'] == 2 and 'reviewing' in expect.visited
    assert len(saved.recorded) == 22


class TestForAViewer:
    @pytest.fixture
    def role(self):
        return Role.VIEWER

    async def test_a_check_needs_an_operator(self, opened):
        await see(opened, 'Download test')
        (check,) = opened.find(content='Check now').elements
        assert any('data-refused' in element.props for element in (check, *check.ancestors()))
