"""Running git: how long it may take, and what it leaves open."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from engine.workspace.git import repository


def open_pipes() -> int:
    names = [os.path.join('/proc/self/fd', name) for name in os.listdir('/proc/self/fd')]
    return sum(os.readlink(name).startswith('pipe:') for name in names if os.path.lexists(name))


async def test_a_child_of_git_that_holds_its_output_leaves_no_pipe_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / 'git'
    program.write_text('#!/bin/sh\nsleep 60 &\necho $! >child\n', 'utf-8')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(repository, 'TIMEOUT_SECONDS', 0.2)
    before = open_pipes()
    with pytest.raises(repository.GitFailed, match='git gc took longer than'):
        await repository.git(tmp_path, 'gc')
    await asyncio.sleep(0)  # Transports close in the next round of the loop.
    assert open_pipes() == before
    os.kill(int((tmp_path / 'child').read_text()), 9)
