"""Runs a program to its end, streams its output, and kills it together with its children."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ToolError
from engine.workspace.sandbox.limits import EndReason, Limits, process_tree, watch_limits

UNSANDBOXED = 'This ran without a sandbox.'
DRAIN_SECONDS = 2.0
"""Seconds to wait for remaining output after a program has ended."""
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command ended, and what it printed."""

    code: int
    """Its exit status; 128 plus the signal number if a signal ended it."""
    output: str
    """Its standard output and standard error, interleaved."""
    ended: EndReason
    seconds: float
    unsafe: bool = False
    """Whether it ran without a sandbox."""

    @property
    def summary(self) -> str:
        """How it ended, in one line."""
        how = 'exit status' if self.ended == 'exit' else f'stopped at its {self.ended} limit, status'
        return f'[{how} {self.code}, {self.seconds:.1f} s]{f" {UNSANDBOXED}" if self.unsafe else ""}'


async def run_process(  # noqa: PLR0913
    command: Sequence[str],
    folder: Path,
    limits: Limits,
    on_output: Callable[[str], None],
    *,
    environment: Mapping[str, str],
    keep: tuple[int, ...] = (),
) -> CommandResult:
    """Run a program until it ends or exceeds a limit, then kill any remaining children.

    Args:
        command: the program and its arguments.
        folder: its working directory, whose size is watched.
        limits: those the system does not enforce are enforced here.
        on_output: called with each piece of output as it arrives.
        environment: its complete environment.
        keep: the descriptors it inherits.

    Raises:
        ToolError: it cannot be started.
    """
    started = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
            pass_fds=keep,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f'{command[0]} cannot be started: {error}') from None
    assert process.stdout is not None
    output = _Output(limits.output, on_output)
    reading = asyncio.ensure_future(output.read(process.stdout))
    guarding = asyncio.ensure_future(
        watch_limits(process.pid, folder, limits, lambda: process.returncode is not None)
    )
    ending = asyncio.ensure_future(process.wait())
    waited: set[asyncio.Future[object]] = {guarding, ending, output.full}  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(limits.seconds):
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        ended: EndReason = (
            'output' if output.full.done() else guarding.result() if guarding.done() else 'exit'
        )
    except TimeoutError:
        ended = 'time'
    finally:
        guarding.cancel()
        kill_tree(process)
        try:
            await asyncio.wait({reading, ending}, timeout=DRAIN_SECONDS)
        finally:  # The wait itself may be cancelled.
            if not reading.done():
                reading.cancel()
                # An escaped child, possible only without a sandbox, still holds the other end.
                process._transport.close()  # type: ignore[attr-defined]
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    if ended == 'exit':
        ended = REASON_BY_CODE.get(code, 'exit')
    return CommandResult(
        code=code if code >= 0 else 128 - code,
        output=output.text,
        ended=ended,
        seconds=time.monotonic() - started,
    )


class _Output:
    """A program's output, up to a limit."""

    def __init__(self, most: int, on_output: Callable[[str], None]) -> None:
        self._most, self._on_output = most, on_output
        self._pieces: list[str] = []
        self._size = 0
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self.full = asyncio.get_running_loop().create_future()
        """Done once the output exceeds the limit."""

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read everything; discard what exceeds the limit."""
        while piece := await stream.read(CHUNK_BYTES):
            self._add(piece[: max(0, self._most - self._size)])
            self._size += len(piece)
            if self._size > self._most and not self.full.done():
                self._pieces.append(f'\n[cut: it wrote more than {self._most} bytes]')
                self.full.set_result(None)
        self._add(b'', final=True)

    def _add(self, piece: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(piece, final)
        if text and not self.full.done():
            self._pieces.append(text)
            self._on_output(text)

    @property
    def text(self) -> str:
        return ''.join(self._pieces)


def kill_tree(process: asyncio.subprocess.Process) -> None:
    """Kill a program and all its children; in a sandbox, the kernel kills them with its first process.

    The program must be a session leader.
    """
    pids = list(process_tree(process.pid)) if process.returncode is None else []
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def memory_file(data: bytes) -> Iterator[int]:
    """Open an in-memory file that holds `data`; yields its descriptor."""
    descriptor = os.memfd_create('hemicycle')
    try:
        with os.fdopen(os.dup(descriptor), 'wb') as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


REASON_BY_CODE: dict[int, EndReason] = {128 + signal.SIGXFSZ: 'file size', -signal.SIGXFSZ: 'file size'}
