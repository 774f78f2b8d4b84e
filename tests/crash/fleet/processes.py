"""Starts Temporal's server, workers and web servers, and checks their calls and journals."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import httpx

from engine import Catalog, LocalConductor, Transition
from engine.journal import Journal
from engine.records import RunId
from storage import open_journal
from tests.bench.servers.processes import free_port
from tests.support import forkserver

DEADLINE = 90.0
PATTERNS = Path(__file__).with_name('patterns')


@dataclass(slots=True)
class Process:
    """A process of the fleet."""

    process: ForkServerProcess | subprocess.Popen[bytes]
    log: Path
    url: str = ''

    @property
    def pid(self) -> int:
        assert self.process.pid
        return self.process.pid

    @property
    def ended(self) -> int | None:
        """Its exit code, once it has one."""
        return self.process.poll() if isinstance(self.process, subprocess.Popen) else self.process.exitcode

    def signal(self, number: int) -> None:
        if self.ended is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait() if isinstance(self.process, subprocess.Popen) else self.process.join()


@dataclass(slots=True)
class Fleet:
    """A database, Temporal's server, workers and web servers, with their own home."""

    home: Path
    database: str
    port: int = field(default_factory=free_port)
    processes: list[Process] = field(default_factory=list)

    @property
    def calls(self) -> Path:
        """The file in which calls of activities record their start and end."""
        return self.home / 'calls'

    async def temporal(self, *options: str) -> Process:
        """Start Temporal's server with its previous data."""
        binary = Path(sys.executable).with_name('temporal')
        command = [binary, 'server', 'start-dev', '--headless', '--port', str(self.port)]
        log = self.home / 'temporal.log'
        with log.open('ab') as output:
            options_used = ('--db-filename', str(self.home / 'temporal.db'), '--log-level', 'error')
            started = subprocess.Popen(  # noqa: ASYNC220  (it does not wait)
                [*command, *options_used, *options],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        process = self._keep(Process(started, log))

        async def answers() -> bool:
            from temporalio.client import Client  # Slow to import, and only for fleets with it.

            try:
                await Client.connect(f'127.0.0.1:{self.port}')
            except RuntimeError:
                return False
            return True

        await until(answers, 'Temporal answers')
        return process

    async def worker(self, *options: str, patterns: Path = PATTERNS, **environment: str) -> Process:
        """Start a worker, and wait until it accepts runs."""
        worker = self.start_worker(*options, patterns=patterns, **environment)
        await until(lambda: ' takes runs of ' in worker.log.read_text(), 'a worker takes runs', worker)
        worker.url = re.findall(r'worker at (\S+)', worker.log.read_text())[0]
        return worker

    def start_worker(self, *options: str, patterns: Path = PATTERNS, **environment: str) -> Process:
        """Start a worker."""
        return self._start('worker', 'serve', *options, '--patterns', str(patterns), **environment)

    async def web(self, *options: str, **environment: str) -> Process:
        """Start a web server, and wait until it serves."""
        port = ('--port', str(free_port()))
        server = self._start('serve', *port, '--patterns', str(PATTERNS), *options, **environment)
        await until(lambda: 'Hemicycle is at ' in server.log.read_text(), 'a web server listens', server)
        server.url = re.findall(r'Hemicycle is at (\S+)', server.log.read_text())[0]
        async with httpx.AsyncClient() as client:

            async def ready() -> bool:
                try:
                    return (await client.get(f'{server.url}/readyz', timeout=10)).is_success
                except httpx.TransportError:
                    return False

            await until(ready, 'a web server is ready', server)
        return server

    async def run(self, *arguments: str) -> str:
        """Run a command to its end, and return what it prints; fails if it does."""
        command = self._start(*arguments)
        await until(lambda: command.ended is not None, 'the command ends')
        printed = command.log.read_text()
        assert command.ended == 0, printed
        return printed

    def token(self) -> dict[str, str]:
        """The header that workers require."""
        return {'Authorization': f'Bearer {(self.home / "fleet-token").read_text().strip()}'}

    async def launch(self, web: httpx.AsyncClient, number: int, **parameters: object) -> list[str]:
        """Start a number of runs through a web server."""
        calls = str(self.calls)
        return list(await asyncio.gather(*(launch(web, calls=calls, **parameters) for _ in range(number))))

    async def wait_driven(self, number: int) -> None:
        """Wait until that many runs have made a call."""
        await until(lambda: len({call.run for call in self.lines()}) == number, 'all runs are driven')

    async def wait_for_end(self, runs: list[str], journal: Journal) -> None:
        """Wait until all have ended."""

        async def all_ended() -> bool:
            return not {info.id for info in await journal.unfinished()} & set(runs)

        await until(all_ended, 'all runs end')

    def lines(self) -> list[Call]:
        """The lines that calls wrote, in order."""
        if not self.calls.exists():
            return []
        words = (line.split() for line in self.calls.read_text().splitlines())
        return [Call(what, run, int(step), int(pid), float(at)) for what, run, step, pid, at in words]

    def count_repeats(self) -> dict[str, int]:
        """Count the repeated calls of each run."""
        begun = Counter((call.run, call.step) for call in self.lines() if call.what == 'begin')
        counts: Counter[str] = Counter()
        for (run, _), times in begun.items():
            counts[run] += times - 1
        return {run: times for run, times in counts.items() if times}

    def close(self) -> None:
        """Kill everything."""
        for process in reversed(self.processes):
            process.signal(signal.SIGCONT)
            process.kill()

    def _start(self, *arguments: str, **environment: str) -> Process:
        foreign = ('PYTEST', 'NICEGUI', 'COV_', 'HEMICYCLE')
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        own = {'HEMICYCLE_HOME': str(self.home), 'HEMICYCLE_PACE': '0', 'PYTHONUNBUFFERED': '1'}
        log = self.home / f'{arguments[0]}-{len(self.processes)}.log'
        log.touch()
        command = [*arguments, *self._placement_options(), '--database', self.database]
        return self._keep(Process(forkserver.start(command, {**inherited, **own, **environment}, log), log))

    def _placement_options(self) -> list[str]:
        """Return the options that select how runs are placed."""
        return ['--temporal', f'127.0.0.1:{self.port}']

    def _keep(self, process: Process) -> Process:
        self.processes.append(process)
        return process


@dataclass(frozen=True, slots=True)
class Call:
    """One line of the calls' file."""

    what: str
    run: str
    step: int
    pid: int
    at: float


async def launch(
    web: httpx.AsyncClient, pattern: str = 'counting', *, tags: Sequence[str] = (), **parameters: Any
) -> str:
    """Start a run through a web server."""
    body = {'pattern': pattern, 'parameters': parameters, 'tags': list(tags)}
    answer = await web.post('runs', json=body)
    assert answer.is_success, answer.text
    return str(answer.json()['id'])


async def check_journal(database: str, runs: list[str]) -> dict[str, list[Transition]]:
    """Audit runs as `hemicycle runs audit` does, and check that no step is missing."""
    journal = await open_journal(database)
    counts = {}
    async with LocalConductor(journal, catalog=Catalog.load([PATTERNS])) as conductor:
        for run in map(RunId, runs):
            steps = await conductor.transitions(run)
            assert [step.seq for step in steps] == list(range(1, len(steps) + 1)), f'{run} has holes'
            assert (await conductor.info(run)).seq == len(steps)
            assert await conductor.audit(run) == len(steps)
            counts[str(run)] = steps
    return counts


async def check_calls(fleet: Fleet, journal: Journal, runs: list[str], steps: int) -> None:
    """Check that each run made each call in order, and repeated at most one per claim."""
    of: dict[str, list[Call]] = {run: [] for run in runs}
    for call in fleet.lines():
        if call.run in of:
            of[call.run].append(call)
    for run, calls in of.items():
        repeats = sum(call.what == 'begin' for call in calls) - steps
        moves = (await journal.info(RunId(run))).epoch - 1
        assert repeats <= moves, f'{run} repeated {repeats} calls in {moves} moves'
        first, ended = first_times(calls, 'begin'), first_times(calls, 'end')
        assert sorted(ended) == list(range(steps)), f'{run} has holes'
        early = [step for step in range(1, steps) if first[step] < ended[step - 1]]
        assert not early, f'{run} began {early} before the calls before these had ended'


def first_times(calls: list[Call], what: str) -> dict[int, float]:
    """Return when each call of a run first began or ended."""
    return {call.step: call.at for call in reversed(calls) if call.what == what}


def max_concurrency(calls: list[Call]) -> int:
    """The maximum number of concurrent calls."""
    most = now = 0
    for call in calls:
        now += 1 if call.what == 'begin' else -1
        most = max(most, now)
    return most


async def until(
    condition: Callable[[], bool] | Callable[[], Awaitable[bool]],
    what: str,
    process: Process | None = None,
    *,
    seconds: float = DEADLINE,
) -> float:
    """Wait for a condition, and return how many seconds it took. Fails after `seconds`."""
    begun = time.monotonic()
    while True:
        met = condition()
        if met if isinstance(met, bool) else await met:
            return time.monotonic() - begun
        assert process is None or process.ended is None, process.log.read_text()
        waited = time.monotonic() - begun
        assert waited < seconds, f'waited {seconds:g} s in vain: {what}'
        await asyncio.sleep(min(0.1, max(0.02, waited / 20)))


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', port)) == 0
