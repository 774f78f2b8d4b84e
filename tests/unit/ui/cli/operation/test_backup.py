"""hemicycle database backup and restore: messages, checks and refusals."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.charts.files import chart_text
from tests.support.cli import Hemicycle, invoke


@pytest.fixture
def hemicycle(tmp_path: Path, done: Hemicycle) -> Hemicycle:
    return Hemicycle(tmp_path / 'here', like=done)


def test_a_backup_is_checked_and_restored_elsewhere(hemicycle: Hemicycle, tmp_path: Path) -> None:
    archive = tmp_path / 'backups' / 'today.tar.gz'
    result = hemicycle('database', 'backup', str(archive))
    assert result.exit_code == 0, result.stderr
    assert f'{archive}: 1 run, ' in result.stdout
    assert 'audit: 1 run as recorded' in result.stdout
    assert list(archive.parent.iterdir()) == [archive]

    (tmp_path / 'there').mkdir()
    target = Hemicycle(tmp_path / 'there')
    result = target('database', 'restore', str(archive))
    assert result.exit_code == 0, result.stderr
    assert 'audit: 1 run as recorded' in result.stdout
    output = hemicycle('show', 'last', '--json').stdout
    assert target('show', 'last', '--json').stdout == output

    refused = target('database', 'restore', str(archive))
    assert refused.exit_code == 5
    assert 'already exists, and nothing is overwritten' in refused.stderr


def test_the_charts_of_runs_are_backed_up_with_their_versions(tmp_path: Path) -> None:
    for name in ('here', 'there'):
        (tmp_path / name).mkdir()
    here, there = Hemicycle(tmp_path / 'here'), Hemicycle(tmp_path / 'there')
    chart, archive = tmp_path / 'ask.chart.yaml', tmp_path / 'backup.tar.gz'
    for state in ('first', 'second'):
        chart.write_text(chart_text(state), 'utf-8')
        invoke(here, 'chart', 'save', str(chart))
        here('run', 'ask', '--paused', '--quiet')
    assert 'audit: 2 runs as recorded' in invoke(here, 'database', 'backup', str(archive))
    chart.write_text(chart_text('other'), 'utf-8')
    invoke(there, 'chart', 'save', str(chart))
    assert 'ask.chart.yaml already exists' in invoke(there, 'database', 'restore', str(archive), code=5)
    shutil.rmtree(there.home / 'charts')
    assert 'audit: 2 runs as recorded' in invoke(there, 'database', 'restore', str(archive))
    assert invoke(there, 'chart', 'versions', 'ask') == invoke(here, 'chart', 'versions', 'ask')


def test_a_backup_says_that_it_excludes_remote_files(
    hemicycle: Hemicycle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('HEMICYCLE_FILES', 's3://bucket/x')
    output = hemicycle('database', 'backup', str(tmp_path / 'backup.tar.gz')).stdout
    assert 'not included: files that are only in s3://bucket/x' in output
    assert 'audit: 1 run as recorded' in output


def test_a_differing_decision_is_found(hemicycle: Hemicycle, tmp_path: Path) -> None:
    with closing(sqlite3.connect(hemicycle.database)) as database:
        database.execute('UPDATE "transition" SET name = \'retry\' WHERE seq = 9')
        database.commit()
    result = hemicycle('database', 'backup', str(tmp_path / 'backup.tar.gz'))
    assert result.exit_code == 1
    assert 'diverges at step' in result.stderr
    assert 'audit: 0 runs as recorded' in result.stdout
    assert hemicycle('database', 'backup', str(tmp_path / 'unchecked.tar.gz'), '--no-audit').exit_code == 0


def test_runs_of_missing_patterns_are_named(hemicycle: Hemicycle, tmp_path: Path) -> None:
    pattern_options = ('--patterns', str(hemicycle.patterns))
    hemicycle('run', 'failing', *pattern_options, '-q')
    result = hemicycle('database', 'backup', str(tmp_path / 'backup.tar.gz'))
    assert result.exit_code == 0, result.stderr
    assert 'audit: 1 run left out, whose patterns are not installed: failing' in result.stdout
    assert (
        'audit: 2 runs as recorded'
        in hemicycle('database', 'backup', str(tmp_path / 'all.tar.gz'), *pattern_options).stdout
    )


def test_nothing_is_overwritten_or_created_from_nothing(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    (existing := tmp_path / 'taken.tar.gz').write_text('mine')
    result = hemicycle('database', 'backup', str(tmp_path / 'backup.tar.gz'))
    assert (result.exit_code, 'there is nothing to back up' in result.stderr) == (2, True)
    hemicycle.database.touch()
    result = hemicycle('database', 'backup', str(existing))
    assert (result.exit_code, 'already exists' in result.stderr) == (2, True)
    assert existing.read_text() == 'mine'
    result = hemicycle(
        'database', 'restore', str(tmp_path / 'none.tar.gz'), '--database', str(tmp_path / 'new.db')
    )
    assert result.exit_code == 5
    assert 'none.tar.gz' in result.stderr
