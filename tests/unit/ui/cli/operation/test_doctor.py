"""hemicycle doctor: names what is broken and how to fix it, and changes nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.unit.ui.cli.conftest import Doctor
from ui.cli.operation import doctor

if TYPE_CHECKING:
    from tests.support.servers.s3 import S3Server


def test_a_new_installation_is_healthy_and_unchanged(examine: Doctor) -> None:
    before = sorted(examine.hemicycle.home.rglob('*'))
    checks = examine()
    assert {line['level'] for about, line in checks.items() if about not in ('Sandbox', 'Disk')} == {'ok'}
    assert 'the first run creates it' in checks['Database']['text']
    assert sorted(examine.hemicycle.home.rglob('*')) == before


def test_the_remote_files_are_named_and_tested(examine: Doctor, s3: S3Server) -> None:
    assert examine()['Files']['text'].endswith('workspaces: on this machine only')
    url = s3.bucket()
    check = examine('--files', url)['Files']
    assert (check['level'], check['text']) == (
        'ok',
        f'{url} at {s3.url}: a file was written, read and removed',
    )
    missing = examine('--files', 's3://nothing-here', code=1)['Files']
    assert (missing['level'], missing['text']) == (
        'broken',
        f's3://nothing-here at {s3.url}: there is no bucket of that name',
    )
    assert 'HEMICYCLE_FILES' in missing['remedy']


def test_a_damaged_database_is_reported_as_broken(examine: Doctor) -> None:
    examine.hemicycle.database.write_bytes(b'SQLite format 3\0' + b'\xff' * 8_000)
    check = examine(code=1)['Database']
    assert check['level'] == 'broken'
    assert 'hemicycle.db' in check['text']


def test_missing_steps_are_reported(examine: Doctor) -> None:
    assert examine.hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q').exit_code == 0
    healthy = examine()
    assert '1 run, ' in healthy['Database']['text'] and 'Runs' not in healthy
    with closing(sqlite3.connect(examine.hemicycle.database)) as file, file:
        file.execute('DELETE FROM "transition" WHERE seq IN (5, 6)')
        (run,) = file.execute('SELECT id FROM run').fetchone()
    check = examine(code=1)['Runs']
    assert (check['level'], check['text']) == ('broken', f'steps are missing in {run} (2 steps)')
    assert 'hemicycle runs audit' in check['remedy']


def test_files_accessible_to_others_are_reported(examine: Doctor) -> None:
    examine.hemicycle.home.chmod(0o755)
    examine.configuration.write_text('')
    examine.configuration.chmod(0o666)
    checks = examine()
    assert checks['Data folder']['remedy'] == f'chmod 700 {examine.hemicycle.home}'
    assert checks['Configuration']['remedy'] == f'chmod 600 {examine.configuration}'


def test_a_missing_key_and_a_faulty_plug_in_are_named(
    examine: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv('WORK_KEY', raising=False)
    examine.configuration.write_text(
        '[endpoints.work]\nurl = "https://models.example/v1"\nkey = "env:WORK_KEY"\n'
    )
    (examine.hemicycle.patterns / 'faulty.py').write_text('def')
    checks = examine('--patterns', str(examine.hemicycle.patterns), code=1)
    assert checks['work']['level'] == 'warning' and 'WORK_KEY' in checks['work']['text']
    assert checks['Plug-in']['level'] == 'broken' and 'faulty.py:1' in checks['Plug-in']['text']


def test_an_unreadable_configuration_is_broken(examine: Doctor) -> None:
    examine.configuration.write_text('[endpoints.work\n')
    assert 'endpoints.toml' in examine(code=1)['Configuration']['text']


def test_without_graphviz_or_space_it_says_what_to_do(
    examine: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.shutil, 'which', lambda name: None)
    monkeypatch.setattr(doctor, 'TIGHT', 1 << 60)
    checks = examine(code=1)
    assert checks['Diagrams'] | {'level': 'broken', 'remedy': 'apt install graphviz'} == checks['Diagrams']
    assert checks['Disk']['level'] == 'broken' and 'retention' in checks['Disk']['remedy']


def test_endpoints_are_called_only_when_asked(examine: Doctor) -> None:
    examine.configuration.write_text('[endpoints.gone]\nurl = "http://127.0.0.1:9/v1"\nmodels = ["m"]\n')
    assert 'gone' not in examine()
    assert examine('--call', code=1)['gone']['level'] == 'broken'


def test_the_remedy_is_printed_below_the_problem(examine: Doctor) -> None:
    examine.hemicycle.home.chmod(0o755)
    lines = examine.hemicycle('doctor').stdout.splitlines()
    problem = next(line for line in lines if line.startswith('warning  Data folder'))
    assert lines[lines.index(problem) + 1].strip() == f'chmod 700 {examine.hemicycle.home}'
