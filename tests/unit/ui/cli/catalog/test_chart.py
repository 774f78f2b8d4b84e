"""hemicycle chart: charts that are files, from a first check to an earlier version that runs again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.charts.files import chart_text
from tests.support.cli import Hemicycle, invoke, json_lines


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is not saved yet."""
    monkeypatch.setenv('HEMICYCLE_HOME', str(tmp_path / 'home'))
    file = tmp_path / 'ask.chart.yaml'
    file.write_text(chart_text('first'), 'utf-8')
    return file


def test_a_chart_is_checked_saved_run_and_restored(hemicycle: Hemicycle, chart: Path) -> None:
    assert 'there are no charts yet' in invoke(hemicycle, 'chart', 'list')
    assert 'it waits for a person without a time limit' in invoke(hemicycle, 'chart', 'check', str(chart))
    one = json.loads(invoke(hemicycle, 'chart', 'save', str(chart), '--json'))
    assert one['number'] == 1
    chart.write_text(chart_text('second'), 'utf-8')
    assert 'version 2' in invoke(hemicycle, 'chart', 'save', str(chart), '--note', 'renamed')
    assert [line['note'] for line in json_lines(invoke(hemicycle, 'chart', 'versions', 'ask', '--json'))] == [
        'renamed', '',
    ]  # fmt: skip
    assert 'second' in invoke(hemicycle, 'chart', 'show', 'ask')
    assert invoke(hemicycle, 'chart', 'show', 'ask', '--version', '1') == chart_text('first')
    hemicycle('run', 'ask', '--version', '1', '--paused', '--quiet')
    (run,) = json_lines(invoke(hemicycle, 'runs', 'list', '--version', one['version'], '--json'))
    assert (run['pattern'], run['version']) == ('ask', one['version'])
    assert one['version'] in invoke(hemicycle, 'show', 'last')
    invoke(hemicycle, 'chart', 'remove', 'ask')
    assert 'removed' in invoke(hemicycle, 'chart', 'list')
    assert 'version 1' in invoke(hemicycle, 'chart', 'restore', 'ask', '1')
    assert one['version'] in invoke(hemicycle, 'pattern', 'list')


def test_what_is_wrong_is_named_by_file_and_line(hemicycle: Hemicycle, chart: Path) -> None:
    chart.write_text(chart_text('first', start='nowhere'), 'utf-8')
    result = hemicycle('chart', 'check', str(chart))
    assert result.exit_code == 1 and f"{chart}:7: there is no state 'nowhere'" in result.stdout
    assert "ask.chart.yaml:7: there is no state 'nowhere'" in invoke(
        hemicycle, 'chart', 'save', str(chart), code=2
    )
    other = chart.rename(chart.with_name('ask.yaml'))
    assert 'must be called NAME.chart.yaml' in invoke(hemicycle, 'chart', 'check', str(other), code=2)


def test_a_save_on_an_outdated_version_is_refused(hemicycle: Hemicycle, chart: Path) -> None:
    one = json.loads(invoke(hemicycle, 'chart', 'save', str(chart), '--json'))
    chart.write_text(chart_text('second'), 'utf-8')
    invoke(hemicycle, 'chart', 'save', str(chart))
    chart.write_text(chart_text('third'), 'utf-8')
    said = invoke(hemicycle, 'chart', 'save', str(chart), '--base', one['version'], code=2)
    assert 'has been changed by somebody else' in said


def test_a_pattern_in_python_is_exported_and_saved_as_a_chart(hemicycle: Hemicycle, chart: Path) -> None:
    file = chart.with_name('two-votes.chart.yaml')
    more = ('--set', 'voters=2', '--name', 'two-votes', '--output', str(file))
    result = hemicycle('chart', 'export', 'vote', *more)
    assert result.exit_code == 0 and 'cannot be said: guards.has_votes: ' in result.stderr
    assert invoke(hemicycle, 'chart', 'export', 'vote', *more[:4]) == file.read_text('utf-8')
    assert 'voter3' not in file.read_text('utf-8')
    assert 'version 1' in invoke(hemicycle, 'chart', 'save', str(file))
    assert 'less than or equal to 6' in invoke(
        hemicycle, 'chart', 'export', 'vote', '--set', 'voters=9', code=2
    )
