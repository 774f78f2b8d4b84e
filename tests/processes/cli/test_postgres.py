"""The command line on PostgreSQL: what reads works; what would drive a run or copy a file says what does."""

import asyncio
import json
from pathlib import Path

import pytest

from engine import Conductor
from storage import open_journal
from tests.support.cli import Hemicycle

SECRET = 'postgresql://somebody:wisteria@127.0.0.1:1/runs'


@pytest.fixture
def hemicycle(tmp_path: Path) -> Hemicycle:
    return Hemicycle(tmp_path)


@pytest.fixture
def run(postgres_url: str) -> str:
    async def work() -> str:
        async with Conductor(await open_journal(postgres_url)) as conductor:
            handle = await conductor.start('pipeline', task='Compare tea and coffee')
            await handle.result()
            return handle.id

    return asyncio.run(work())


def test_runs_are_read(hemicycle: Hemicycle, postgres_url: str, run: str) -> None:
    listed = hemicycle('runs', '--json', '--database', postgres_url)
    assert [json.loads(line)['id'] for line in listed.stdout.splitlines()] == [run]
    for command in (('show', 'last'), ('audit', 'last')):
        result = hemicycle(*command, '--database', postgres_url)
        assert result.exit_code == 0, result.stderr


def test_doctor_counts_what_is_there(hemicycle: Hemicycle, postgres_url: str, run: str) -> None:
    result = hemicycle('doctor', '--json', '--database', postgres_url)
    found = {item['about']: item for item in map(json.loads, result.stdout.splitlines())}
    assert found['Database']['level'] == 'ok'
    assert ': 1 run, ' in found['Database']['text']


@pytest.mark.parametrize(
    ('command', 'said'),
    [
        (('run', 'pipeline', '--task', 'Compare tea and coffee'), 'hemicycle worker --temporal'),
        (('serve',), 'hemicycle worker --temporal'),
        (('backup',), 'pg_dump'),
        (('restore-backup', 'any.tar.gz'), 'pg_restore'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else '',
)
def test_what_it_does_not_do_is_said(hemicycle: Hemicycle, command: tuple[str, ...], said: str) -> None:
    result = hemicycle(*command, '--database', SECRET)
    assert result.exit_code != 0
    assert said in result.stderr
    assert 'wisteria' not in result.output
    assert result.stderr.count('\n') == 1


@pytest.mark.parametrize(
    'command', [('runs',), ('show', 'last'), ('doctor',)], ids=lambda command: command[0]
)
def test_no_password_is_shown_of_a_server_that_is_not_there(
    hemicycle: Hemicycle, command: tuple[str, ...]
) -> None:
    result = hemicycle(*command, '--database', SECRET)
    assert result.exit_code != 0
    assert 'somebody:***@127.0.0.1' in result.output
    assert 'wisteria' not in result.output
