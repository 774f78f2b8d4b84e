"""Tools for files and commands, and the limits of every tool: time, length, order."""

from __future__ import annotations

import asyncio
import json
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from engine import ToolContext
from engine.agents.tool_execution import execute_tool_calls
from engine.errors import ToolError
from engine.records import RunId
from engine.records.message import ToolCall
from engine.tools import Tool
from engine.tools.builtin.project.edit_file import edit_file
from engine.tools.builtin.project.git import git
from engine.tools.builtin.project.list_files import list_files
from engine.tools.builtin.project.read_file import read_file
from engine.tools.builtin.project.run_command import run_command
from engine.tools.builtin.project.run_tests import run_tests
from engine.tools.builtin.project.search import search
from engine.tools.builtin.project.write_file import write_file
from engine.tools.protocol import tool
from engine.workspace import CommandResult, Sandbox, Workspaces

RUN = RunId('r')


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext(key='k', workspace=Workspaces(tmp_path).of(RUN, 'one'), sandbox=Sandbox())


@pytest.fixture
async def commands(context: ToolContext) -> ToolContext:
    problem = await context.commands.problem()
    if problem:
        pytest.skip(problem)
    return context


async def use(tool: Tool, context: ToolContext, **arguments: Any) -> str:
    return await tool.run(json.dumps(arguments), context)


async def expect_refusal(tool: Tool, context: ToolContext, **arguments: Any) -> str:
    with pytest.raises(ToolError) as raised:
        await use(tool, context, **arguments)
    return str(raised.value)


async def test_files_are_written_read_edited_and_listed(context: ToolContext) -> None:
    assert await use(list_files, context) == 'There are no files.'
    assert await use(write_file, context, path='src/a.py', text='one\ntwo\nthree\n') == (
        'Created src/a.py: 3 lines, 14 bytes.'
    )
    assert await use(read_file, context, path='/workspace/src/a.py') == 'one\ntwo\nthree\n'
    assert await use(read_file, context, path='src/a.py', start=2, count=1) == 'two\n[lines 2 to 2 of 3]'
    assert 'has only 3 lines' in await expect_refusal(read_file, context, path='src/a.py', start=4)
    assert (
        await use(edit_file, context, path='src/a.py', old='two', new='2')
        == 'Replaced the passage in line 2 of src/a.py.'
    )
    assert await use(read_file, context, path='src/a.py') == 'one\n2\nthree\n'
    assert 'was not found' in await expect_refusal(edit_file, context, path='src/a.py', old='two', new='x')
    assert '2 times' in await expect_refusal(edit_file, context, path='src/a.py', old='e\n', new='x')
    assert 'Replaced 2 passages' in await use(
        edit_file, context, path='src/a.py', old='e\n', new='E\n', everywhere=True
    )
    assert await use(list_files, context) == 'src/\nsrc/a.py  12'
    assert await use(write_file, context, path='src/a.py', text='x') == 'Replaced src/a.py: 1 lines, 1 bytes.'
    await use(write_file, context, path='empty', text='')
    assert await use(read_file, context, path='empty') == '[the file is empty]'
    assert await use(list_files, context, deep=False) == 'empty  0\nsrc/'


async def test_binary_files_are_reported(context: ToolContext) -> None:
    await context.files.write('picture', b'\x89PNG\0')
    assert 'not a text file (5 bytes)' in await expect_refusal(read_file, context, path='picture')
    assert 'not a text file' in await expect_refusal(edit_file, context, path='picture', old='a', new='b')
    for item in (read_file, write_file, edit_file):
        arguments = {'read_file': {}, 'write_file': {'text': 'x'}, 'edit_file': {'old': 'a', 'new': 'b'}}
        assert 'leads outside your folder' in await expect_refusal(
            item, context, path='../x', **arguments[item.name]
        )
    assert 'no folder for files' in await expect_refusal(read_file, ToolContext(key='k'), path='x')
    assert 'commands cannot be run' in await expect_refusal(run_command, ToolContext(key='k'), command='x')


@pytest.fixture(params=['ripgrep', 'python', 'plain'])
async def searching(
    request: pytest.FixtureRequest, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> str:
    if request.param == 'plain':
        context.sandbox = Sandbox(_problem='off')
    elif await context.commands.problem():
        pytest.skip(await context.commands.problem())
    elif request.param == 'python':
        monkeypatch.setattr('engine.tools.builtin.project.search.shutil.which', lambda name, **options: None)
    return str(request.param)


async def test_both_search_backends_find_the_same_lines(context: ToolContext, searching: str) -> None:
    for path, text in (('a.txt', 'one\na.b\n'), ('d/b.txt', 'axb\na.b'), ('.git/c', 'a.b'), ('bin', 'a.b\0')):
        await context.files.write(path, text.encode())
    (context.files.folder / 'link').symlink_to('/etc/passwd')
    result = await use(search, context, pattern='a.b', literal=True)
    assert {'a.txt:2:a.b', 'd/b.txt:2:a.b'} <= set(result.splitlines()) and 'axb' not in result
    assert await use(search, context, pattern='axb', literal=True, path='d/b.txt') == 'd/b.txt:1:axb'
    assert await use(search, context, pattern='root:', literal=True) == 'Nothing matches.'
    if searching == 'plain':
        assert 'only plain text can' in await expect_refusal(search, context, pattern='a.b')
        return
    assert (await use(search, context, pattern='^a.b$')).splitlines() == [
        'a.txt:2:a.b',
        'd/b.txt:1:axb',
        'd/b.txt:2:a.b',
    ]
    if searching == 'python':
        (context.files.folder / 'd' / 'b.txt').chmod(0)
        assert await use(search, context, pattern='^a.b$') == 'a.txt:2:a.b'
    patterns: list[dict[str, str]] = [{'pattern': '('}, {'pattern': 'a{99999999999}'}]
    for invalid in (*patterns, {'pattern': 'x', 'path': 'nothing'}, {'pattern': 'x', 'path': '../..'}):
        assert 'Traceback' not in await expect_refusal(search, context, **invalid)
    await context.files.write('many', b'hit\n' * 500)
    assert (await use(search, context, pattern='hit')).endswith(
        '[there is more: only the first 200 lines are shown]'
    )


async def test_a_search_that_cannot_start_is_an_error(context: ToolContext) -> None:
    class Broken(Sandbox):
        async def run(self, *_: object, **__: object) -> CommandResult:
            return CommandResult(code=1, output='bwrap: no such luck', ended='exit', seconds=0)

    context.sandbox = Broken(_problem='')
    assert 'no such luck' in await expect_refusal(search, context, pattern='x')


async def test_commands_run_in_the_folder(commands: ToolContext) -> None:
    text = await use(run_command, commands, command='echo hello | tee made; exit 4')
    assert (
        text.startswith('hello\n[exit status 4') and await use(read_file, commands, path='made') == 'hello\n'
    )
    slow = await use(run_command, commands, command='echo on; sleep 60', seconds=0.5)
    assert slow.startswith('on\n[stopped at its time limit')


async def test_a_projects_own_command_runs_unless_a_person_gave_one(
    commands: ToolContext, tmp_path: Path
) -> None:
    project = tmp_path / 'project'
    project.mkdir()
    (project / 'test.sh').write_text('echo fine')
    await use(write_file, commands, path='test.sh', text='echo fine')
    commands.facts = {'tests': {'project': str(project), 'command': ''}}
    assert 'it reported no tests, which proves nothing' in await use(run_tests, commands)
    commands.facts = {'tests': {'project': str(project), 'command': 'sh ./test.sh'}}
    assert (await use(run_tests, commands)) == 'the test command succeeded; it reported no tests'


async def test_git_keeps_versions(commands: ToolContext) -> None:
    await use(git, commands, arguments=['init', '-q'])
    await use(write_file, commands, path='a', text='one\n')
    await use(git, commands, arguments=['add', '.'])
    await use(git, commands, arguments=['commit', '-qm', 'First; $(touch x)'])
    await use(write_file, commands, path='a', text='two\n')
    assert '-one\n+two' in await use(git, commands, arguments=['diff'])
    assert 'First; $(touch x)' in await use(git, commands, arguments=['log', '--oneline'])
    assert 'exit status' in await use(git, commands, arguments=['no-such'])
    assert await expect_refusal(git, commands, arguments=['a\0b'])
    assert await use(list_files, commands) == '.git/\na  4'
    snapshot = await commands.files.snapshot()
    await use(run_command, commands, command='rm -rf .git')
    await commands.files.restore(snapshot)
    assert 'First' in await use(git, commands, arguments=['log'])


@pytest.mark.slow
async def test_tests_are_run_and_reported(commands: ToolContext) -> None:
    await use(write_file, commands, path='sums.py', text='def add(a, b):\n    return a - b\n')
    tests = """import pytest, sums
def test_right(): assert sums.add(1, 0) == 1
def test_wrong(): assert sums.add(1, 2) == 3, 'they differ'
@pytest.mark.skip
def test_later(): pass
"""
    await use(write_file, commands, path='test_sums.py', text=tests)
    text = await use(run_tests, commands)
    assert text.startswith('1 passed, 1 failed, 1 skipped in') and 'they differ' in text
    assert 'test_sums::test_wrong' in text
    await use(edit_file, commands, path='sums.py', old='-', new='+')
    result = await use(run_tests, commands, path='test_sums.py', keyword='wrong')
    assert result.startswith('1 passed in')
    await use(write_file, commands, path='test_sums.py', text='import nothing_there')
    result = await use(run_tests, commands)
    assert '1 errors' in result and 'nothing_there' in result
    await use(write_file, commands, path='test_sums.py', text='import os; os._exit(3)')
    assert 'exit status' in await use(run_tests, commands)
    assert [path.name for path in commands.files.folder.iterdir() if path.name.startswith('.')] == []


async def test_without_a_sandbox_commands_say_how_to_get_one(context: ToolContext) -> None:
    context.sandbox = Sandbox(_problem='Commands are off: install bubblewrap.')
    for command_tool, arguments in (
        (run_command, {'command': 'x'}),
        (git, {'arguments': ['x']}),
        (run_tests, {}),
    ):
        assert 'install bubblewrap' in await expect_refusal(command_tool, context, **arguments)
    context.sandbox = Sandbox(_problem='off', unsafe=True)
    assert 'without a sandbox' in await use(run_command, context, command='true')
    assert 'without a sandbox' in await use(git, context, arguments=['version'])


async def test_a_hanging_tool_is_killed_with_its_processes(commands: ToolContext) -> None:
    mark = f'3{time.time_ns() % 10**8}'

    @tool(seconds=0.4)
    async def hangs(context: ToolContext) -> str:
        """Start a long process."""
        await context.commands.run(['sh', '-c', f'setsid sleep {mark} & sleep {mark}'], context.files)
        return 'never'

    assert await expect_refusal(hangs, commands) == 'hangs was stopped: it took longer than 0.4 seconds'
    for _ in range(60):
        running = [
            path for path in Path('/proc').glob('[0-9]*/cmdline') if holds(path, f'sleep\0{mark}'.encode())
        ]
        if not running:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(running)


def holds(path: Path, text: bytes) -> bool:
    try:
        return text in path.read_bytes()
    except OSError:
        return False


async def test_a_tool_that_ignores_cancellation_is_abandoned(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module('engine.tools.protocol'), 'GRACE_SECONDS', 0.1)
    over = asyncio.Event()

    @tool(seconds=0.1)
    async def stubborn(context: ToolContext) -> str:
        """Ignore cancellation."""
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return 'x'

    assert 'took longer than 0.1' in await expect_refusal(stubborn, context)
    over.set()
    await asyncio.sleep(0)


async def test_shortened_results_are_stored_in_full(context: ToolContext) -> None:
    @tool(most_text=30)
    async def long(context: ToolContext) -> str:
        """Return a long text."""
        return 'a' * 50 + 'é' * 50

    text = await use(long, context)
    head, note, tail = text.split('\n')
    assert (head, tail) == ('a' * 20, 'é' * 10) and note.startswith(
        '[cut: 70 more characters; the whole is kept'
    )
    output = await asyncio.to_thread(context.files.objects.get, note.rstrip(']').rpartition(' ')[2])
    assert output.decode() == 'a' * 50 + 'é' * 50


async def test_writing_calls_run_in_order_and_others_in_parallel() -> None:
    events: list[str] = []

    async def work(name: str) -> str:
        events.append(f'{name} begins')
        await asyncio.sleep(0.01)
        events.append(f'{name} ends')
        return name

    @tool(side_effects=True)
    async def change(context: ToolContext, name: str) -> str:
        """Change."""
        return await work(name)

    @tool()
    async def look(context: ToolContext, name: str) -> str:
        """Look."""
        return await work(name)

    order = [('look', 'a'), ('look', 'b'), ('change', 'c'), ('change', 'd'), ('nothing', 'e'), ('look', 'f')]
    tool_calls = [ToolCall(id=name, name=kind, arguments=json.dumps({'name': name})) for kind, name in order]
    contexts = [ToolContext(key=name) for _, name in order]
    results = await execute_tool_calls({'look': look, 'change': change}, tool_calls, contexts)
    assert [result.id for result in results] == list('abcdef') and not results[4].ok
    assert events[:4] == ['a begins', 'b begins', 'a ends', 'b ends']
    assert events[4:] == [f'{name} {what}' for name in 'cdf' for what in ('begins', 'ends')]
