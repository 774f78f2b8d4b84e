"""Limits of one command, and a watchdog for those the system does not enforce."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from engine.workspace.directories import walk

MEBIBYTE = 1 << 20
TEMP_DIR = str(PurePosixPath('/', 'tmp'))
SCRATCH_DIRS = ('/dev/shm', TEMP_DIR)
"""A command's folders for temporary files, which are in memory."""
INODE_SIZE = 1024
"""What the kernel takes for each name in such a folder, and by which it counts their attributes."""
POLL = 0.1
"""Seconds between checks of memory and processes; the folder is checked less often."""

EndReason = Literal['exit', 'time', 'output', 'memory', 'processes', 'disk', 'nesting', 'file size']
"""How a command ended: by itself, or by exceeding a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits for one command and all its children together; sizes in bytes."""

    seconds: float = 120.0
    memory: int = 2048 * MEBIBYTE
    """The system limits each process; the watchdog ends the command when the total exceeds this."""
    processes: int = 128
    file_size: int = 256 * MEBIBYTE
    """Per file written."""
    disk: int = 1024 * MEBIBYTE
    """All files in the workspace together."""
    files: int = 50_000
    """In the workspace."""
    scratch: int = 256 * MEBIBYTE
    """The folder for temporary files, which is in memory and discarded afterwards."""
    sockets: int = 512 * MEBIBYTE
    """What the buffers of sockets may hold, which count for no process's memory; more than one process can
    open. Watched only where the command has a network of its own."""
    output: int = 4 * MEBIBYTE


async def watch_limits(
    pid: int, folder: Path, limits: Limits, is_over: Callable[[], bool], *, poll: float = POLL
) -> EndReason:
    """Watch a command and its children; returns when it ends, or which limit it exceeded.

    Args:
        pid: the command's process.
        folder: its workspace.
        limits: what it may use.
        is_over: whether it has ended.
        poll: seconds between checks of memory and processes.
    """
    next_walk = 0.0
    while True:
        await asyncio.sleep(poll)
        if is_over():
            return 'exit'  # A surviving child may still hold the other end of the output.
        found = await asyncio.to_thread(_excess, pid, limits)
        if found is None and time.monotonic() >= next_walk:
            started = time.monotonic()
            found = await asyncio.to_thread(excess_on_disk, folder, limits)
            ended = time.monotonic()
            next_walk = ended + 10 * (ended - started)
        if found is not None:
            return found


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
    """A process and all its living children."""
    todo = [pid]
    while todo:
        found = todo.pop()
        yield found
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for path in Path(f'/proc/{found}/task').glob('*/children'):
                with contextlib.suppress(OSError):
                    todo.extend(map(int, path.read_text().split()))


def _memory(pid: int) -> int:
    """Private and shared memory of a process in bytes, also in swap, and its page tables; no cached files."""
    try:
        status = Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return 0
    return sum(
        1024 * int(found)
        for found in re.findall(r'^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+)', status, re.MULTILINE)
    )


def _names_in_memory(pids: Iterable[int], size: int) -> int:
    """About how many bytes names and attributes take in a folder in memory of that size.

    The size only bounds what files contain.
    """
    inside, used = _first_apart(pids, 'mnt'), [0]
    for place in SCRATCH_DIRS if inside else ():
        with contextlib.suppress(OSError):
            found = os.statvfs(f'/proc/{inside}/root{place}')
            if found.f_blocks * found.f_frsize == size:  # Until it is mounted, the machine's own is there.
                used.append((found.f_files - found.f_ffree) * INODE_SIZE)
    return max(used)


def _first_apart(pids: Iterable[int], namespace: str) -> int | None:
    """The first of these processes that does not share a namespace with this one."""
    own = os.readlink(f'/proc/self/ns/{namespace}')
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if os.readlink(f'/proc/{pid}/ns/{namespace}') != own:
                return pid
    return None


def socket_buffers(pids: Iterable[int]) -> int:
    """The most bytes that sockets of these processes can hold; 0 if they share the network of this one.

    The kernel says how many sockets a network namespace has and how much each may buffer, and of TCP, whose
    buffers may grow further, how much is in them.
    """
    with contextlib.suppress(OSError):
        if inside := _first_apart(pids, 'net'):
            return _socket_buffers(Path(f'/proc/{inside}/net'))
    return 0


def _socket_buffers(network: Path) -> int:
    found = re.search(r'^sockets: used (\d+)', (network / 'sockstat').read_text(), re.MULTILINE)
    buffer = int(Path('/proc/sys/net/core/wmem_default').read_text())
    queued = 0
    for kind in ('tcp', 'tcp6'):
        with contextlib.suppress(OSError):
            rows = re.findall(r' ([0-9A-F]{8}):([0-9A-F]{8}) ', (network / kind).read_text())
            queued += sum(int(sent, 16) + int(received, 16) for sent, received in rows)
    # Programs cannot make their buffers larger (see seccomp). What is queued takes bookkeeping, too.
    return (int(found[1]) * buffer if found else 0) + 2 * queued


def excess_on_disk(folder: Path, limits: Limits) -> EndReason | None:
    """The limit that a folder exceeds, if any. Files that vanish meanwhile are not counted."""
    size = count = 0
    for _, entry in walk(folder):
        if entry is None:
            return 'nesting'
        with contextlib.suppress(OSError):
            size += entry.stat(follow_symlinks=False).st_size
            count += 1
        if size > limits.disk or count > limits.files:
            return 'disk'
    return None
