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


@pytest.mark.parametrize(
    ('arguments', 'code', 'texts'),
    [
        ('{one} {one}', 0, ['The same run twice']),
        (
            '{one} {other}', 1,
            ['The runs diverge at step ', 'The revision limit is reached? No in A, yes in B: A went',
             'max_iterations  A 3, B 0', ', less in B', 'reviewing → analyzing  A 1, B 0'],
        ),
        ('{one} {other} --steps', 1, ['     1      1  Both    start → pending', 'Only A']),
        ('{one}', 2, ['was not forked from another: name the run to compare it with']),
        ('{one} nowhere', 2, ['nowhere']),
    ],
)  # fmt: skip
def test_a_comparison_says_where_runs_diverge_and_why(
    two: tuple[Hemicycle, str, str], arguments: str, code: int, texts: list[str]
) -> None:
    hemicycle, one, other = two
    result = hemicycle('runs', 'compare', *arguments.format(one=one, other=other).split())
    assert result.exit_code == code
    assert [text for text in texts if text not in (result.stderr if code == 2 else result.stdout)] == []


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


def test_an_unfinished_comparison_has_no_verdict(tmp_path: Path) -> None:
    hemicycle, names = Hemicycle(tmp_path), []
    for _ in range(2):
        hemicycle('run', 'asking', '--patterns', str(hemicycle.patterns), '--quiet')
        names.append(str(hemicycle.newest().id))
    result = hemicycle('runs', 'compare', *names)
    assert result.exit_code == 4
    assert 'So far the runs took the same path, 1 step. A and B are still running.' in result.stdout
