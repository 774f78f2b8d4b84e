"""The command that imports traces of other frameworks."""

import json
import os
import threading
from pathlib import Path

import pytest

from tests.golden.traces import FOLDER
from tests.support.cli import Hemicycle, json_lines


@pytest.fixture
def hemicycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hemicycle:
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(tmp_path / 'endpoints.toml'))
    return Hemicycle(tmp_path)


def test_traces_are_imported_shown_audited_compared_and_exported(
    hemicycle: Hemicycle, tmp_path: Path
) -> None:
    result = hemicycle(
        'runs', 'import', *(str(FOLDER / f'{name}.json') for name in ('openai_agents', 'langgraph')), '--json'
    )
    assert result.exit_code == 0, result.stderr
    first, second = json_lines(result.stdout)
    assert (first['outcome'], second['outcome'], first['unfinished']) == ('new', 'new', False)
    assert (
        'known' not in result.stdout
        and first['id'] in hemicycle('runs', 'import', str(FOLDER / 'openai_agents.json')).stdout
    )
    listed = hemicycle('runs', 'list', '--tag', 'imported trace', '--json').stdout.splitlines()
    assert {json.loads(line)['id'] for line in listed} == {first['id'], second['id']}
    assert 'Refund clerk' in hemicycle('show', first['id'], '--at', '5').stdout
    assert '10 steps' in hemicycle('runs', 'audit', first['id']).stdout
    assert hemicycle('runs', 'compare', first['id'], second['id']).exit_code == 1  # they differ
    text = hemicycle('runs', 'export', first['id'], '--markdown', '-o', '-').stdout
    assert 'Your order A17 was lost by the carrier' in text
    assert hemicycle('runs', 'export', first['id'], '-o', str(tmp_path / 'desk.html')).exit_code == 0
    forked = hemicycle('fork', 'start', first['id'], '--at', '3')
    assert forked.exit_code == 2 and 'imported from a trace' in forked.stderr


def test_an_invalid_trace_names_the_field(hemicycle: Hemicycle, tmp_path: Path) -> None:
    file = tmp_path / 'traces.json'
    file.write_text('{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "a"}]}]}]}')
    refused = hemicycle('runs', 'import', str(file))
    assert refused.exit_code == 2
    assert 'traces.json: resourceSpans.0.scopeSpans.0.spans.0.spanId: Field required' in refused.stderr


def test_a_trace_is_read_from_standard_input_and_from_a_pipe(hemicycle: Hemicycle, tmp_path: Path) -> None:
    traces = FOLDER / 'langgraph.json'
    piped = hemicycle('runs', 'import', '-', '--json', stdin=traces.read_text())
    assert piped.exit_code == 0, piped.stderr
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(traces.read_bytes()))
    writer.start()
    again = hemicycle('runs', 'import', str(pipe), '--json')
    writer.join()
    assert again.exit_code == 0, again.stderr
    assert json.loads(again.stdout)['origin'] == json.loads(piped.stdout)['origin']
