"""The benchmarks run: small sizes, no verdict, no browser."""

import json
import sys
from pathlib import Path

import pytest

from tests.bench.__main__ import TOPICS, main
from tests.bench.pages.live import delays
from tests.bench.table import README_ROWS, SECTION, Row, format_value, markdown, report, text, update_readme
from tests.support.journals.postgres import binaries
from tests.tree import ROOT

PAGES = ('live', 'panes', 'wall', 'transcript', 'debugger', 'stepping', 'traffic', 'watching')
"""The topics that need a browser."""
NAMES = [
    'decided, flat', 'decided, nested 3 levels', 'decided, parallel', 'durable, 1 run, normal',
    'durable, 1 run, full', 'durable, 2 runs, normal', 'durable, 20 runs, normal',
]  # fmt: skip


@pytest.mark.long
def test_the_benchmark_prints_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / 'found.json'
    left_out = (*PAGES, 'api', 'fleet', 'idle', 'start', *(() if binaries() else ('postgres',)))
    skipped = [part for name in left_out for part in ('--skip', name)]
    monkeypatch.setattr(sys, 'argv', ['bench', '--fast', '--json', str(written), *skipped])
    assert main() == 0
    data = json.loads(written.read_text())
    assert [row['name'] for row in data['rows']][: len(NAMES)] == NAMES
    assert {'cores', 'python', 'sqlite'} <= data['machine'].keys() and data['fast'] is True
    printed = capsys.readouterr().out
    for row in data['rows']:
        assert row['name'] in printed and row['value'] >= 0
    targets = [row['name'] for row in data['rows'] if row['target'] is not None]
    # Only `make bench` installs the peers.
    assert len([name for name in targets if 'peer' not in name]) == 23


def test_an_unknown_topic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(PAGES) < set(TOPICS)
    monkeypatch.setattr(sys, 'argv', ['bench', '--only', 'nothing'])
    with pytest.raises(SystemExit):
        main()


def test_a_row_says_whether_its_target_is_met() -> None:
    fast = Row(name='a', value=10, unit='µs', base=2, against='bare', target=8)
    slow = Row(name='b', value=120, unit='ms', target=50)
    assert (fast.quotient, fast.met, slow.met) == (5, True, False)
    assert Row(name='c', value=1, unit='B').met is None
    assert fast.cells(verdict=True) == ('a', '10.0 µs', 'bare 2.00 µs', '5.00×', '8×', 'yes')
    assert slow.cells(verdict=False)[-1] == ''
    assert text([fast, slow], verdict=True).splitlines()[2].endswith('NO')
    assert markdown([fast], verdict=True).splitlines()[1] == '| --- | --- | --- | --- | --- | --- |'
    assert format_value(12345.6, 'B') == '12,346 B'


def test_a_report_lists_what_it_missed_and_the_readme_shows_its_rows() -> None:
    rows = [Row(name=name, value=1, unit='ms', target=number) for number, name in enumerate(README_ROWS)]
    page = report([*rows, Row(name='for information', value=1, unit='B')], 'Measured.')
    assert '7 of 8 targets met. Missed:\n\n- activity, 1 run × 100 steps\n\n' in page
    shown = update_readme('Before\n<!-- bench -->\nold\n<!-- /bench -->\nafter', rows)
    assert shown.startswith('Before\n<!-- bench -->\n| benchmark |') and shown.endswith(
        '<!-- /bench -->\nafter'
    )
    assert 'old' not in shown and set(page.splitlines()) > set(markdown(rows, verdict=True).splitlines())


def test_the_readme_shows_rows_of_the_last_report() -> None:
    section = SECTION.search((ROOT / 'README.md').read_text('utf-8'))
    assert section
    shown = [line for line in section.group().splitlines() if line.startswith('| ')][2:]
    assert [line.split(' | ')[0].removeprefix('| ') for line in shown] == list(README_ROWS)
    assert set(shown) < set((ROOT / 'assets' / 'BENCHMARKS.md').read_text('utf-8').splitlines())


def test_delays_end_when_the_number_or_a_later_one_is_seen() -> None:
    happened = [(1, 0.0), (2, 1.0), (3, 2.0), (4, 3.0), (5, 4.0)]
    displayed = [(1, 0.5), (3, 2.5), (4, 3.25)]
    assert delays(happened, displayed) == [1500.0, 500.0, 250.0]  # 1 was there at the start; 5 was never seen
