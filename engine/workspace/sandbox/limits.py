"""Limits of one command, and a watchdog for those the system does not enforce."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from engine.workspace.directories import MEBIBYTE, folder_limits, walk

TEMP_DIR = str(PurePosixPath('/', 'tmp'))
SCRATCH_DIRS = ('/dev/shm', TEMP_DIR)
"""A command's in-memory folders for temporary files."""
INODE_SIZE = 1024
"""Bytes the kernel allocates per name in such a folder, and the unit in which it counts their attributes."""
POLL = 0.1
"""Seconds between checks of memory and processes; disk usage is checked less often."""

EndReason = Literal['exit', 'time', 'output', 'memory', 'processes', 'disk', 'nesting', 'file size']
"""How a command ended: it exited, or exceeded a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits for one command and all its children together; sizes in bytes."""

    seconds: float = 120.0
    memory: int = 2048 * MEBIBYTE
    """The system limits each process to this; the watchdog ends the command if the total exceeds it."""
    processes: int = 128
    file_size: int = 256 * MEBIBYTE
    """Per file written."""
    disk: int | None = None
    """All files in the workspace together; None means that of `folder_limits`."""
    files: int | None = None
    """Number of files in the workspace; None means that of `folder_limits`."""
    scratch: int = 256 * MEBIBYTE
    """Each in-memory folder for temporary files; discarded afterwards."""
    sockets: int = 512 * MEBIBYTE
    """The total capacity of socket buffers, which count towards no process's memory; a single process cannot
    exceed it. Enforced only if the command has its own network namespace."""
    output: int = 4 * MEBIBYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What one command may do and use in the sandbox."""

    limits: Limits = field(default_factory=Limits)
    variables: Mapping[str, str] = field(default_factory=dict)
    """Additions to its environment, see `bubblewrap.environment`."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Folders of this machine it may read, and where they are mounted in the sandbox."""
    network: bool | None = None
    """Whether it may use the network; None is as configured for all commands."""
    home: Path | None = None
    """A private folder that it can also write to, mounted at `bubblewrap.HOME_PATH`."""


async def watch_limits(
    pid: int, folder: Path, limits: Limits, is_over: Callable[[], bool], *, poll: float = POLL
) -> EndReason:
    """Watch a command and its children; returns once it has ended or exceeded a limit.

    Args:
        pid: the command's process.
        folder: its workspace.
        limits: the limits to watch.
        is_over: returns whether it has ended.
        poll: seconds between checks of memory and processes.
    """
    next_walk = 0.0
    while True:
        await asyncio.sleep(poll)
        if is_over():
            return 'exit'  # A surviving child may still hold the other end of the output.
        excess = await asyncio.to_thread(_excess, pid, limits)
        if excess is None and time.monotonic() >= next_walk:
            started = time.monotonic()
            excess = await asyncio.to_thread(excess_on_disk, folder, limits)
            ended = time.monotonic()
            next_walk = ended + 10 * (ended - started)
        if excess is not None:
            return excess


def _excess(pid: int, limits: Limits) -> EndReason | None:
    pids = list(process_tree(pid))
    # The sandbox's own processes do not count.
    if len(pids) > limits.processes + SANDBOX_PROCESSES:
        return 'processes'
    is_too_much = (
        sum(map(_memory, pids)) > limits.memory
        or socket_buffers(pids) > limits.sockets
        or _names_in_memory(pids, limits.scratch) > limits.scratch
    )
    return 'memory' if is_too_much else None


SANDBOX_PROCESSES = 3


def process_tree(pid: int) -> Iterator[int]:
    """Yield a process and all its living descendants."""
    todo = [pid]
    while todo:
        process = todo.pop()
        yield process
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for path in Path(f'/proc/{process}/task').glob('*/children'):
                with contextlib.suppress(OSError):
                    todo.extend(map(int, path.read_text().split()))


def _memory(pid: int) -> int:
    """Return a process's private and shared memory, swap and page tables in bytes, without file cache."""
    try:
        status = Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return 0
    return sum(
        1024 * int(kilobytes)
        for kilobytes in re.findall(r'^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+)', status, re.MULTILINE)
    )


def _names_in_memory(pids: Iterable[int], size: int) -> int:
    """Estimate the bytes that names and attributes take in an in-memory folder with that size limit.

    The size limit itself bounds only the contents of files.
    """
    inside, used = _first_apart(pids, 'mnt'), [0]
    for place in SCRATCH_DIRS if inside else ():
        with contextlib.suppress(OSError):
            status = os.statvfs(f'/proc/{inside}/root{place}')
            if status.f_blocks * status.f_frsize == size:  # Until it is mounted, this is the machine's own.
                used.append((status.f_files - status.f_ffree) * INODE_SIZE)
    return max(used)


def _first_apart(pids: Iterable[int], namespace: str) -> int | None:
    """Return the first of these processes that does not share this process's namespace."""
    own = os.readlink(f'/proc/self/ns/{namespace}')
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.readlink(f'/proc/{pid}/ns/{namespace}') != own:
                return pid
    return None


def socket_buffers(pids: Iterable[int]) -> int:
    """Return the maximum bytes in these processes' socket buffers; 0 if they share this process's network.

    The kernel reports the number of sockets in a network namespace and the default size of their buffers. For
    TCP, whose buffers can grow further, it also reports the bytes queued.
    """
    with contextlib.suppress(OSError):
        if inside := _first_apart(pids, 'net'):
            return _socket_buffers(Path(f'/proc/{inside}/net'))
    return 0


def _socket_buffers(network: Path) -> int:
    match = re.search(r'^sockets: used (\d+)', (network / 'sockstat').read_text(), re.MULTILINE)
    buffer = int(Path('/proc/sys/net/core/wmem_default').read_text())
    queued = 0
    for kind in ('tcp', 'tcp6'):
        with contextlib.suppress(OSError):
            rows = re.findall(r' ([0-9A-F]{8}):([0-9A-F]{8}) ', (network / kind).read_text())
            queued += sum(int(sent, 16) + int(received, 16) for sent, received in rows)
    # Programs cannot enlarge their buffers (see seccomp). Queued data is doubled to include its bookkeeping.
    return (int(match[1]) * buffer if match else 0) + 2 * queued


def excess_on_disk(folder: Path, limits: Limits) -> EndReason | None:
    """Return the limit that a folder exceeds, if any. Files that vanish meanwhile are not counted."""
    most_files, most_bytes = folder_limits()
    most_files = most_files if limits.files is None else limits.files
    most_bytes = most_bytes if limits.disk is None else limits.disk
    size = count = 0
    for _, entry in walk(folder):
        if entry is None:
            return 'nesting'
        with contextlib.suppress(OSError):
            size += entry.stat(follow_symlinks=False).st_size
            count += 1
        if size > most_bytes or count > most_files:
            return 'disk'
    return None
