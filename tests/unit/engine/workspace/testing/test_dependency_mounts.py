"""Mounts for a project's tests: its own dependencies, and no targets of links."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.records import RunId
from engine.workspace import Workspaces, close_folders
from engine.workspace.testing.detection import current_setup, detect_tests
from engine.workspace.workspaces import DEPENDENCIES

PYTHON = f'lib/python{sys.version_info[0]}.{sys.version_info[1]}'


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A local folder that looks like a dependency folder."""
    root = tmp_path / 'secret'
    (root / PYTHON / 'site-packages' / 'pytest').mkdir(parents=True)
    (root / 'bin').mkdir()
    (root / 'bin' / 'python').write_text('key')
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / 'project'
    root.mkdir()
    (root / 'package.json').write_text('{"scripts": {"test": "node test.js"}}')
    return root


@pytest.fixture
def closed_folders() -> Iterator[None]:
    """Close folders, as on a server with accounts."""
    close_folders()
    yield
    close_folders(False)


async def test_a_link_to_other_folders_is_not_mounted(project: Path, secret: Path) -> None:
    (project / 'node_modules').symlink_to(secret)
    assert (await detect_tests(str(project))).mounts == {}
    (project / 'node_modules').unlink()
    (project / 'node_modules').mkdir()
    assert list((await detect_tests(str(project))).mounts) == [str(project / 'node_modules')]


async def test_an_environment_that_is_a_link_is_not_mounted(project: Path, secret: Path) -> None:
    (project / 'package.json').rename(project / 'pyproject.toml')
    (project / 'test_it.py').write_text('def test_it(): pass')
    (project / '.venv').symlink_to(secret)
    assert (await detect_tests(str(project))).mounts == {}


async def test_only_an_installed_interpreter_is_mounted(project: Path, secret: Path) -> None:
    (project / 'package.json').rename(project / 'pyproject.toml')
    (project / 'test_it.py').write_text('def test_it(): pass')
    venv = project / '.venv'
    (venv / PYTHON / 'site-packages' / 'pytest').mkdir(parents=True)
    (venv / 'bin').mkdir()
    (venv / 'bin' / 'python').symlink_to(secret / 'bin' / 'python')
    assert list((await detect_tests(str(project))).mounts) == [str(venv)]
    (secret / PYTHON / 'os.py').write_text('')  # now it looks installed
    assert str(secret) in (await detect_tests(str(project))).mounts


async def test_installed_dependencies_are_mounted_even_if_folders_are_closed(
    tmp_path: Path, secret: Path, closed_folders: None
) -> None:
    workspace = Workspaces(tmp_path / 'runs').of(RunId('run'), 'agent')
    own = workspace.folder.parent / DEPENDENCIES
    (own / 'node_modules').mkdir(parents=True)
    (own / 'package.json').write_text('{"scripts": {"test": "node test.js"}}')
    assert list((await current_setup('sample:slugs', workspace)).mounts) == [str(own / 'node_modules')]
    os.rename(own / 'node_modules', own / 'moved')
    (own / 'node_modules').symlink_to(secret)  # as installed code might do
    assert (await current_setup('sample:slugs', workspace)).mounts == {}
