"""The watchdog of a command copes with processes that come and go."""

import os
from pathlib import Path

import pytest

from engine.workspace.directories import remove_tree
from engine.workspace.sandbox.limits import Limits, _excess, excess_on_disk, process_tree
from tests.support.harness import nest


def test_a_process_that_ends_during_inspection_has_no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: object) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, 'scandir', gone)
    assert list(process_tree(os.getpid())) == [os.getpid()]
    assert _excess(os.getpid(), Limits()) is None


@pytest.mark.parametrize(
    ('depth', 'name', 'files', 'excess'),
    [(1_500, 'd', 500, 'nesting'), (60, 'x' * 200, 50, 'disk'), (9, 'd', 50, None)],
)
def test_deeply_nested_files_count(
    swept: Path, depth: int, name: str, files: int, excess: str | None
) -> None:
    folder = swept / 'work'
    nest(folder, depth, name)
    assert excess_on_disk(folder, Limits(files=files)) == excess
    remove_tree(folder)
    assert not folder.exists()
