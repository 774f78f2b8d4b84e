"""The command line on PostgreSQL: everything works, and commands that copy files name an alternative."""

import asyncio
import json
from collections.abc import Callable

import httpx
import psycopg
import pytest
from typer.testing import Result

from engine import LocalConductor
from storage import open_journal
from storage.settings import Settings
from tests.support.cli import DEADLINE, Hemicycle, line, until, wait_for_exit

SECRET = 'postgresql://somebody:wisteria@127.0.0.1:1/runs'


@pytest.fixture
def run(postgres_url: str) -> str:
    async def work() -> str:
        async with LocalConductor(await open_journal(postgres_url)) as conductor:
            handle = await conductor.start('pipeline', task='Compare tea and coffee')
            await handle.result()
            return handle.id

    return asyncio.run(work())


def test_doctor_counts_runs_and_missing_steps(hemicycle: Hemicycle, postgres_url: str, run: str) -> None:
    def examine() -> dict[str, dict[str, str]]:
        result = hemicycle('doctor', '--json', '--database', postgres_url)
        return {item['about']: item for item in map(json.loads, result.stdout.splitlines())}

    checks = examine()
    assert checks['Database']['level'] == 'ok' and 'Runs' not in checks
    assert ': 1 run, ' in checks['Database']['text']
    with psycopg.connect(postgres_url) as connection:
        connection.execute('DELETE FROM "transition" WHERE seq = 5')
    assert examine()['Runs']['text'] == f'steps are missing in {run} (1 step)'


@pytest.mark.parametrize(
    ('command', 'message'),
    [
        (('database', 'backup'), 'pg_dump'),
        (('database', 'restore', 'any.tar.gz'), 'pg_restore'),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else '',
)
def test_unsupported_operations_are_reported(
    hemicycle: Hemicycle, command: tuple[str, ...], message: str
) -> None:
    result = hemicycle(*command, '--database', SECRET)
    assert result.exit_code != 0
    assert message in result.stderr
    assert 'wisteria' not in result.output
    assert result.stderr.count('\n') == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands wait less long for a server that does not answer."""
    monkeypatch.setitem(Settings.__init__.__kwdefaults__, 'busy_timeout', 0.2)


@pytest.mark.usefixtures('impatient')
@pytest.mark.parametrize(
    'command',
    [('runs', 'list'), ('doctor',), ('serve',)],
    ids=' '.join,
)
def test_the_password_of_an_unreachable_server_is_not_shown(
    hemicycle: Hemicycle, command: tuple[str, ...]
) -> None:
    result = hemicycle(*command, '--database', SECRET)
    assert result.exit_code != 0
    assert 'somebody:***@127.0.0.1' in result.output
    assert 'wisteria' not in result.output


@pytest.mark.usefixtures('impatient')
@pytest.mark.parametrize(
    ('old', 'new', 'advice'),
    [('@/test', '@/none', 'there is no such database: create it (createdb)'),
     ('tester@', 'nobody@', 'it rejects this user: check the name and the password')],
)  # fmt: skip
def test_a_refused_connection_is_explained(
    hemicycle: Hemicycle, postgres_url: str, old: str, new: str, advice: str
) -> None:
    url = postgres_url.replace(old, new, 1)
    result = hemicycle('runs', 'list', '--database', url)
    assert result.exit_code == 5
    assert f'{url}: {advice} (' in result.stderr


@pytest.fixture
def on(hemicycle: Hemicycle, postgres_url: str) -> Callable[..., Result]:
    """Runs a command on PostgreSQL, which must succeed."""

    def run(*arguments: str) -> Result:
        result = hemicycle(*arguments, '--database', postgres_url)
        assert result.exit_code == 0, result.output
        return result

    return run


def test_a_run_is_searched_noted_starred_and_deleted(on: Callable[..., Result]) -> None:
    def list_titles(*options: str) -> list[str]:
        return [
            json.loads(one)['title'] for one in on('runs', 'list', '--json', *options).stdout.splitlines()
        ]

    result = on('run', 'pipeline', '--task', 'Compare tea and coffee', '--title', 'Kettle', '--quiet')
    assert '# Kettle' in result.stdout or 'Compare' in result.stdout
    on('run', 'pipeline', '--task', 'Compare ink and lead', '--title', 'Pencil', '--tag', 'desk', '--quiet')
    assert list_titles('--search', 'kettle') == ['Kettle']
    assert list_titles('--tag', 'desk') == ['Pencil']
    on('runs', 'note', 'add', 'last', 'A turning point', '--at', '3')
    assert list_titles('--search', 'turning') == ['Pencil']
    on('runs', 'change', 'last', '--starred')
    for command in (
        ('show', 'last'),
        ('runs', 'audit', 'last'),
        ('user', 'list'),
        ('user', 'log'),
        ('schedule', 'list'),
    ):
        on(*command)
    assert '2 runs' in on('pattern', 'traffic', 'pipeline').stdout
    on('runs', 'remove', 'last')
    assert list_titles() == ['Kettle']
    [trashed] = on('runs', 'list', '--json', '--deleted').stdout.splitlines()
    on('runs', 'restore', json.loads(trashed)['id'])
    assert list_titles() == ['Pencil', 'Kettle']
    on('runs', 'retain', '--dry-run')
    on('fork', 'rerun', 'last', '--quiet')
    assert len(list_titles()) == 3


def test_a_killed_run_is_resumed_and_a_live_one_refused(
    hemicycle: Hemicycle, postgres_url: str, on: Callable[..., Result]
) -> None:
    calls = hemicycle.home / 'calls'
    counting = ('counting', '--set', f'calls={calls}', '--set', 'steps=200', '--quiet')
    place = ('--patterns', str(hemicycle.patterns), '--database', postgres_url)

    def has_begun() -> bool:
        return calls.exists() and len(calls.read_text().splitlines()) > 3

    with hemicycle.process('run', *counting, *place) as process:
        until(has_begun, 'it works')
        refused = hemicycle('resume', 'last', *place)
        assert refused.exit_code != 0
        assert 'is still running' in refused.stderr
        process.kill()
        wait_for_exit(process)
    on('resume', 'last', '--quiet', '--patterns', str(hemicycle.patterns))
    on('runs', 'audit', 'last', '--patterns', str(hemicycle.patterns))
    assert len(calls.read_text().splitlines()) <= 201


def test_a_command_reaches_the_server_that_executes_its_run(
    hemicycle: Hemicycle, postgres_url: str, on: Callable[..., Result]
) -> None:
    pattern_options = ('--patterns', str(hemicycle.patterns))
    serve = ('serve', '--port', '0', *pattern_options, '--database', postgres_url)
    with hemicycle.process(*serve) as first, hemicycle.process(*serve) as second:
        urls = [line(server.stdout).split()[3] for server in (first, second)]
        for url in urls:
            launch = {'pattern': 'asking', 'parameters': {}}
            assert httpx.post(f'{url}/api/v1/runs', json=launch, timeout=DEADLINE).is_success
        runs = [json.loads(one) for one in on('runs', 'list', '--json').stdout.splitlines()]
        owners = {run['owner'] for run in runs}
        assert len(owners) == 2
        for run in runs:
            on('send', run['id'], 'said', *pattern_options)
        assert {json.loads(one)['status'] for one in on('runs', 'list', '--json').stdout.splitlines()} == {
            'done'
        }
        for server in (first, second):
            server.terminate()
            assert wait_for_exit(server)[0] == 0
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM entry WHERE kind = 'process'").fetchone() == (0,)


def test_a_database_is_copied_to_postgresql_and_back(
    hemicycle: Hemicycle, postgres_url: str, on: Callable[..., Result]
) -> None:
    hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--title', 'Kettle', '-q')
    output = hemicycle('show', 'last', '--json').stdout
    copied = hemicycle('database', 'copy', str(hemicycle.database), postgres_url)
    assert copied.exit_code == 0, copied.output
    assert ': 1 run, ' in copied.stdout
    assert 'audit: 1 run as recorded' in copied.stdout
    assert on('show', 'last', '--json').stdout == output
    result = hemicycle('database', 'copy', str(hemicycle.database), postgres_url)
    assert result.exit_code != 0
    assert 'is not empty (1 runs, 0 entries)' in result.stderr
    copy_back = hemicycle.home / 'back.db'
    assert hemicycle('database', 'copy', postgres_url, str(copy_back), '--no-audit').exit_code == 0
    assert hemicycle('show', 'last', '--json', '--database', str(copy_back)).stdout == output


def test_a_database_in_use_is_not_copied(hemicycle: Hemicycle, postgres_url: str) -> None:
    pattern_options = ('--patterns', str(hemicycle.patterns))
    with hemicycle.process('run', 'endless', *pattern_options) as process:
        hemicycle.reaches(1, process)
        refused = hemicycle('database', 'copy', str(hemicycle.database), postgres_url)
        assert refused.exit_code != 0
        assert 'is in use by 1 process, such as ' in refused.stderr
