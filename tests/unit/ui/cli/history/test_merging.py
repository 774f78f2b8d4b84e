"""hemicycle runs merge and fork send-back: results composed change by change, tested, and sent back."""

from pathlib import Path

import pytest

from tests.support.cli import Hemicycle, invoke
from tests.support.teams import merging
from tests.support.teams.merging import ONE, TEXT, TWO, git, make_project


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / 'project')


@pytest.fixture
def hemicycle(hemicycle: Hemicycle, project: Path) -> Hemicycle:
    """A database with a run of two agents that have changed one file of the project."""
    (hemicycle.patterns / 'making.py').write_text(Path(merging.__file__).read_text())
    result = hemicycle(
        'run', 'making', '--set', f'project={project}', '-q', '--patterns', str(hemicycle.patterns)
    )
    assert result.exit_code == 0, result.output
    return hemicycle


def merge(hemicycle: Hemicycle, *arguments: str, code: int = 0) -> str:
    command = ('runs', 'merge', 'last', '--patterns', str(hemicycle.patterns))
    return invoke(hemicycle, *command, *arguments, code=code)


def test_changes_are_listed_with_their_numbers(hemicycle: Hemicycle) -> None:
    listed = merge(hemicycle, '--hunks').splitlines()
    assert [line for line in listed if '=' in line] == ['a.txt=one', 'a.txt=two']
    assert [line.split()[0] for line in listed if '@@' in line] == ['1', '2', '1']
    assert any('+three' in line for line in listed)
    assert 'a.txt=one' not in merge(hemicycle, '--hunks', '--agent', 'two')


def test_a_result_is_composed_tested_and_merged(hemicycle: Hemicycle, project: Path) -> None:
    before = git(project, 'rev-parse', 'main')
    assert 'a.txt' in merge(hemicycle, '--pick', 'a.txt=one:1', '--dry-run')
    assert git(project, 'rev-parse', 'main') == before
    merged = merge(hemicycle, '--pick', 'a.txt=one:1', '--test', '-m', 'Take one change')
    assert 'Merged into main' in merged and git(project, 'log', '-1', '--format=%s') == 'Take one change'
    assert (project / 'a.txt').read_text() == TEXT.replace('3\n', 'three\n', 1)


def test_the_whole_file_of_an_agent_is_picked(hemicycle: Hemicycle, project: Path) -> None:
    merge(hemicycle, '--pick', 'a.txt=two')
    assert (project / 'a.txt').read_text() == TWO != ONE


def test_what_fails_its_tests_is_not_merged(hemicycle: Hemicycle, project: Path) -> None:
    before = git(project, 'rev-parse', 'main')
    problem = merge(hemicycle, '--agent', 'two', '--test', code=2)
    assert 'the tests of two did not pass: nothing was merged' in problem
    assert git(project, 'rev-parse', 'main') == before


@pytest.mark.parametrize(
    ('arguments', 'problem'),
    [
        (('--pick', 'a.txt'), "--pick: 'a.txt' is not PATH=AGENT or PATH=AGENT:N,..."),
        (('--pick', 'a.txt=one:0'), 'is not PATH=AGENT'),
        (('--pick', 'a.txt=one:x'), 'is not PATH=AGENT'),
        (('--pick', 'a.txt=one:9'), 'has 2 changes'),
        (('--pick', 'b.txt=one'), 'one has not changed b.txt'),
        (('--pick', 'a.txt=one', '--agent', 'one'), '--agent: what --pick composes is of several agents'),
        (('--hunks', '--agent', 'three'), '--agent: name one of one, two'),
    ],
)
def test_bad_input_is_refused(hemicycle: Hemicycle, arguments: tuple[str, ...], problem: str) -> None:
    assert problem in merge(hemicycle, *arguments, code=2)


def test_work_is_sent_back_with_instructions(done: Hemicycle, tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path / 'home', like=done)
    parent = hemicycle.newest()
    result = hemicycle('fork', 'send-back', 'last', 'reviewing', 'Praise first.', '--quiet')
    assert result.exit_code == 0, result.output
    fork = hemicycle.newest()
    assert fork.parent == parent.id
    assert 'Praise first.' in hemicycle('show', 'last').stdout
