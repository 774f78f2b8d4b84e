"""The commands that keep and delete runs: edit, note, star, pin, delete, restore, purge, retain."""

import json
from pathlib import Path

import pytest

from tests.support.cli import Hemicycle, invoke, json_lines


@pytest.fixture
def hemicycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: Hemicycle) -> Hemicycle:
    """A database with a run that has ended."""
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(tmp_path / 'endpoints.toml'))
    return Hemicycle(tmp_path, like=done)


def list_runs(hemicycle: Hemicycle, *arguments: str) -> list[str]:
    return [entry['id'] for entry in json_lines(invoke(hemicycle, 'runs', 'list', '--json', *arguments))]


def test_a_note_is_written_changed_found_and_removed(hemicycle: Hemicycle) -> None:
    before = invoke(hemicycle, 'show', 'last', '--json')
    assert 'no notes' in invoke(hemicycle, 'runs', 'note', 'list', 'last')
    assert 'step 5' in invoke(hemicycle, 'runs', 'note', 'add', 'last', 'the turning point', '--at', '5')
    number = json.loads(invoke(hemicycle, 'runs', 'note', 'list', 'last', '--json'))['id']
    assert list_runs(hemicycle, '--search', 'turning') != []
    assert 'note on step 5: the turning point' in invoke(hemicycle, 'show', 'last', '--at', '5')
    assert 'note on' not in invoke(hemicycle, 'show', 'last', '--at', '6')
    assert 'a detour' in invoke(hemicycle, 'runs', 'note', 'change', 'last', str(number), 'a detour')
    assert list_runs(hemicycle, '--search', 'turning') == []
    invoke(hemicycle, 'runs', 'note', 'remove', 'last', str(number))
    assert invoke(hemicycle, 'show', 'last', '--json') == before


def test_stars_and_pins_are_listed_and_removed(hemicycle: Hemicycle) -> None:
    (run,) = list_runs(hemicycle)
    assert list_runs(hemicycle, '--starred') == list_runs(hemicycle, '--pinned') == []
    invoke(hemicycle, 'runs', 'change', 'last', run[:6], '--starred', '--pinned')
    assert list_runs(hemicycle, '--starred') == list_runs(hemicycle, '--pinned') == [run]
    assert '(starred, pinned)' in invoke(hemicycle, 'runs', 'list')
    invoke(hemicycle, 'runs', 'change', run, '--no-starred', '--no-pinned')
    assert 'no runs match' in invoke(hemicycle, 'runs', 'list', '--starred')


def test_a_deleted_run_is_restored_and_purged(hemicycle: Hemicycle) -> None:
    (run,) = list_runs(hemicycle)
    assert 'delete it first' in invoke(hemicycle, 'runs', 'purge', run, code=2)
    invoke(hemicycle, 'runs', 'remove', 'last')
    assert list_runs(hemicycle) == [] and list_runs(hemicycle, '--deleted') == [run]
    invoke(hemicycle, 'runs', 'restore', run[:5])
    assert list_runs(hemicycle) == [run]
    assert 'it was not deleted' in invoke(hemicycle, 'runs', 'restore', run, code=2)
    invoke(hemicycle, 'runs', 'remove', run)
    assert 'give --all' in invoke(hemicycle, 'runs', 'purge', code=2)
    assert '1 run permanently removed' in invoke(hemicycle, 'runs', 'purge', '--all')
    assert list_runs(hemicycle, '--deleted') == []
    assert 'there is no run' in invoke(hemicycle, 'show', run, code=2)


def test_a_run_whose_process_is_gone_can_be_deleted(hemicycle: Hemicycle) -> None:
    invoke(hemicycle, 'run', 'asking', '--quiet', '--patterns', str(hemicycle.patterns), code=4)
    run, _ = list_runs(hemicycle)
    invoke(hemicycle, 'runs', 'remove', run)
    assert list_runs(hemicycle, '--deleted') == [run]


def test_retention_previews_deletions(hemicycle: Hemicycle, tmp_path: Path) -> None:
    assert 'no policy is set' in invoke(hemicycle, 'runs', 'retain', '--dry-run')
    (tmp_path / 'endpoints.toml').write_text('[retention]\nsize = "1 kB"\ntrash_days = 0\n')
    (run,) = list_runs(hemicycle)
    output = invoke(hemicycle, 'runs', 'retain', '--dry-run')
    assert run in output and '1 run would be deleted' in output
    assert list_runs(hemicycle) == [run]
    invoke(hemicycle, 'runs', 'change', run, '--pinned')
    assert '0 runs deleted' in invoke(hemicycle, 'runs', 'retain')
    invoke(hemicycle, 'runs', 'change', run, '--no-pinned')
    data = json.loads(invoke(hemicycle, 'runs', 'retain', '--json'))
    assert data['id'] == run and data['bytes'] > 1_000
    assert list_runs(hemicycle, '--deleted') == [run]
    assert '1 run permanently removed' in invoke(hemicycle, 'runs', 'retain')


def test_an_invalid_policy_is_named(hemicycle: Hemicycle, tmp_path: Path) -> None:
    (tmp_path / 'endpoints.toml').write_text('[retention]\nruns = 0\n')
    assert 'retention.runs' in invoke(hemicycle, 'runs', 'retain', code=2)


def test_title_tags_and_note_of_a_run_are_edited(hemicycle: Hemicycle) -> None:
    (run,) = list_runs(hemicycle)
    details = (
        '--untag', 'demo', '--title', ' A fine run ', '--tag', 'nightly', '--tag', 'draft', '--note',
        'slow',
    )  # fmt: skip
    edited = json.loads(invoke(hemicycle, 'runs', 'change', 'last', *details, '--json'))
    assert (edited['id'], edited['title'], edited['note']) == (run, 'A fine run', 'slow')
    assert sorted(edited['tags']) == ['draft', 'nightly'] and not edited['private']
    invoke(
        hemicycle,
        'runs',
        'change',
        run[:6],
        '--tag',
        'nightly',
        '--untag',
        'draft',
        '--note',
        '',
        '--private',
    )
    assert list_runs(hemicycle, '--tag', 'nightly') == [run] and list_runs(hemicycle, '--tag', 'draft') == []
    data = json.loads(invoke(hemicycle, 'runs', 'list', '--json'))
    assert (data['title'], data['note'], data['private']) == ('A fine run', '', True)
    assert '(private)' in invoke(hemicycle, 'runs', 'list')
    invoke(hemicycle, 'runs', 'change', run, '--no-private')
    assert '(private)' not in invoke(hemicycle, 'runs', 'list')


def test_a_tag_is_removed_from_those_of_several_runs_that_have_it(hemicycle: Hemicycle) -> None:
    assert hemicycle('run', 'asking', '--patterns', str(hemicycle.patterns), '--tag', 'draft').exit_code == 4
    both = list_runs(hemicycle)
    invoke(hemicycle, 'runs', 'change', *both, '--untag', 'draft', '--tag', 'reviewed')
    assert list_runs(hemicycle, '--tag', 'reviewed') == both and list_runs(hemicycle, '--tag', 'draft') == []


def test_a_run_starts_as_private(hemicycle: Hemicycle) -> None:
    invoke(hemicycle, 'run', 'asking', '--patterns', str(hemicycle.patterns), '--private', code=4)
    assert hemicycle.newest().private
