"""hemicycle runs artifact: listed, printed in full and saved."""

import json
from pathlib import Path

import pytest

from tests.support.cli import Hemicycle, json_lines
from ui.cli.history.artifacts import Artifact, distinct_files


@pytest.fixture
def hemicycle(hemicycle: Hemicycle) -> Hemicycle:
    """A database with a run whose agent has made artifacts."""
    assert hemicycle('run', 'blog', '--task', 'On bees', '-q').exit_code == 0
    return hemicycle


def test_artifacts_are_listed_printed_and_saved(hemicycle: Hemicycle, tmp_path: Path) -> None:
    listed = json_lines(hemicycle('runs', 'artifact', 'list', 'last', '--json').stdout)
    assert listed and all(entry['size'] for entry in listed)
    lines = hemicycle('runs', 'artifact', 'list').stdout.splitlines()
    assert [line.split('  ')[:2] for line in lines] == [[entry['agent'], entry['name']] for entry in listed]
    first = listed[-1]
    printed = hemicycle('runs', 'artifact', 'show', 'last', first['name'], '--agent', first['agent'])
    value = first['value']
    expected = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    assert printed.exit_code == 0 and printed.stdout == f'{expected}\n'
    saved = hemicycle('runs', 'artifact', 'save', 'last', str(tmp_path / 'results'))
    files = [Path(line) for line in saved.stdout.splitlines()]
    assert len(files) == len(listed) and files[-1].read_text() == expected
    assert hemicycle('runs', 'artifact', 'list', 'last', '--at', '1').stdout == 'there are no artifacts\n'


@pytest.mark.parametrize(
    ('arguments', 'problem'),
    [
        (('show', 'last', 'nothing'), "NAME: there is no artifact 'nothing'; available: "),
        (
            ('list', 'last', '--agent', 'nobody'),
            "--agent: 'nobody' has no artifacts; agents that have some: ",
        ),
    ],
)
def test_unknown_artifacts_are_refused(
    hemicycle: Hemicycle, arguments: tuple[str, ...], problem: str
) -> None:
    result = hemicycle('runs', 'artifact', *arguments)
    assert result.exit_code == 2 and problem in result.stderr


@pytest.mark.parametrize(
    ('agent', 'name', 'file'),
    [
        ('working', 'draft', 'working/draft.md'),
        ('../../home', '../draft', '_.._home/_draft.md'),
        ('..', '/etc/passwd', 'agent/_etc_passwd.md'),
        ('', '..', 'agent/artifact.md'),
    ],
)
def test_an_imported_artifact_cannot_leave_the_folder(agent: str, name: str, file: str) -> None:
    assert Artifact(agent=agent, name=name, item={'value': 'text'}).file == Path(file)


def test_artifacts_whose_names_look_alike_are_saved_to_different_files() -> None:
    names = ('a b', 'a?b', 'A b', 'a_b-2')
    artifacts = [Artifact(agent='writer', name=name, item={'value': 'text'}) for name in names]
    assert [file.name for file in distinct_files(artifacts)] == [
        'a_b.md',
        'a_b-2.md',
        'A_b-3.md',
        'a_b-2-2.md',
    ]
