"""Local files that runs may use on a server with accounts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from engine import Catalog, InvalidInput
from engine.errors import WorkspaceError
from engine.workspace import close_folders
from engine.workspace.project import VARIABLE, check_open, find_project, samples

PATHS = ('project', 'tests', 'change', 'transcript', 'calendar')
"""The parameters that name a file or a folder."""
ADDRESSES = ('feed',)
"""Parameters that are drawn like a path but are fetched."""
ACCEPTED = {'project': samples()[0], 'tests': '', 'change': 'sample:code/slugs-cut.patch'}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders of a machine whose server has accounts; `home` is the server's own."""
    for name in ('open/shop', 'open/home', 'elsewhere'):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / 'file.txt').write_text('1\n2\n')
    (tmp_path / 'open/way-out').symlink_to(tmp_path / 'elsewhere')
    monkeypatch.setenv(VARIABLE, str(tmp_path / 'open'))
    close_folders(private=tmp_path / 'open' / 'home')
    yield tmp_path
    close_folders(False)


def test_only_named_folders_are_open(machine: Path) -> None:
    assert find_project(str(machine / 'open/shop')) == machine / 'open/shop'
    assert check_open(machine / 'open/shop/file.txt').is_file()
    for closed in ('elsewhere', 'elsewhere/file.txt', 'open/way-out', 'open/shop/../../elsewhere'):
        with pytest.raises(WorkspaceError, match=f'is not open to runs here: {VARIABLE} names'):
            check_open(machine / closed)
    with pytest.raises(WorkspaceError, match='is not open'):
        find_project(str(machine / 'not-there'))  # without revealing whether it exists


def test_the_servers_own_folder_is_never_open(machine: Path) -> None:
    for closed in ('open/home', 'open/home/file.txt', 'open'):
        with pytest.raises(WorkspaceError, match='is not open'):
            check_open(machine / closed)


def test_without_accounts_all_folders_are_open_unless_some_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert check_open(tmp_path) == tmp_path
    monkeypatch.setenv(VARIABLE, '')
    with pytest.raises(WorkspaceError, match=r'\(none\)'):
        check_open(tmp_path)


@pytest.mark.parametrize('pattern', sorted(Catalog.load().patterns))
def test_no_pattern_accepts_a_closed_folder(
    machine: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    file = machine / 'elsewhere' / 'words.txt'
    file.write_text('secret')
    pattern_class = Catalog.load().pattern(pattern)
    for name in set(PATHS) & set(pattern_class.Parameters.model_fields):
        path = str(file.parent if name in ('project', 'tests') else file)
        with pytest.raises((ValidationError, InvalidInput), match='is not open to runs here'):
            pattern_class.parse({**example(pattern_class), name: path})


def example(pattern: type) -> dict[str, str]:
    """Return valid values for the required parameters."""
    fields = pattern.Parameters.model_fields  # type: ignore[attr-defined]
    return {
        name: next(iter(field.examples or ()), ACCEPTED.get(name, 'Compare tea and coffee'))
        for name, field in fields.items()
        if field.is_required()
    }


def test_every_folder_field_is_checked() -> None:
    for pattern in Catalog.load().patterns.values():
        for name, field in pattern.Parameters.model_fields.items():
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            if 'suggestions' in extra or extra.get('format') == 'path':
                assert name in (*PATHS, *ADDRESSES), f'{pattern.name}: {name}'
