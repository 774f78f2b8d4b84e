"""hemicycle runs export and import: the three formats, where they are written, and what is rejected."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.support.cli import Hemicycle
from tests.support.journals.limited_space import limit_file_size


@pytest.fixture
def hemicycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: Hemicycle) -> Hemicycle:
    monkeypatch.chdir(tmp_path)
    return Hemicycle(tmp_path / 'home', like=done)


def test_each_format_gets_a_file_named_after_the_run(hemicycle: Hemicycle, tmp_path: Path) -> None:
    for option, end in (('--html', 'html'), ('--bundle', 'jsonl.gz'), ('--markdown', 'md')):
        result = hemicycle('runs', 'export', 'last', option)
        assert result.exit_code == 0, result.output
        assert (tmp_path / result.stdout.strip()).is_file()
        assert result.stdout.strip().startswith('compare-tea-and-coffee-') and result.stdout.strip().endswith(
            end
        )
    assert hemicycle('runs', 'export').stdout.strip().endswith('.html')


@pytest.mark.parametrize('name', ['run.jsonl', 'run.jsonl.gz'])
def test_the_name_of_the_file_chooses_the_format(hemicycle: Hemicycle, tmp_path: Path, name: str) -> None:
    assert hemicycle('runs', 'export', 'last', '-o', name).exit_code == 0
    assert 'exists already' in hemicycle('runs', 'import', name).stdout
    assert hemicycle('runs', 'export', 'last', '-o', 'run.md').exit_code == 0
    assert Path('run.md').read_text().startswith('# Compare tea and coffee')
    assert hemicycle('runs', 'export', 'last', '--html', '-o', name).exit_code == 0, 'an option comes first'
    refused = hemicycle('runs', 'import', name)
    assert refused.exit_code == 2 and 'create one with `hemicycle runs export --bundle`' in refused.stderr


def test_a_full_disk_leaves_the_file_as_it_was(hemicycle: Hemicycle, tmp_path: Path) -> None:
    page = tmp_path / 'run.html'
    page.write_text('as it was')
    with limit_file_size(100_000):
        result = hemicycle('runs', 'export', '-o', str(page))
    assert (result.exit_code, result.stderr) == (5, f'hemicycle: {page}: File too large\n')
    assert page.read_text() == 'as it was' and not list(tmp_path.glob('.run.html*'))
    assert hemicycle('runs', 'export', '-o', str(page)).exit_code == 0 and len(page.read_bytes()) > 100_000


def test_a_pipe_is_written_to_and_a_link_followed_neither_is_replaced(
    hemicycle: Hemicycle, tmp_path: Path
) -> None:
    pipe, link, page = tmp_path / 'pipe', tmp_path / 'link', tmp_path / 'run.md'
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), 'rb') as reader:
        assert hemicycle('runs', 'export', '--markdown', '-o', str(pipe)).exit_code == 0
        assert pipe.is_fifo() and reader.read().startswith(b'# Compare tea and coffee')
    link.symlink_to(page)
    assert hemicycle('runs', 'export', '--markdown', '-o', str(link)).exit_code == 0
    assert link.is_symlink() and page.read_text().startswith('# Compare tea and coffee')


def test_a_place_that_cannot_be_written_is_named(hemicycle: Hemicycle, tmp_path: Path) -> None:
    for place, problem in (
        (tmp_path, 'Is a directory'),
        (tmp_path / 'none' / 'a', 'No such file or directory'),
    ):
        result = hemicycle('runs', 'export', '-o', str(place))
        assert (result.exit_code, result.stderr) == (5, f'hemicycle: {place}: {problem}\n')


def test_a_bundle_is_imported_elsewhere(hemicycle: Hemicycle, tmp_path: Path) -> None:
    bundle = tmp_path / 'all.gz'
    assert hemicycle('runs', 'export', 'last', '--bundle', '--family', '-o', str(bundle)).exit_code == 0
    (tmp_path / 'other').mkdir()
    other = Hemicycle(tmp_path / 'other')
    result = other('runs', 'import', str(bundle), '--json')
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data['outcome'] == 'new'
    assert 'exists already' in other('runs', 'import', str(bundle)).stdout
    copy = json.loads(other('show', data['id'], '--json').stdout)
    assert copy['transitions'] == json.loads(hemicycle('show', 'last', '--json').stdout)['transitions']


def test_a_transcript_goes_to_standard_output(hemicycle: Hemicycle) -> None:
    result = hemicycle('runs', 'export', 'last', '--markdown', '-o', '-')
    assert result.stdout.startswith('# Compare tea and coffee')


def test_invalid_imports_are_refused(hemicycle: Hemicycle, tmp_path: Path) -> None:
    broken = tmp_path / 'broken.gz'
    broken.write_bytes(gzip.compress(b'{}'))
    result = hemicycle('runs', 'import', str(broken))
    assert result.exit_code == 2 and 'broken.gz: this is not a bundle' in result.stderr
    missing = hemicycle('runs', 'import', str(tmp_path / 'missing'))
    assert missing.exit_code == 5 and 'No such file' in missing.stderr
