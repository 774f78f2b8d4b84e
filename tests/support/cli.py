"""Runs `hemicycle` in tests: in this process, or as one that can be killed; and waits for conditions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

import typer.testing
from typer.testing import CliRunner, Result

from engine import Transition
from engine.records import RunId, RunInfo, RunQuery
from storage import open_journal
from tests.support.forkserver import Command
from ui.__main__ import Stores
from ui.cli.app import app
from ui.cli.commands import LazyGroup

typer.testing._get_command = cache(typer.testing._get_command)  # Otherwise each call builds all commands.
DEADLINE = 60.0
"""Seconds after which an unmet condition is a failure."""


@cache
def all_commands() -> dict[str, Any]:
    """Return every command and group by its words, such as `runs note add`."""
    commands: dict[str, Any] = {}

    def collect(group: Any, words: str = '') -> None:
        for name, command in group.commands.items():
            if isinstance(command, LazyGroup):
                commands[words + name] = command
                collect(command, f'{words}{name} ')
            else:
                commands[words + name] = command.loaded

    collect(typer.testing._get_command(app))
    return commands


PATTERNS = '''
"""Patterns for tests of the command line."""

import asyncio
from pathlib import Path

from pydantic import BaseModel, Field

from engine import Memory, Pattern

STATES = (
    {'name': 'working', 'invoke': 'work'},
    {'name': 'ended', 'final': True},
    {'name': 'broken', 'final': True, 'outcome': 'failed'},
)
ENDINGS = (['done', 'working', 'ended'], ['failed', 'working', 'broken'])


class Failing(Pattern):
    """Fails at once."""

    initial = 'working'
    states = STATES
    transitions = ENDINGS

    async def work(self, memory, activity):
        raise ValueError('the well is dry')


class Endless(Pattern):
    """Works until it is stopped."""

    initial = 'working'
    states = STATES
    transitions = ENDINGS

    async def work(self, memory, activity):
        activity.stream('at it \\x1b[31mred\\x1b[0m\\n', 'text')
        await asyncio.Event().wait()


class Asking(Pattern):
    """Waits for a person."""

    initial = 'asking'
    states = ({'name': 'asking', 'waits': 'a word'}, {'name': 'ended', 'final': True})
    transitions = (['said', 'asking', 'ended'],)


class Counting(Pattern):
    """Takes a number of steps, and writes the key of each call to a file outside the journal."""

    class Parameters(BaseModel):
        calls: str
        steps: int = Field(40, ge=1)
        pause: float = 0.01
        unit: list[str] = []

    class Memory(Memory):
        calls: str = ''
        steps: int = 0
        pause: float = 0.0
        taken: int = 0

    initial = 'working'
    answer = 'taken'
    states = STATES
    transitions = (
        {'trigger': 'done', 'source': 'working', 'dest': 'ended', 'conditions': 'is_last', 'after': 'count'},
        {'trigger': 'done', 'source': 'working', 'dest': 'working', 'after': 'count'},
        ['failed', 'working', 'broken'],
    )

    def is_last(self, memory, event):
        return memory.taken + 1 >= memory.steps

    def count(self, memory, event):
        memory.taken += 1

    async def work(self, memory, activity):
        with Path(memory.calls).open('a') as file:
            file.write(activity.key + '\\n')
        await asyncio.sleep(memory.pause)
        return {}
'''


class Hemicycle:
    """The command line over one temporary database."""

    def __init__(self, home: Path, like: Hemicycle | None = None) -> None:
        self.home = home
        self.database = home / 'hemicycle.db'
        self.patterns = home / 'patterns'
        if like:
            shutil.copytree(like.home, home, dirs_exist_ok=True)
        self.patterns.mkdir(exist_ok=True)
        (self.patterns / 'odd.py').write_text(PATTERNS)
        self._environment = {
            'HEMICYCLE_HOME': str(home),
            'HEMICYCLE_PACE': '0',
            'HEMICYCLE_DATABASE': None,
            'COLUMNS': '200',
        }

    def __call__(self, *arguments: str, stdin: str | None = None) -> Result:
        """Run a command in this process."""
        runner = CliRunner(env=self._environment)
        return runner.invoke(app, list(arguments), input=stdin, obj=Stores())

    def process(self, *arguments: str) -> contextlib.AbstractContextManager[Command]:
        """Start a command as a process; it is killed at the end if still running."""
        foreign = ('PYTEST', 'NICEGUI', 'COV_')
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        own = {name: value for name, value in self._environment.items() if value is not None}
        return _kill_at_the_end(Command(list(arguments), {**inherited, **own, 'PYTHONUNBUFFERED': '1'}))

    def newest(self) -> RunInfo:
        """Return the newest run; fails if there is none."""
        info = self.find_newest()
        assert info, 'there is no run'
        return info

    def find_newest(self) -> RunInfo | None:
        """Return the newest run, read by a separate reader; None while there is no database."""
        return asyncio.run(self._find_newest()) if self.database.exists() else None

    def steps(self, run: RunId) -> list[Transition]:
        """Return all journaled steps of a run."""
        return asyncio.run(self._steps(run))

    def last_step(self) -> int:
        """Return the last journaled step of the newest run, read from the file itself since it is polled."""
        query = 'SELECT seq FROM run ORDER BY created DESC, id DESC LIMIT 1'
        try:
            with contextlib.closing(sqlite3.connect(f'{self.database.as_uri()}?mode=ro', uri=True)) as file:
                row = file.execute(query).fetchone()
        except sqlite3.OperationalError:  # no file or table yet
            return 0
        return row[0] if row else 0

    def reaches(self, steps: int, process: Command) -> None:
        """Wait until this many steps of the newest run are journaled; fails if the process ends first."""
        until(lambda: self.last_step() >= steps or process.poll() is not None, f'{steps} steps are journaled')
        assert self.last_step() >= steps, process.communicate()

    async def _find_newest(self) -> RunInfo | None:
        journal = await open_journal(self.database)
        try:
            page = await journal.runs(RunQuery(limit=1))
        finally:
            await journal.close()
        return page.runs[0] if page.runs else None

    async def _steps(self, run: RunId) -> list[Transition]:
        journal = await open_journal(self.database)
        try:
            return await journal.transitions(run)
        finally:
            await journal.close()


@contextlib.contextmanager
def _kill_at_the_end(command: Command) -> Iterator[Command]:
    try:
        yield command
    finally:
        command.kill()
        command.communicate()


def invoke(hemicycle: Hemicycle, *arguments: str, code: int = 0) -> str:
    """Run a command that ends with this code; return what it prints, on stderr if it fails."""
    result = hemicycle(*arguments)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def json_lines(text: str) -> list[dict[str, Any]]:
    """Read what `--json` prints: an object on each line."""
    return [json.loads(line) for line in text.splitlines()]


def until(condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
    """Wait for a condition. Fails if it is not met within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f'waited {seconds:g} s in vain: {what}'
        time.sleep(0.02)


def wait_for_exit(process: Command) -> tuple[int, str, str]:
    """Wait for a process to end; returns its exit code, stdout and stderr."""
    out, err = process.communicate(timeout=DEADLINE)
    return process.returncode, out, err


def line(stream: IO[str] | None) -> str:
    """Return the next line that a process prints; fails if there is none."""
    assert stream is not None
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(int(DEADLINE))
    try:
        return stream.readline().rstrip('\n')
    finally:
        signal.alarm(0)


def _late(number: int, frame: object) -> None:
    raise AssertionError(f'no line came within {DEADLINE:g} s')
