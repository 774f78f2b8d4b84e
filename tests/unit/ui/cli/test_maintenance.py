"""The commands that keep and delete runs: note, star, pin, delete, restore, purge, retain."""

import json
from pathlib import Path

import pytest

from tests.support.cli import Hemicycle


@pytest.fixture
def hemicycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: Hemicycle) -> Hemicycle:
    """A database with a run that has ended."""
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(tmp_path / 'endpoints.toml'))
    return Hemicycle(tmp_path, like=done)


def said(hemicycle: Hemicycle, *arguments: str, code: int = 0) -> str:
    result = hemicycle(*arguments)
    assert result.exit_code == code, result.stderr
    return result.stdout if code == 0 else result.stderr


def listed(hemicycle: Hemicycle, *arguments: str) -> list[str]:
    return [json.loads(line)['id'] for line in said(hemicycle, 'runs', '--json', *arguments).splitlines()]


def test_a_note_is_written_changed_found_and_removed(hemicycle: Hemicycle) -> None:
    before = said(hemicycle, 'show', 'last', '--json')
    assert 'no notes' in said(hemicycle, 'note', 'last')
    assert 'step 5' in said(hemicycle, 'note', 'last', '--at', '5', 'the turning point')
    number = json.loads(said(hemicycle, 'note', 'last', '--json'))['id']
    assert listed(hemicycle, '--search', 'turning') != []
    assert 'note on step 5: the turning point' in said(hemicycle, 'show', 'last', '--at', '5')
    assert 'note on' not in said(hemicycle, 'show', 'last', '--at', '6')
    assert 'a detour' in said(hemicycle, 'note', 'last', '--change', str(number), 'a detour')
    assert listed(hemicycle, '--search', 'turning') == []
    said(hemicycle, 'note', 'last', '--remove', str(number))
    assert said(hemicycle, 'show', 'last', '--json') == before


@pytest.mark.parametrize(
    ('arguments', 'problem'),
    [
        (('--at', '999', 'x'), 'has no step 999'),
        (('--at', '1'), 'note: it needs 1 to 10,000 characters'),
        (('x',), '--at: give the step'),
        (('--at', '1', '--remove', '1', 'x'), 'only one of them'),
        (('--remove', '7'), 'has no note 7'),
    ],
)
def test_an_invalid_note_is_refused(hemicycle: Hemicycle, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in said(hemicycle, 'note', 'last', *arguments, code=2)


def test_stars_and_pins_are_listed_and_removed(hemicycle: Hemicycle) -> None:
    (run,) = listed(hemicycle)
    assert listed(hemicycle, '--starred') == listed(hemicycle, '--pinned') == []
    said(hemicycle, 'star', run)
    said(hemicycle, 'pin', 'last', run[:6])
    assert listed(hemicycle, '--starred') == listed(hemicycle, '--pinned') == [run]
    assert '(starred, pinned)' in said(hemicycle, 'runs')
    said(hemicycle, 'star', run, '--off')
    said(hemicycle, 'pin', run, '--off')
    assert 'no runs match' in said(hemicycle, 'runs', '--starred')


def test_a_deleted_run_is_restored_and_purged(hemicycle: Hemicycle) -> None:
    (run,) = listed(hemicycle)
    assert 'delete it first' in said(hemicycle, 'purge', run, code=2)
    said(hemicycle, 'delete', 'last')
    assert listed(hemicycle) == [] and listed(hemicycle, '--deleted') == [run]
    said(hemicycle, 'restore', run[:5])
    assert listed(hemicycle) == [run]
    assert 'it was not deleted' in said(hemicycle, 'restore', run, code=2)
    said(hemicycle, 'delete', run)
    assert 'give --all' in said(hemicycle, 'purge', code=2)
    assert '1 run permanently removed' in said(hemicycle, 'purge', '--all')
    assert listed(hemicycle, '--deleted') == []
    assert 'there is no run' in said(hemicycle, 'show', run, code=2)


def test_a_run_whose_process_is_gone_can_be_deleted(hemicycle: Hemicycle) -> None:
    said(hemicycle, 'run', 'asking', '--quiet', '--patterns', str(hemicycle.patterns), code=4)
    run, _ = listed(hemicycle)
    said(hemicycle, 'delete', run)
    assert listed(hemicycle, '--deleted') == [run]


def test_retention_previews_deletions(hemicycle: Hemicycle, tmp_path: Path) -> None:
    assert 'no policy is set' in said(hemicycle, 'retain', '--dry-run')
    (tmp_path / 'endpoints.toml').write_text('[retention]\nsize = "1 kB"\ntrash_days = 0\n')
    (run,) = listed(hemicycle)
    told = said(hemicycle, 'retain', '--dry-run')
    assert run in told and '1 run would be deleted' in told
    assert listed(hemicycle) == [run]
    said(hemicycle, 'pin', run)
    assert '0 runs deleted' in said(hemicycle, 'retain')
    said(hemicycle, 'pin', run, '--off')
    found = json.loads(said(hemicycle, 'retain', '--json'))
    assert found['id'] == run and found['bytes'] > 1_000
    assert listed(hemicycle, '--deleted') == [run]
    assert '1 run permanently removed' in said(hemicycle, 'retain')


def test_an_invalid_policy_is_named(hemicycle: Hemicycle, tmp_path: Path) -> None:
    (tmp_path / 'endpoints.toml').write_text('[retention]\nruns = 0\n')
    assert 'retention.runs' in said(hemicycle, 'retain', code=2)
