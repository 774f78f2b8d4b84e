"""Tools of this machine that tests need, and how the sandbox gets those outside the system's folders."""

from __future__ import annotations

import asyncio
import os
import shutil
import tomllib
from pathlib import Path

from engine.workspace.confined_dir import SANDBOX_PATH
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.testing.python import source_roots
from engine.workspace.testing.test_setup import TestSetup, is_there, read_text
from engine.workspace.workspace import Workspace

GO = '/usr/local/go/bin'


async def command_variables(setup: TestSetup, workspace: Workspace, sandbox: Sandbox) -> dict[str, str]:
    """Return the variables by which commands find a setup's programs, and Python the workspace's packages."""
    inside = str(workspace.folder) if await sandbox.problem() else SANDBOX_PATH
    roots = await asyncio.to_thread(source_roots, workspace.folder)
    sources = os.pathsep.join(f'{inside}/{name}' for name in roots)
    return {'PATH': setup.search_path, **({'PYTHONPATH': sources} if sources else {})}


def toolchain(tool: str) -> TestSetup:
    """Return what a command needs to find a tool; its `obstacle` says if it is not on this machine."""
    if is_there(tool):
        return TestSetup()
    program = shutil.which(tool, path=os.pathsep.join([_rust_bin(), os.environ.get('PATH', ''), GO]))
    if program is None:
        return TestSetup(obstacle=f'{tool} is not on this machine')
    folder, home = Path(program).parent, Path.home().resolve()
    prefix = folder.parent.resolve()
    if folder.name != 'bin' or home.is_relative_to(prefix) or prefix.parent == home:
        return TestSetup(obstacle=f'{tool} is in {folder}, which is not open to commands')
    mounts = {} if prefix.is_relative_to('/usr') else {str(prefix): str(prefix)}
    return TestSetup(path=(str(prefix / 'bin'),), mounts=mounts)


def _rust_bin() -> str:
    """Return the programs of the default toolchain of rustup, whose own would need its home."""
    home = Path(os.environ.get('RUSTUP_HOME') or Path.home() / '.rustup')
    try:
        chosen = tomllib.loads(read_text(home / 'settings.toml')).get('default_toolchain', '')
    except ValueError:
        return ''
    return str(home / 'toolchains' / str(chosen) / 'bin') if chosen else ''
