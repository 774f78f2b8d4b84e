"""Runs one program to its end, with its output as it comes, and ends it with all its children."""

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

from engine.commands.limits import Ended, Limits, family, guard
from engine.errors import ToolError

UNSAFE = 'This ran without a sandbox.'
DRAIN = 2.0
"""Seconds to wait for the rest of a program's output, once it has ended."""
PIECE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a command."""

    code: int
    """Its exit status; 128 and the signal's number where a signal ended it."""
    output: str
    """What it wrote, standard output and errors in one."""
    ended: Ended
    seconds: float
    unsafe: bool = False
    """Whether it ran without a sandbox."""

    @property
    def said(self) -> str:
        """How it ended, in a line."""
        how = 'exit status' if self.ended == 'exit' else f'ended by its limit of {self.ended}, status'
        return f'[{how} {self.code}, {self.seconds:.1f} s]{f" {UNSAFE}" if self.unsafe else ""}'


async def run_process(  # noqa: PLR0913
    command: Sequence[str],
    folder: Path,
    limits: Limits,
    on_output: Callable[[str], None],
    *,
    environment: Mapping[str, str],
    keep: tuple[int, ...] = (),
    unsafe: bool = False,
) -> Ran:
    """Run a program to its end, or to its limits'; its children end with it.

    Args:
        command: the program and its arguments.
        folder: where it runs; its size is watched.
        limits: of which those that the system itself does not keep are kept here.
        on_output: told of each piece of output at once.
        environment: all that it finds in its environment.
        keep: descriptors that it gets.
        unsafe: noted in the result.

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
        guard(process.pid, folder, limits, lambda: process.returncode is not None)
    )
    ending = asyncio.ensure_future(process.wait())
    waited: set[asyncio.Future[object]] = {guarding, ending, output.full}  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(limits.seconds):
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        ended: Ended = 'output' if output.full.done() else guarding.result() if guarding.done() else 'exit'
    except TimeoutError:
        ended = 'time'
    finally:
        guarding.cancel()
        _kill(process)
        await asyncio.wait({reading, ending}, timeout=DRAIN)
        if not reading.done():
            reading.cancel()
            # Somebody who got away, which no sandbox allows, still holds the other end.
            process._transport.close()  # type: ignore[attr-defined]
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    if ended == 'exit':
        ended = BY_SIGNAL.get(code, 'exit')
    return Ran(
        code=code if code >= 0 else 128 - code,
        output=output.text,
        ended=ended,
        seconds=time.monotonic() - started,
        unsafe=unsafe,
    )


class _Output:
    """What a program has written, as far as it may."""

    def __init__(self, most: int, on_output: Callable[[str], None]) -> None:
        self._most, self._on_output = most, on_output
        self._pieces: list[str] = []
        self._size = 0
        self._decoder = codecs.getincrementaldecoder('utf-8')('replace')
        self.full = asyncio.get_running_loop().create_future()
        """Done when there is more than may be."""

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Take all there is; what is past what may be kept is thrown away."""
        while piece := await stream.read(PIECE):
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
        """What was kept."""
        return ''.join(self._pieces)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End a program and all its children; in a sandbox, the system ends them with the first one."""
    pids = list(family(process.pid)) if process.returncode is None else []
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def described(data: bytes) -> Iterator[int]:
    """A descriptor from which `data` can be read."""
    descriptor = os.memfd_create('hemicycle')
    try:
        with os.fdopen(os.dup(descriptor), 'wb') as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


BY_SIGNAL: dict[int, Ended] = {128 + signal.SIGXFSZ: 'file size', -signal.SIGXFSZ: 'file size'}
