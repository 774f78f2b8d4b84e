"""Test suites really run in the sandbox, and are judged by their report or exit code."""

import pytest

from engine.records import RunId
from engine.workspace import Workspaces
from engine.workspace.project import copy_project
from engine.workspace.testing.test_run import run_test_suite

GOOD = 'def test_good():\n    assert 1 + 1 == 2\n'
BAD = 'def test_bad():\n    assert 1 + 1 == 3\n'

WRITE = """
import os, time
def write():
    with open(os.environ['report'], 'w') as file:
        file.write('<testsuite><testcase classname="test_a" name="test_it"/></testsuite>')
"""
LEAVE = 'os._exit(0)\n'
SPEAK = """
for number in range(3, 30):
    try:
        os.write(number, b'["x", "finished", 0]\\n')
    except OSError:
        pass
"""
WRONG = """
def answer():
    return 41
"""
LATER = f"""
if os.fork() == 0:
    time.sleep(1)
    write()
    os._exit(0)
{WRONG}"""
ALWAYS = f"""
if os.fork() == 0:
    os.setsid()
    while True:
        write()
{WRONG}"""
LOOK = """
import glob
for path in glob.glob('/proc/[0-9]*/mem'):
    if path.split('/')[2] != str(os.getpid()):
        try:
            os.open(path, os.O_RDWR)
            os._exit(99)
        except OSError:
            pass
os.mkdir('a'), os.mkdir('b'), open('a/file', 'w').close(), os.rename('a/file', 'b/file')
def answer():
    return 42
"""
PATCH = f"""
from _pytest import reports
make = reports.TestReport.from_item_and_call
def forget(item, call):
    call.excinfo = None
    return make(item, call)
reports.TestReport.from_item_and_call = staticmethod(forget)
{WRONG}"""
FORGERIES = {
    'at once': f'{WRITE}write()\n{LEAVE}',
    'in a test': 'def answer():\n    import os\n    os._exit(0)\n',
    'without a report': f'import os\n{LEAVE}',
    'through the pipe': f'import os\n{SPEAK}{LEAVE}',
    'afterwards': f'{WRITE}{LATER}',
    'all the time': f'{WRITE}{ALWAYS}',
    'by a patch of pytest': PATCH,
    'not as JSON': f'import os\n{SPEAK}{WRONG}'.replace('["x", "finished", 0]', 'x'),
}


@pytest.fixture
def workspace(tmp_path):
    return Workspaces(tmp_path / 'runs').of(RunId('run'), 'agent')


async def test_pytest_reports_what_passed_and_what_failed(workspace, sandbox):
    await workspace.write('test_a.py', (GOOD + BAD).encode())
    tested = await run_test_suite(workspace, sandbox)
    assert tested.report is not None and not tested.passed
    assert (tested.report.passed, tested.report.failed) == (1, 1)
    assert 'test_a::test_bad' in tested.text
    await workspace.write('test_a.py', GOOD.encode())
    assert (await run_test_suite(workspace, sandbox)).passed


@pytest.mark.parametrize('forged', FORGERIES.values(), ids=FORGERIES)
async def test_code_under_test_cannot_forge_results(workspace, sandbox, forged):
    await workspace.write('mod.py', forged.encode())
    await workspace.write('test_a.py', b'def test_it():\n    import mod\n    assert mod.answer() == 42\n')
    tested = await run_test_suite(workspace, sandbox)
    assert not tested.passed and 'Traceback' not in tested.text
    assert tested.report is None or tested.report.failed + tested.report.errors > 0
    await workspace.write('test_a.py', b'import mod\ndef test_it():\n    assert mod.answer() == 42\n')
    tested = await run_test_suite(workspace, sandbox)
    assert not tested.passed


async def test_code_under_test_cannot_reach_the_shell_that_reports_its_exit(workspace, sandbox):
    await workspace.write(
        'test_a.py', f'import os\n{LOOK}\ndef test_it():\n    assert answer() == 42\n'.encode()
    )
    assert (await run_test_suite(workspace, sandbox)).passed


async def test_no_tests_is_not_a_success(workspace, sandbox):
    tested = await run_test_suite(workspace, sandbox)
    assert tested.report is None and not tested.passed


@pytest.mark.parametrize(
    ('command', 'passed'), [('echo fine; exit 0', True), ('echo not fine; exit 3', False)]
)
async def test_a_command_without_a_report_is_judged_by_its_exit_code(workspace, sandbox, command, passed):
    tested = await run_test_suite(workspace, sandbox, command=command)
    assert tested.passed is passed
    assert 'fine' in tested.output
    verb = 'succeeded' if passed else 'failed'
    assert tested.text.startswith(f'the test command {verb}; it reported no tests')


async def test_a_command_may_write_a_report(workspace, sandbox):
    xml = '<testsuite time="1"><testcase classname="c" name="t"/></testsuite>'
    tested = await run_test_suite(workspace, sandbox, command=f"printf '%s' '{xml}' > {{report}}")
    assert tested.passed and tested.report is not None and tested.report.passed == 1


async def test_a_report_is_not_believed_when_the_command_failed(workspace, sandbox):
    xml = '<testsuite time="1"><testcase classname="c" name="t"/></testsuite>'
    command = f"printf '%s' '{xml}' > {{report}}; echo covers too little; exit 2"
    tested = await run_test_suite(workspace, sandbox, command=command)
    assert tested.report is None and tested.text.startswith('covers too little')


async def test_a_project_gets_a_history_in_few_files(workspace, sandbox, tmp_path):
    (tmp_path / 'given').mkdir()
    for name in 'abcdef':
        (tmp_path / 'given' / f'{name}.txt').write_text(f'{name}\n')
    await copy_project(str(tmp_path / 'given'), workspace, history=sandbox)
    ran = await sandbox.run(['git', '-c', 'safe.directory=*', 'log', '--oneline'], workspace)
    assert 'Initial state' in ran.output
    objects = [path for path in (workspace.folder / '.git' / 'objects').rglob('*') if path.is_file()]
    assert len(objects) == 4, 'a pack, its index, a tree and a commit'
