"""hemicycle runs compare: its output for two runs, and its exit codes."""

import json
from pathlib import Path

import pytest

from tests.support.cli import Hemicycle


@pytest.fixture(scope='module')
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Hemicycle, str, str]:
    """A database with two runs of the pipeline, the second of which may not revise; to be read."""
    hemicycle = Hemicycle(tmp_path_factory.mktemp('two'))
    names = []
    for most in ('3', '0'):
        options = ('--task', 'Compare tea and coffee', '--quiet', '--set', f'max_iterations={most}')
        hemicycle('run', 'pipeline', *options)
        names.append(str(hemicycle.newest().id))
    return hemicycle, names[0], names[1]


def test_a_run_took_the_same_path_as_itself(two: tuple[Hemicycle, str, str]) -> None:
    hemicycle, one, _ = two
    result = hemicycle('runs', 'compare', one, one)
    assert (result.exit_code, result.stderr) == (0, '')
    assert 'The same run twice' in result.stdout


def test_a_comparison_says_where_runs_diverge_and_why(two: tuple[Hemicycle, str, str]) -> None:
    hemicycle, one, other = two
    result = hemicycle('runs', 'compare', one, other)
    assert result.exit_code == 1
    assert 'The runs diverge at step ' in result.stdout
    assert 'No revisions left: no in A, yes in B: A went' in result.stdout
    assert 'max_iterations  A 3, B 0' in result.stdout
    assert ', less in B' in result.stdout
    assert 'reviewing → analyzing  A 1, B 0' in result.stdout


def test_every_step_is_shown_side_by_side(two: tuple[Hemicycle, str, str]) -> None:
    hemicycle, one, other = two
    output = hemicycle('runs', 'compare', one, other, '--steps').stdout
    assert '     1      1  Both    start → pending' in output
    assert 'Only A' in output or 'Different' in output


def test_json_holds_the_whole_comparison(two: tuple[Hemicycle, str, str]) -> None:
    hemicycle, one, other = two
    result = hemicycle('runs', 'compare', one, other, '--json')
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (data['a']['run'], data['b']['run'], data['same_way']) == (one, other, False)
    assert data['divergence']['cause'] == 'guard'
    assert data['rows'][0]['kind'] == 'same'
    assert data['parameters'] == [{'path': '/max_iterations', 'a': 3, 'b': 0, 'only': ''}]
    assert data['a']['steps'] == max(row['a'] or 0 for row in data['rows'])


def test_a_fork_is_compared_with_its_parent_by_default(two: tuple[Hemicycle, str, str]) -> None:
    hemicycle, one, _ = two
    result = hemicycle('runs', 'compare', one)
    assert result.exit_code == 2
    assert 'was not forked from another: name the run to compare it with' in result.stderr


def test_a_missing_run_is_reported(two: tuple[Hemicycle, str, str]) -> None:
    hemicycle, one, _ = two
    result = hemicycle('runs', 'compare', one, 'nowhere')
    assert result.exit_code == 2
    assert 'nowhere' in result.stderr


def test_an_unfinished_comparison_has_no_verdict(tmp_path: Path) -> None:
    hemicycle, names = Hemicycle(tmp_path), []
    for _ in range(2):
        hemicycle('run', 'asking', '--patterns', str(hemicycle.patterns), '--quiet')
        names.append(str(hemicycle.newest().id))
    result = hemicycle('runs', 'compare', *names)
    assert result.exit_code == 4
    assert 'So far the runs took the same path, 1 step. A and B are still running.' in result.stdout
