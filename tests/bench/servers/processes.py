"""Starts servers to be measured from outside."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.tree import ROOT

DEADLINE = 60.0


@contextmanager
def server(arguments: Sequence[str], url: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python <arguments>` in the repository while the context lasts; starts once `url` answers."""
    with (folder / 'server.log').open('wb') as log:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=environment(folder), stdout=log, stderr=log
        )
        try:
            deadline = time.monotonic() + DEADLINE
            while not _answers(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f'the server did not start:\n{(folder / "server.log").read_text()}')
                time.sleep(0.01)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def environment(folder: Path) -> Mapping[str, str]:
    """This process's environment, with a separate home for the server."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith('NICEGUI_')}
    inherited.pop('PYTEST_CURRENT_TEST', None)
    inherited.pop('PYTHONDONTWRITEBYTECODE', None)  # Users have bytecode after the first start.
    return inherited | {'HEMICYCLE_HOME': str(folder / 'home')}


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used so far, in all its threads."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf('SC_CLK_TCK')


def free_port(preferred: int = 0) -> int:
    """A free port: the wanted one, if given."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', preferred))
        except OSError:
            probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
