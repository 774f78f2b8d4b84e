"""A step of an activity and a turn of an agent: work ends, memory changes, the next work starts.

Three states in a loop; each invokes work that returns a text of 1 KB, and an action appends it to a list of
frozen records in memory. The whole cost of a run counts, from its start to its end.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from pydantic import BaseModel, ConfigDict

from engine import Activity, Catalog, Conductor, Event, LocalConductor, Memory, Pattern, agent
from engine.models.protocol import Completed, ModelRequest, TextPiece
from engine.records import RunId, Usage
from storage import Settings, open_journal
from tests.bench import peers
from tests.bench.durable.raw import Raw, read_stored
from tests.bench.table import Row
from tests.bench.timing import Lap, Stopwatch, compare, cpus, ratio, walls
from tests.bench.work import texts
from tests.processes.acp.conductor import BY_ODD, ODD, conductor_with, odd

ONE, MANY, FLAT, AHEAD = 5.0, 3.0, 1.15, 1.0
"""The targets, as multiples of a bare insert with its commit (one run, many); of an early step; of a peer."""
LONG, LONGEST = 5.0, 150.0
"""Seconds: a peer whose round took longer than `LONG` is not measured again on the same work; one that would
take longer than `LONGEST` at its previous pace is left out."""
SHORT = 100
TEXTS = texts(100)


class Said(BaseModel):
    """The result of one piece of work."""

    model_config = ConfigDict(frozen=True)
    by: str
    text: str


class Gate:
    """Holds work at a step until it may continue."""

    def __init__(self) -> None:
        self.open_until: dict[RunId, int] = {}
        self._moved = asyncio.Event()
        self.held: dict[RunId, asyncio.Event] = {}

    async def pass_at(self, run: RunId, step: int) -> None:
        """Wait while the run may not pass this step."""
        while step >= self.open_until.get(run, 1):
            self.held.setdefault(run, asyncio.Event()).set()
            await self._moved.wait()

    async def go_on(self, run: RunId, until: int) -> None:
        """Let a run continue, and wait until it is held again."""
        signal = self.held[run] = asyncio.Event()
        self.open_until[run] = until
        self._moved.set()
        self._moved = asyncio.Event()
        await signal.wait()


class Loop(Pattern):
    """Loops for a given number of steps."""

    name = 'loop'
    gate: Gate | None = None

    class Parameters(BaseModel):
        steps: int

    class Memory(Memory):
        said: list[Said] = []

    initial = 'a'
    states = [*({'name': name, 'invoke': 'work'} for name in 'abc'), {'name': 'over', 'final': True}]
    transitions = [
        *(['done', name, 'over', 'is_last', None, 'keep'] for name in 'abc'),
        *(['done', name, after, None, None, 'keep'] for name, after in ('ab', 'bc', 'ca')),
    ]

    def is_last(self, memory: Any, event: Event) -> bool:
        return len(memory.said) + 1 >= self.parameters.steps  # type: ignore[attr-defined]

    async def work(self, memory: Any, activity: Activity) -> dict[str, Any]:
        if self.gate:
            await self.gate.pass_at(activity.run.id, activity.since)
        return {'text': TEXTS[activity.since % len(TEXTS)]}

    def keep(self, memory: Any, event: Event) -> None:
        memory.said.append(Said(by=event.at, text=event.data['text']))


@asynccontextmanager
async def looping(database: Path) -> AsyncIterator[Conductor]:
    """A conductor of the loop on its own journal."""
    journal = await open_journal(Settings(database=database, synchronous='normal'))
    async with LocalConductor(journal, catalog=Catalog(patterns={'loop': Loop})) as conductor:
        yield conductor


def hemicycle(conductor: Conductor) -> peers.Side:
    """Measure Hemicycle."""

    async def side(runs: int, steps: int) -> None:
        async def one() -> None:
            await conductor.result((await conductor.start('loop', {'steps': steps})).id)

        await asyncio.gather(*(one() for _ in range(runs)))

    return side


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """The table: each amount of work, ours and the peers' alternately, against bare rows."""
    amounts = [(1, 10), (3, 5)] if fast else [(1, 100), (1, 1_000), (100, 20), (1_000, 20)]
    rounds = 1 if fast else 3
    database = folder / 'loop.db'
    async with looping(database) as conductor, peers.open_peers(folder, TEXTS) as others:
        sides = {'Hemicycle': peers.Peer(hemicycle(conductor)), **others}
        for side in sides.values():
            side.begin()
            await side.run(1, 5)
            side.end()
        raw, written = Raw(folder / 'raw.db', 'normal'), 6
        pace: dict[str, float] = {}
        for runs, steps in amounts:
            amount = runs * steps
            taking = {
                name: side for name, side in sides.items() if pace.get(name, 0) * amount < LONGEST * 1e6
            }
            laps: dict[str, list[Lap]] = {name: [] for name in taking}
            base: list[Lap] = []
            for _ in range(rounds):
                for name, side in taking.items():
                    if name in others and laps[name] and laps[name][0].wall * amount > LONG * 1e6:
                        continue
                    side.begin()
                    with Stopwatch(amount) as watch:
                        await side.run(runs, steps)
                    side.end()
                    laps[name].append(watch.lap)
                rows = read_stored(database, min(1_000, runs * (steps + 1)), skip=written)
                written += runs * (steps + 1)
                with Stopwatch(len(rows)) as watch:
                    raw.write(rows)
                base.append(watch.lap)
            work = f'{runs:,} run{"s" if runs > 1 else ""} × {steps:,} steps'
            pace = {name: walls(taken) for name, taken in laps.items() if name in others}
            for name, times in laps.items():
                yield Row(
                    name=f'activity, {work}' if name == 'Hemicycle' else f'activity, {work}: {name}',
                    value=walls(times),
                    unit='µs',
                    base=walls(base),
                    against='bare insert',
                    ratio=ratio(times, base[: len(times)]),
                    target=(ONE if runs == 1 else MANY) if name == 'Hemicycle' else None,
                    details={'cpu': cpus(times), 'base_cpu': cpus(base), 'rounds': len(times)},
                )
            if pace:
                ours, best = laps['Hemicycle'], min(pace, key=lambda name: pace[name])
                yield Row(
                    name=f'activity, {work}, vs. the fastest peer',
                    value=walls(ours),
                    unit='µs',
                    base=walls(laps[best]),
                    against=best,
                    ratio=ratio(ours[: len(laps[best])], laps[best]),
                    target=AHEAD,
                )
        raw.close()
    async for row in _flatness(folder / 'long.db', 300 if fast else 10_000, fast=fast):
        yield row


async def _flatness(database: Path, long: int, *, fast: bool) -> AsyncIterator[Row]:
    """Steps of a run that is `long` steps old, alternating with those of one that is `SHORT` steps old."""
    rounds, count = (2, 20) if fast else (7, 100)
    gate = Loop.gate = Gate()
    old: list[Lap] = []
    young: list[Lap] = []
    try:
        async with looping(database) as conductor:
            run = (await conductor.start('loop', {'steps': long * 2})).id
            await gate.go_on(run, long)
            for number in range(1, rounds + 1):
                other = (await conductor.start('loop', {'steps': long})).id
                await gate.go_on(other, SHORT)
                for one, until, laps in (
                    (other, SHORT + count, young),
                    (run, long + number * count, old),
                ):
                    with Stopwatch(count) as watch:
                        await gate.go_on(one, until)
                    laps.append(watch.lap)
    finally:
        Loop.gate = None
    yield compare(f"an activity's step {long:,}", old, young, against=f'step {SHORT}', target=FLAT)


class Talk(Pattern):
    """One agent that is asked again and again, in one conversation."""

    name = 'talk'
    initial = 'talking'
    states = [agent('talking', prompt='ask', turns=10**9), {'name': 'over', 'final': True}]
    transitions = [['done', 'talking', 'talking'], ['failed', 'talking', 'over']]

    def ask(self, memory: Any) -> str:
        return 'Go on.'


class Speaker:
    """A model that replies with a text of 1 KB whenever the gate lets its run continue."""

    name, simulated = 'scripted', True

    def __init__(self) -> None:
        self.gate = Gate()
        self.run = RunId('')

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        await self.gate.pass_at(RunId(f'{request.hints.seed}'), len(request.messages))
        yield TextPiece(text=TEXTS[len(request.messages) % len(TEXTS)])
        yield Completed(usage=Usage(input=10, output=5))


async def conversation(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """A turn of an agent with a long conversation, against one of a new agent.

    Runs are identified by their seeds, and the gate counts messages.
    """
    long, count, rounds = (60, 10, 2) if fast else (500, 50, 7)
    short = 20 if fast else SHORT
    speaker = Speaker()
    catalog = Catalog(patterns={'talk': Talk}, models={'scripted': speaker})  # type: ignore[dict-item]
    gate = speaker.gate
    old: list[Lap] = []
    young: list[Lap] = []
    async with LocalConductor(await open_journal(folder / 'talk.db'), catalog=catalog) as conductor:
        await conductor.start('talk', seed=0)
        await gate.go_on(RunId('0'), long)
        for number in range(1, rounds + 1):
            await conductor.start('talk', seed=number)
            await gate.go_on(RunId(f'{number}'), short)
            for seed, until, laps in ((number, short + count, young), (0, long + number * count, old)):
                with Stopwatch(count / 2) as watch:  # Two messages a turn.
                    await gate.go_on(RunId(f'{seed}'), until)
                laps.append(watch.lap)
    yield compare(f"an agent's turn after {long} messages", old, young, against=f'after {short}', target=FLAT)


class Bare:
    """A minimal client of the protocol: it counts the pieces."""

    def __init__(self) -> None:
        self.pieces = 0

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.pieces += 1


async def agents(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """A turn of an external agent, piece by piece, against the bare client; both start the same program."""
    count, rounds = (200, 1) if fast else (10_000, 5)
    ours, base = [], []
    async with conductor_with(odd('chatters', env={'PIECES': str(count)}), workspaces=folder) as conductor:
        for _ in range(rounds):
            with Stopwatch(count) as watch:
                bare = Bare()
                client: Any = bare
                async with spawn_agent_process(
                    client, sys.executable, str(ODD), 'chatters', env={'PIECES': str(count)}, cwd=folder
                ) as (connection, _):
                    await connection.initialize(PROTOCOL_VERSION)
                    session = await connection.new_session(cwd=str(folder))
                    await connection.prompt(session_id=session.session_id, prompt=[text_block('Go.')])
            assert bare.pieces == count
            base.append(watch.lap)
            with Stopwatch(count) as watch:
                run = (await conductor.start('lone', models=BY_ODD)).id
                outcome = await conductor.result(run)
            assert str(outcome.answer).endswith(f'piece {count - 1} '), outcome.error
            ours.append(watch.lap)
    yield compare(
        'a turn over ACP, per chunk', ours, base, against='bare client', target=1.3, rounds=len(ours)
    )
    yield Row(
        name='a turn over ACP, CPU time per chunk',
        value=cpus(ours),
        unit='µs',
        base=cpus(base),
        against='bare client',
        target=2.0,
    )
