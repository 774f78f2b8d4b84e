"""TestSetup: how a project's tests run, and what they need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import ToolError
from engine.workspace.confined_dir import ConfinedDir
from engine.workspace.sandbox.bubblewrap import environment

MAX_READ = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSetup:
    """A project's test setup, as detected from its files."""

    __test__ = False

    command: str = ''
    """A shell command; '' means pytest."""
    python: str = ''
    """The interpreter that runs pytest; '' means this installation's."""
    path: tuple[str, ...] = ()
    """Folders whose programs commands find first."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Dependency folders outside the copy, and where each is mounted."""
    install: str = ''
    """The command that installs the project with its dependencies; '' if there is nothing to install."""
    obstacle: str = ''
    """Why its dependencies cannot be installed."""

    @property
    def search_path(self) -> str:
        """The value of `PATH` for its commands."""
        return os.pathsep.join((*self.path, environment()['PATH']))

    @property
    def note(self) -> str:
        """The test command found, for a launch form."""
        command = (
            self.command or f'pytest, {f"with {self.python}" if self.python else "bundled with Hemicycle"}'
        )
        missing = f'It is not installed: install it below, or run “{self.install}” in the project'
        notes = (f'Found: {command}', self.obstacle or (missing if self.install else ''))
        return ' '.join(f'{note}.' for note in notes if note)

    @property
    def install_note(self) -> str:
        """The install command found, for a launch form."""
        return self.obstacle or f'Found: {self.install or "nothing to install"}'


def is_there(tool: str) -> bool:
    """Return whether commands in the sandbox find a tool."""
    return shutil.which(tool, path=environment()['PATH']) is not None


def is_own(root: Path, folder: Path) -> bool:
    """Return whether a folder is really inside the project: a link could otherwise mount any folder."""
    return folder.is_dir() and folder.resolve().is_relative_to(root.resolve())


def read_text(path: Path) -> str:
    """Return the text of a project's file; '' if there is none, or it is a link, a pipe or too big."""
    try:
        return ConfinedDir(path.parent.resolve()).read((path.name,), MAX_READ).decode(errors='replace')
    except ToolError:
        return ''
