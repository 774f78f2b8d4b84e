"""Test suites are really run in the sandbox, and judged by their report or their exit code."""

import pytest

from engine import Workspaces
from engine.commands.suite import run_suite
from engine.files.project import lay_out
from engine.records import RunId

pytestmark = pytest.mark.anyio

GOOD = 'def test_good():\n    assert 1 + 1 == 2\n'
BAD = 'def test_bad():\n    assert 1 + 1 == 3\n'


@pytest.fixture
def workspace(tmp_path):
    return Workspaces(tmp_path / 'runs').of(RunId('run'), 'agent')


async def test_pytest_reports_what_passed_and_what_failed(workspace, sandbox):
    await workspace.write('test_a.py', (GOOD + BAD).encode())
    tested = await run_suite(workspace, sandbox)
    assert tested.report is not None and not tested.passed
    assert (tested.report.passed, tested.report.failed) == (1, 1)
    assert 'test_a::test_bad' in tested.text
    await workspace.write('test_a.py', GOOD.encode())
    assert (await run_suite(workspace, sandbox)).passed


async def test_no_tests_are_no_success(workspace, sandbox):
    tested = await run_suite(workspace, sandbox)
    assert tested.report is None and not tested.passed


@pytest.mark.parametrize(
    ('command', 'passed'), [('echo fine; exit 0', True), ('echo not fine; exit 3', False)]
)
async def test_a_command_without_a_report_is_judged_by_its_exit(workspace, sandbox, command, passed):
    tested = await run_suite(workspace, sandbox, command=command)
    assert tested.passed is passed
    assert 'fine' in tested.output


async def test_a_command_may_write_a_report(workspace, sandbox):
    xml = '<testsuite time="1"><testcase classname="c" name="t"/></testsuite>'
    tested = await run_suite(workspace, sandbox, command=f"printf '%s' '{xml}' > {{report}}")
    assert tested.passed and tested.report is not None and tested.report.passed == 1


async def test_a_project_gets_a_history(workspace, sandbox, tmp_path):
    (tmp_path / 'given').mkdir()
    (tmp_path / 'given' / 'a.txt').write_text('a')
    await lay_out(str(tmp_path / 'given'), workspace, sandbox, history=True)
    ran = await sandbox.run(['git', '-c', 'safe.directory=*', 'log', '--oneline'], workspace)
    assert 'As it was given' in ran.output
