"""Limits of one command, and the guard that ends it where the system itself does not."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MEBIBYTE = 1 << 20
LOOK = 0.1
"""Seconds between two looks at memory and processes; at the folder it looks more seldom."""

Ended = Literal['exit', 'time', 'output', 'memory', 'processes', 'disk', 'file size']
"""How a command ended: by itself, or by which limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one command may take, with all its children together; sizes in bytes."""

    seconds: float = 120.0
    memory: int = 2048 * MEBIBYTE
    """The system refuses a single process more; the guard ends the command when all have more together."""
    processes: int = 128
    file_size: int = 256 * MEBIBYTE
    """Of each file that is written."""
    disk: int = 1024 * MEBIBYTE
    """Of all files in the workspace."""
    files: int = 50_000
    """In the workspace."""
    scratch: int = 256 * MEBIBYTE
    """Of the folder for temporary files, which is in memory and gone afterwards."""
    output: int = 4 * MEBIBYTE


async def guard(pid: int, folder: Path, limits: Limits, is_over: Callable[[], bool]) -> Ended:
    """Watch a command and its children; returns when it is over, or by which limit they have to be ended."""
    next_walk = 0.0
    while True:
        await asyncio.sleep(LOOK)
        if is_over():
            return 'exit'  # A child that was left behind may still hold the other end of the output.
        found = await asyncio.to_thread(_excess, pid, limits)
        if found is None and time.monotonic() >= next_walk:
            started = time.monotonic()
            if await asyncio.to_thread(is_full, folder, limits):
                return 'disk'
            ended = time.monotonic()
            next_walk = ended + 10 * (ended - started)
        if found is not None:
            return found


def _excess(pid: int, limits: Limits) -> Ended | None:
    pids = list(family(pid))
    # Those that make the sandbox are not the command's own.
    if len(pids) > limits.processes + OURS:
        return 'processes'
    return 'memory' if sum(map(_memory, pids)) > limits.memory else None


OURS = 3


def family(pid: int) -> Iterator[int]:
    """A process and all its children that live."""
    todo = [pid]
    while todo:
        found = todo.pop()
        yield found
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for path in Path(f'/proc/{found}/task').glob('*/children'):
                with contextlib.suppress(OSError):
                    todo.extend(map(int, path.read_text().split()))


def _memory(pid: int) -> int:
    """Bytes that a process holds for itself or in shared memory: not what it has read of files."""
    try:
        status = Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return 0
    return sum(
        1024 * int(found) for found in re.findall(r'^Rss(?:Anon|Shmem):\s+(\d+)', status, re.MULTILINE)
    )


def is_full(folder: Path, limits: Limits) -> bool:
    """Whether a folder holds more than it may. Follows no link; what vanishes meanwhile is not counted."""
    size = count = 0
    todo = [str(folder)]
    while todo:
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_size
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                if size > limits.disk or count > limits.files:
                    return True
    return False
