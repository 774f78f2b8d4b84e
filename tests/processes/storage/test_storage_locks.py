"""FileLocks: which owners are alive, across processes and however they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from engine.errors import JournalUnavailable
from storage import AlreadyServed, FileLocks
from storage.sqlite.locks import STARTUP_SECONDS
from tests import tree

ROOT = tree.ROOT


@contextmanager
def holding(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs some code, and then waits until it is killed."""
    child = subprocess.Popen(
        [sys.executable, '-c', f"{code}\nprint('held', flush=True)\nsys.stdin.read()", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        try:
            assert child.stdout is not None and child.stdout.readline() == 'held\n'
            yield child
        finally:
            child.kill()


def process(directory: Path, call: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A process that holds something until it is killed."""
    code = f'import sys\nfrom storage.sqlite.locks import FileLocks\nclaims = FileLocks(sys.argv[1])\n{call}'
    return holding(code, str(directory))


def test_an_owner_is_alive_until_its_process_is_killed(tmp_path: Path) -> None:
    claims = FileLocks(tmp_path)
    assert not claims.is_alive('worker')
    with process(tmp_path, "claims.acquire('worker')") as child:
        assert claims.is_alive('worker')
        assert not claims.is_alive('another')
        with pytest.raises(JournalUnavailable, match='worker'):
            claims.acquire('worker')
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert not claims.is_alive('worker')
        claims.acquire('worker')
        assert claims.is_alive('worker')
    claims.release()


@pytest.mark.parametrize(
    'clock', [2 * STARTUP_SECONDS, -2 * STARTUP_SECONDS], ids=['later', 'set back since']
)
def test_only_an_old_lock_of_a_dead_process_is_removed(tmp_path: Path, clock: float) -> None:
    claims, now = FileLocks(tmp_path), time.time()
    with process(tmp_path, "claims.acquire('worker')") as child:
        [lock] = tmp_path.iterdir()
        os.utime(lock, (now - clock, now - clock))
        claims.forget('worker')
        assert claims.live_owners() == ['worker'], 'it is held'
        child.kill()
        child.wait()
    os.utime(lock)
    claims.forget('worker')
    assert claims.dead_owners() == ['worker'], 'a starting process may be about to lock it'
    os.utime(lock, (now - clock, now - clock))
    claims.forget('worker')
    assert list(tmp_path.iterdir()) == []


def test_an_owner_is_alive_to_itself_until_released(tmp_path: Path) -> None:
    claims, other = FileLocks(tmp_path / 'made'), FileLocks(tmp_path / 'made')
    claims.acquire('a/b ☂')
    claims.acquire('a/b ☂')
    assert claims.is_alive('a/b ☂') and other.is_alive('a/b ☂')
    claims.release()
    assert not other.is_alive('a/b ☂')
    assert list((tmp_path / 'made').iterdir()) == []


def test_a_second_server_learns_of_the_first(tmp_path: Path) -> None:
    claims = FileLocks(tmp_path)
    assert claims.servers() == []
    with process(tmp_path, "claims.serve('pid 77 at http://localhost:8080')") as child:
        assert claims.servers() == ['pid 77 at http://localhost:8080']
        with pytest.raises(AlreadyServed, match='pid 77 at http://localhost:8080') as caught:
            claims.serve(f'pid {os.getpid()}')
        assert caught.value.holder == 'pid 77 at http://localhost:8080'
        child.kill()
        child.wait()
        assert claims.servers() == []
        claims.serve('second')
        assert FileLocks(tmp_path).servers() == ['second']
    claims.release()
    assert claims.servers() == []
