"""Starts `hemicycle` in a fork of a process that has imported everything: saves 1.3 s each time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests import tree

DEADLINE = 120.0
"""Seconds after which a command that has not ended is a failure."""
LATE = (
    *('nicegui.elements.context_menu', 'nicegui.elements.dark_mode', 'nicegui.elements.timer'),
    *('nicegui.elements.skip_link', 'nicegui.elements.tooltip', 'nicegui.functions.html'),
    *('nicegui.functions.javascript', 'nicegui.functions.page_title', 'nicegui.ui_run_with'),
    *('uvicorn.lifespan.on', 'uvicorn.loops.uvloop', 'uvicorn.protocols.http.httptools_impl'),
    *('uvicorn.protocols.websockets.wsproto_impl', 'anyio._backends._asyncio', 'httpcore'),
)
"""Modules that servers import at first use."""


def start(arguments: list[str], environment: dict[str, str], log: Path) -> ForkServerProcess:
    """Start `hemicycle` with these arguments; its output is appended to `log`."""
    return _start(arguments, environment, str(log), str(log))


class Command:
    """A command in its own process, with the part of `subprocess.Popen` that tests need."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        pipes = [Pipe(duplex=False), Pipe(duplex=False)]
        self._process = _start(arguments, environment, *(writing for _, writing in pipes))
        self.stdout, self.stderr = (
            os.fdopen(os.dup(reading.fileno()), encoding='utf-8') for reading, _ in pipes
        )
        for end in chain(*pipes):
            end.close()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the command to end, and return its unread output."""
        with ThreadPoolExecutor(2) as pool:
            reading = [pool.submit(stream.read) for stream in (self.stdout, self.stderr) if not stream.closed]
            self._process.join(timeout)
            if self._process.exitcode is None:
                self.kill()
                self._process.join()
                raise subprocess.TimeoutExpired('hemicycle', timeout or 0)
            out, errors = (item.result() for item in reading) if reading else ('', '')
        self.stdout.close()
        self.stderr.close()
        return out, errors

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `hemicycle` to its end."""
    command = Command(arguments, environment)
    out, errors = command.communicate(DEADLINE)
    return subprocess.CompletedProcess(arguments, command.returncode, out, errors)


def _start(
    arguments: list[str], environment: dict[str, str], *outputs: Connection | str
) -> ForkServerProcess:
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(list_preloads())
    # NiceGUI serves only in a process with this name.
    process = context.Process(name='MainProcess', target=_main, args=(arguments, environment, *outputs))
    process.start()
    return process


def list_preloads() -> list[str]:
    """List all our modules, and lazily imported ones of others."""
    files = (path.relative_to(tree.ROOT).with_suffix('') for path in tree.modules())
    names = ('.'.join(file.parts).removesuffix('.__init__') for file in files)
    return [*names, 'nicegui', 'sqlmodel', *LATE, 'tests.support.forkserver', 'tests.support.prepared']


def _main(arguments: list[str], environment: dict[str, str], *outputs: Connection | str) -> None:
    for descriptor, output in enumerate(outputs, start=1):
        if isinstance(output, str):
            os.dup2(os.open(output, os.O_CREAT | os.O_APPEND | os.O_WRONLY), descriptor)
        else:
            os.dup2(output.fileno(), descriptor)
    # The previous streams may have been files; these are pipes.
    sys.stdout = os.fdopen(1, 'w', buffering=1, encoding='utf-8', closefd=False)
    sys.stderr = os.fdopen(2, 'w', buffering=1, encoding='utf-8', closefd=False)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(tree.ROOT)
    sys.argv = ['hemicycle', *arguments]
    from nicegui import app
    from nicegui.storage import Storage

    from ui.__main__ import main

    Storage.path = Path(environment['HEMICYCLE_HOME'], 'browser')  # NiceGUI reads this when it is imported
    app.storage = Storage()
    main()
