"""The command line on damaged and read-only files: one clear line, never a traceback."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from engine.workspace import Sandbox
from tests.support.cli import Hemicycle

PAGE = 4096
READING = (
    ('runs', 'list'),
    ('runs', 'list', '--json', '--search', 'tea'),
    ('show', 'last'),
    ('show', 'last', '--at', '3'),
    ('runs', 'audit', 'last'),
    ('runs', 'file', 'list', 'last'),
    ('runs', 'file', 'diff', 'last'),
    ('fork', 'list', 'last'),
    ('pattern', 'traffic', 'pipeline'),
    ('runs', 'compare', 'last', 'last'),
    ('breakpoint', 'list', 'last'),
    ('resume', 'last'),
    ('runs', 'note', 'add', 'last', 'seen', '--at', '2'),
    ('runs', 'change', 'last', '--starred'),
    ('doctor',),
)


@pytest.fixture(scope='module')
def done(tmp_path_factory: pytest.TempPathFactory) -> Hemicycle:
    hemicycle = Hemicycle(tmp_path_factory.mktemp('done'))
    assert hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q').exit_code == 0
    return hemicycle


@pytest.mark.parametrize('command', READING[::3], ids=' '.join)
def test_a_damaged_page_is_reported_in_one_line(
    tmp_path: Path, done: Hemicycle, command: tuple[str, ...]
) -> None:
    hemicycle, random = Hemicycle(tmp_path, like=done), Random(7)
    content, codes = hemicycle.database.read_bytes(), set()
    for page in range(0, len(content) // PAGE, 3):
        start = page * PAGE + (100 if page == 0 else 0)
        damaged = bytearray(content)
        damaged[start : (page + 1) * PAGE] = random.randbytes((page + 1) * PAGE - start)
        for file in tmp_path.glob('hemicycle.db-*'):
            file.unlink()
        hemicycle.database.write_bytes(damaged)
        result = hemicycle(*command)
        assert isinstance(result.exception, SystemExit | None), (page, result.exception)
        codes.add(result.exit_code)
        if result.exit_code == 5:
            assert 'damaged' in result.stderr, (page, result.stderr)
    assert codes & {5, 1}, 'some page was read'


DAMAGES = {
    'launch.parameters': b'{"task": "tea \xff\xfe"}',
    'launch.options': b'\x80\x81',
    'launch.models': b'7',
    'launch.shape': b'{"pattern": "pipeline"}',
    'run.created': b'yesterday',
    'run.updated': b'9e99',
    'run.input': b'many',
}


PAIRS = [
    (column, READING[(4 * nth + more) % (len(READING) - 1)])
    for nth, column in enumerate(DAMAGES)
    for more in range(4)
]
"""Four commands for each column, so that each command meets about two columns."""


@pytest.mark.parametrize(
    ('column', 'command'), PAIRS, ids=lambda value: value if isinstance(value, str) else ' '.join(value)
)
def test_a_damaged_value_affects_one_run_only(
    tmp_path: Path, done: Hemicycle, column: str, command: tuple[str, ...]
) -> None:
    hemicycle = Hemicycle(tmp_path, like=done)
    table, name = column.split('.')
    with closing(sqlite3.connect(hemicycle.database)) as file:
        file.execute(f'UPDATE {table} SET {name} = CAST(? AS TEXT)', (DAMAGES[column],))
        file.commit()
    result = hemicycle(*command)
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code == 0 or result.stderr.startswith('hemicycle: '), result.output
    if command == ('runs', 'list'):
        assert result.exit_code == 0 and result.stdout.count('pipeline') == 1


STEPS = {
    'missing': 'DELETE FROM "transition" WHERE seq = 5',
    'garbage': 'UPDATE "transition" SET body = randomblob(400) WHERE seq = 5',
    'name': 'UPDATE "transition" SET name = randomblob(8) WHERE seq = 5',
    'time': 'UPDATE "transition" SET time = randomblob(8) WHERE seq = 5',
}


@pytest.mark.parametrize('damage', STEPS)
def test_commands_that_need_a_damaged_step_name_it(tmp_path: Path, done: Hemicycle, damage: str) -> None:
    hemicycle = Hemicycle(tmp_path, like=done)
    with closing(sqlite3.connect(hemicycle.database)) as file:
        file.execute(STEPS[damage])
        file.commit()
    archive = tmp_path / 'backup.tar.gz'
    failing = (
        *(command for command in READING[2:8] if '3' not in command and command[0] != 'fork'),
        *(
            ('runs', 'export', 'last', '-o', str(tmp_path / f'out.{form}'))
            for form in ('jsonl', 'html', 'md')
        ),
        ('runs', 'compare', 'last', 'last'),
        ('fork', 'start', 'last', '--at', '7', '-q'),
        ('database', 'backup', str(archive)),
    )
    for command in failing:
        result = hemicycle(*command)
        assert result.exit_code == (1 if 'backup' in command else 5), (command, result.output)
        assert 'step 5 of run' in result.stderr and 'put a backup' in result.stderr, (command, result.stderr)
        assert result.stderr.count('\n') == 1, (command, result.stderr)
    assert not list(tmp_path.glob('out.*')) and archive.exists(), 'the rest is backed up'
    counted = hemicycle('pattern', 'traffic', 'pipeline')
    assert counted.exit_code == 0 and 'step 5 of run' in counted.output
    for command in (
        ('runs', 'list'),
        ('show', 'last', '--at', '3'),
        ('fork', 'start', 'last', '--at', '3', '-q'),
    ):
        assert hemicycle(*command).exit_code == 0, command


LOOKING = (
    'runs list',
    'show last --at 5',
    'runs audit last',
    'fork list last',
    'runs compare last last',
    'runs export last -o /dev/shm/run.jsonl',
    'runs remove last',
    'resume last',
)
SCRIPT = """
import sys
from typer.testing import CliRunner
from ui.__main__ import Stores
from ui.cli.app import app

for line in sys.stdin.read().splitlines():
    result = CliRunner().invoke(app, line.split(), obj=Stores())
    print(result.exit_code, result.stderr.replace(chr(10), ' '))
"""


@pytest.mark.parametrize('log', [False, True], ids=['closed', 'killed'])
def test_a_database_on_a_read_only_file_system_can_be_read(
    tmp_path: Path, done: Hemicycle, log: bool
) -> None:
    if problem := asyncio.run(Sandbox().problem()):
        pytest.skip(problem)
    hemicycle = Hemicycle(tmp_path, like=done)
    if log:
        rename = "import os, sqlite3, sys; file = sqlite3.connect(sys.argv[1]); file.execute('UPDATE run SET "
        rename += "title = 1'); file.commit(); os._exit(0)"
        subprocess.run([sys.executable, '-c', rename, str(hemicycle.database)], check=True)
        assert hemicycle.database.with_name('hemicycle.db-wal').stat().st_size
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*')}
    line = ['bwrap', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/dev/shm']
    ran = subprocess.run(
        [*line, sys.executable, '-c', SCRIPT],
        input='\n'.join(LOOKING),
        env={**os.environ, 'HEMICYCLE_HOME': str(tmp_path), 'TMPDIR': '/dev/shm'},
        capture_output=True,
        text=True,
        check=False,
    )
    *looked, deleted, resumed = ran.stdout.splitlines()
    assert looked and all(line.startswith('0 ') for line in looked), (ran.stdout, ran.stderr)
    assert deleted.startswith('5 ') and 'cannot be written' in deleted
    assert resumed.startswith(('2 ', '5 ')) and 'hemicycle: ' in resumed
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob('*')}
