"""A dashboard with a run whose agents never stop talking; `/bench` reports the time of each piece."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from engine import Catalog, Conductor, LocalConductor, Pattern, Transition
from engine.agents.chart import agent
from engine.models.protocol import ArgumentPiece, CallStarted, Completed, ModelEvent, ModelRequest, TextPiece
from engine.records import RunInfo, Snapshot, Usage
from engine.tools.builtin.research.calculator import calculator
from storage import Settings, SqlJournal, open_journal
from tests.bench.work import WORDS

AGENTS = ('ann', 'bob', 'cid', 'dee')
SIX = (*AGENTS, 'eve', 'fay')
TWELVE = (*SIX, 'gus', 'hal', 'ida', 'joe', 'kim', 'leo')
PACE = 50
"""Pieces a second, of each agent."""
REPLY = 60
"""Pieces of one reply; then it calls a tool."""
BLINK = 0.005


def word(number: int) -> str:
    """A unique piece."""
    return f'{WORDS[number % len(WORDS)]} p{number} '


class Talk(Pattern):
    """Agents side by side."""

    class Parameters(BaseModel):
        agents: int = len(AGENTS)

    name = 'talk'
    initial = 'talking'
    transitions = [['done', 'talking', 'over']]

    def states(self) -> list[Any]:
        """A region for each."""
        tools = ('calculator',)
        names = TWELVE[: self.parameters.agents]
        talking = [agent(name, tools=tools, turns=100_000, prompt='ask') for name in names]
        return [{'name': 'talking', 'parallel': talking}, {'name': 'over', 'final': True}]

    def ask(self, memory: Any) -> str:
        return 'Talk.'


class Talker:
    """Streams numbered words, and records when each was sent."""

    name = 'scripted'
    simulated = True

    def __init__(self) -> None:
        self.said: list[tuple[str, int, float]] = []
        self._counts = {name: itertools.count(1) for name in TWELVE}

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """One reply, and the call of a tool at its end."""
        role = request.hints.role
        for piece in range(REPLY):
            await asyncio.sleep(1 / PACE)
            number = next(self._counts[role])
            self.said.append((role, number, time.time()))
            yield TextPiece(text=word(number) + ('\n\n' if piece % 20 == 19 else ''))
        yield CallStarted(index=0, name='calculator')
        yield ArgumentPiece(index=0, text='{"expression": "6*7"}')
        yield Completed(usage=Usage(input=100, output=REPLY))


class Stamped:
    """A journal that records when each step is passed to it, before the step is durable."""

    def __init__(self, journal: SqlJournal) -> None:
        self._journal = journal
        self.steps: list[tuple[int, float]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """As the journal does."""
        now = time.time()
        self.steps.extend((step.seq, now) for step in transitions)
        return await self._journal.append(info, transitions, snapshot)


class Lags:
    """How late the event loop is, and how much of that was its own work."""

    def __init__(self) -> None:
        self.found: list[tuple[float, float]] = []

    async def watch(self) -> None:
        """Wake up every `BLINK` seconds, and see how much later it is."""
        while True:
            wall, cpu = time.perf_counter(), time.thread_time()
            await asyncio.sleep(BLINK)
            late = time.perf_counter() - wall - BLINK
            self.found.append((late, min(late, time.thread_time() - cpu)))


def main(folder: Path, port: int, agents: int) -> None:
    """Serve until a signal comes."""
    from nicegui import app

    from ui.server.serve import listen, run

    talker, lags = Talker(), Lags()
    context: dict[str, Any] = {}

    async def open_conductor() -> Conductor:
        journal = Stamped(await open_journal(Settings(database=folder / 'live.db')))
        catalog = Catalog(
            patterns={'talk': Talk}, models={'scripted': talker}, tools={'calculator': calculator}
        )
        conductor = LocalConductor(journal, catalog=catalog)  # type: ignore[arg-type]
        context['journal'], context['run'] = journal, (await conductor.start('talk', {'agents': agents})).id
        context['watch'] = asyncio.create_task(lags.watch())
        return conductor

    @app.get('/bench')
    def bench() -> dict[str, Any]:
        """Everything since the last request."""
        state = {
            'run': context['run'],
            'steps': context['journal'].steps[:],
            'said': talker.said[:],
            'lags': lags.found[:],
            'cpu': time.process_time(),
            'now': time.perf_counter(),
        }
        for noted in (context['journal'].steps, talker.said, lags.found):
            noted.clear()
        return state

    with listen('127.0.0.1', port) as listening:
        run(listening, open_conductor, folder=folder, show=False)


if __name__ == '__main__':
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
