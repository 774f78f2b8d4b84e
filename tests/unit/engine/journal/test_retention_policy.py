"""The retention policy: limits on age, number and size, and runs that are always kept."""

from __future__ import annotations

from typing import Any

import pytest

from engine import Status
from engine.configuration import RetentionSection, parse_size
from engine.journal.retention_policy import DAY, Retention, expired_runs
from engine.records import RunId, RunInfo

NOW = 1_700_000_000.0


def run(name: str, days: float = 0, **fields: Any) -> RunInfo:
    """Return a run that ended this many days ago."""
    at = NOW - days * DAY
    plain = {'pattern': 'p', 'title': name, 'status': Status.DONE, 'created': at - 60, 'updated': at}
    return RunInfo(id=RunId(name), **(plain | fields))


def takes(policy: Retention, *runs: RunInfo, size: int = 100) -> str:
    return ''.join(item.info.id for item in expired_runs(policy, [(info, size) for info in runs], NOW))


def test_without_limits_nothing_is_deleted() -> None:
    assert Retention().idle
    assert takes(Retention(), run('a', 9999)) == ''


def test_age_counts_from_the_end() -> None:
    old = run('a', 30.1)
    long = run('b', 1, created=NOW - 99 * DAY)
    assert takes(Retention(days=30), old, long, run('c', 29.9)) == 'a'
    (expired,) = expired_runs(Retention(days=30), [(old, 7)], NOW)
    assert (expired.reason, expired.bytes) == ('ended more than 30 days ago', 7)


def test_the_newest_of_each_pattern_are_kept() -> None:
    runs = [run('a', 5), run('b', 4), run('c', 3), run('x', 9, pattern='q'), run('y', 8, pattern='q')]
    assert takes(Retention(runs=2), *runs) == 'a'
    assert takes(Retention(runs=1), *runs) == 'xab'  # the oldest first
    (expired,) = expired_runs(Retention(runs=2), [(info, 1) for info in runs], NOW)
    assert expired.reason == 'not among the 2 newest of p'


def test_the_oldest_runs_make_room() -> None:
    runs = [run('a', 1), run('b', 3), run('c', 2)]
    assert takes(Retention(size=300), *runs) == ''
    assert takes(Retention(size=299), *runs) == 'b'
    assert takes(Retention(size=100), *runs) == 'bc'
    assert takes(Retention(size=0), *runs) == 'bca'


def test_deletions_by_one_limit_count_for_another() -> None:
    assert takes(Retention(size=200, days=30), run('a', 1), run('b', 40), run('c', 2)) == 'b'


@pytest.mark.parametrize(
    'spared',
    [
        {'pinned': True},
        {'starred': True},
        {'status': Status.RUNNING},
        {'status': Status.PAUSED},
        {'status': Status.WAITING},
    ],
    ids=lambda fields: next(iter(str(value) for value in fields.values())) + next(iter(fields)),
)
@pytest.mark.parametrize(
    'policy', [Retention(days=1), Retention(runs=1), Retention(size=0)], ids=['age', 'count', 'size']
)
def test_pinned_starred_and_unfinished_runs_are_kept(policy: Retention, spared: dict[str, Any]) -> None:
    newest = run('z', 0)
    assert takes(policy, run('a', 99), newest).startswith('a')
    assert takes(policy, run('a', 99, **spared), newest).strip('z') == ''


def test_a_pinned_run_does_not_count_among_the_newest() -> None:
    runs = [run('a', 1, pinned=True), run('b', 2), run('c', 3)]
    assert takes(Retention(runs=1), *runs) == 'c'


@pytest.mark.parametrize(
    'policy', [Retention(days=10), Retention(runs=1), Retention(size=150)], ids=['age', 'count', 'size']
)
def test_parents_of_kept_forks_are_kept(policy: Retention) -> None:
    parent, child = run('a', 90), run('b', 50, parent=RunId('a'))
    grandchild = run('c', 0, parent=RunId('b'), pinned=True)
    newest = run('z', 0)
    assert 'a' not in takes(policy, parent, child, grandchild, newest)
    assert 'b' not in takes(policy, parent, child, grandchild, newest)


def test_a_family_is_deleted_together() -> None:
    family = [run('a', 90), run('b', 50, parent=RunId('a')), run('c', 40, parent=RunId('b'))]
    assert takes(Retention(days=10), *family) == 'abc'
    assert takes(Retention(size=150), *family) == 'bc'  # forks first, or they would be orphans
    assert takes(Retention(size=0), *family) == 'abc'


def test_a_purged_parent_is_ignored() -> None:
    assert takes(Retention(days=10), run('b', 50, parent=RunId('gone'))) == 'b'


@pytest.mark.parametrize(
    ('text', 'size'),
    [('20 GB', 20 * 10**9), ('1.5kB', 1500), ('7', 7), (7, 7), ('3 b', 3), (None, None), ('2TB', 2 * 10**12)],
)
def test_sizes_with_units_are_parsed(text: Any, size: int | None) -> None:
    assert RetentionSection(size=text).policy().size == size


@pytest.mark.parametrize('text', ['', 'much', '20 QB', '-3 MB', '1 2 MB'])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match='is not a size'):
        parse_size(text)


@pytest.mark.parametrize(
    'section', [{'days': 0}, {'runs': 0}, {'size': -1}, {'trash_days': -1}, {'month': 1}]
)
def test_an_invalid_section_is_refused(section: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(section))):
        RetentionSection(**section)
