"""Where the imports of a project lead, whatever its files are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.workspace.testing.python import source_roots


@pytest.mark.parametrize(
    'text',
    [
        '[tool.setuptools]\npackage-dir = {"" = "../outside", b = "/etc", c = "link"}\n',
        f'[tool.setuptools.packages.find]\nwhere = ["{"x" * 300}", "a\\u0000b", 7]\n',
        f'[tool]\npoetry = 7\nx = {"[" * 5_000}\n',
        '[tool.poetry]\npackages = [7, {from = 7}]\n[project]\ndependencies = 7\n',
    ],
    ids=['outside', 'names', 'nested', 'types'],
)
def test_settings_that_lead_nowhere_are_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / 'link').symlink_to('/etc')
    (tmp_path / 'src').mkdir()
    (tmp_path / 'pyproject.toml').write_text(text)
    assert source_roots(tmp_path) == ['src']


def test_a_pipe_in_place_of_settings_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'pyproject.toml')
    assert source_roots(tmp_path) == []
