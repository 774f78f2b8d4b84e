"""Peers doing the work of `activities`: each as its documentation shows, and at its best setting.

They are in the extra `bench`; those not installed are left out. Their best settings are the SQLite settings
that Hemicycle uses (a write-ahead log, `synchronous` at `normal`), and each one's support for growing state.
"""

from __future__ import annotations

import asyncio
import itertools
import operator
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, TypedDict

Side = Callable[[int, int], Awaitable[None]]
"""Runs this many runs of this many steps at once."""


@dataclass(frozen=True)
class Peer:
    """One side of the table."""

    run: Side
    begin: Callable[[], None] = lambda: None
    end: Callable[[], None] = lambda: None
    """Setup before and teardown after its turn, which are not measured."""


NAMES = 'abc'
PRAGMAS = ('PRAGMA journal_mode = WAL', 'PRAGMA synchronous = NORMAL')


@asynccontextmanager
async def open_peers(folder: Path, replies: Sequence[str]) -> AsyncIterator[dict[str, Peer]]:
    """Open the installed ones by name, each with its own database."""
    peers = (('langgraph.checkpoint.sqlite', langgraph), ('burr', burr), ('dbos', dbos))
    async with AsyncExitStack() as stack:
        timings: dict[str, Peer] = {}
        for package, peer in peers:
            if find_spec(package):
                for name, making in peer(folder, replies, stack):
                    timings[name] = await making
        yield timings


Made = Iterator[tuple[str, Awaitable[Peer]]]


def langgraph(folder: Path, replies: Sequence[str], stack: AsyncExitStack) -> Made:
    """LangGraph: a graph whose state is a list, and a saver that keeps each superstep."""
    from langgraph.channels import DeltaChannel
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import END, START, StateGraph

    def extend(before: list[str] | None, writes: Sequence[list[str]]) -> list[str]:
        return [*(before or []), *itertools.chain.from_iterable(writes)]

    # Not as classes: their annotations would be strings with names that cannot be resolved.
    plain = TypedDict('plain', {'steps': int, 'said': Annotated[list, operator.add]})  # noqa: UP013
    grown = TypedDict('grown', {'steps': int, 'said': Annotated[list, DeltaChannel(extend)]})  # noqa: UP013

    async def work(state: Any) -> dict[str, Any]:
        return {'said': [replies[len(state['said']) % len(replies)]]}

    def following(after: str) -> Callable[[Any], str]:
        return lambda state: END if len(state['said']) >= state['steps'] else after

    async def make(state: type, name: str, *, best: bool) -> Peer:
        saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / name)))
        await saver.setup()
        if best:
            for pragma in PRAGMAS:
                await saver.conn.execute(pragma)
        builder = StateGraph(state)
        for one, after in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True):
            builder.add_node(one, work)
            builder.add_conditional_edges(one, following(after), [after, END])
        builder.add_edge(START, NAMES[0])
        graph, numbers = builder.compile(checkpointer=saver), itertools.count()

        async def side(runs: int, steps: int) -> None:
            async def one() -> None:
                thread = {'configurable': {'thread_id': f'{next(numbers)}'}, 'recursion_limit': steps + 5}
                # By default a superstep is stored while the next one runs.
                await graph.ainvoke({'steps': steps, 'said': []}, thread)

            await asyncio.gather(*(one() for _ in range(runs)))

        return Peer(side)

    yield 'LangGraph', make(plain, 'langgraph.db', best=False)
    yield 'LangGraph at its best', make(grown, 'langgraph-best.db', best=True)


def burr(folder: Path, replies: Sequence[str], stack: AsyncExitStack) -> Made:
    """Burr: an application of three actions, and the asynchronous persister, which keeps the whole state."""
    from burr.core import ApplicationBuilder, State, action, expr
    from burr.integrations.persisters.b_aiosqlite import AsyncSQLitePersister

    @action(reads=['said', 'steps'], writes=['said', 'over'])
    async def work(state: State) -> State:
        messages = [*state['said'], replies[len(state['said']) % len(replies)]]
        return state.update(said=messages, over=len(messages) >= state['steps'])

    @action(reads=[], writes=[])
    async def end(state: State) -> State:
        return state

    async def make(name: str, *, best: bool) -> Peer:
        persister = await stack.enter_async_context(
            AsyncSQLitePersister.from_values(db_path=str(folder / name))
        )
        if best:
            for pragma in PRAGMAS:
                await persister.connection.execute(pragma)
        await persister.initialize()
        numbers = itertools.count()

        async def side(runs: int, steps: int) -> None:
            async def one() -> None:
                application = await (
                    ApplicationBuilder()
                    .with_actions(**{each: work for each in NAMES}, end=end)
                    .with_transitions(
                        *((each, 'end', expr('over')) for each in NAMES),
                        *zip(NAMES, NAMES[1:] + NAMES[:1], strict=True),
                    )
                    .with_state(said=[], steps=steps, over=False)
                    .with_entrypoint(NAMES[0])
                    .with_identifiers(app_id=f'{next(numbers)}', partition_key='bench')
                    .with_state_persister(persister)
                    .abuild()
                )
                await application.arun(halt_before=['end'])

            await asyncio.gather(*(one() for _ in range(runs)))

        return Peer(side)

    yield 'Burr', make('burr.db', best=False)
    yield 'Burr at its best', make('burr-best.db', best=True)


def dbos(  # noqa: C901  (what DBOS has one of in a process)
    folder: Path, replies: Sequence[str], stack: AsyncExitStack
) -> Made:
    """DBOS: a workflow whose steps are stored. A process can run only one DBOS, so each turn launches it."""
    from dbos import DBOS, DBOSConfig
    from sqlalchemy import create_engine, event

    def close() -> None:
        DBOS.destroy()
        # DBOS also shut down the loop's default executor.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())

    def tune(connection: Any, record: Any) -> None:
        connection.isolation_level = 'IMMEDIATE'  # as DBOS sets it on an engine of its own
        for pragma in (*PRAGMAS, 'PRAGMA busy_timeout = 30000', 'PRAGMA foreign_keys = ON'):
            connection.execute(pragma)

    def launch(name: str, *, best: bool) -> None:
        url = f'sqlite:///{folder / name}'
        config: DBOSConfig = {'name': 'bench', 'system_database_url': url, 'log_level': 'ERROR'}
        if best:
            config['system_database_engine'] = engine = create_engine(url)
            event.listen(engine, 'connect', tune)
        DBOS(config=config)
        DBOS.launch()

    @DBOS.step()
    async def work(number: int) -> str:
        return replies[number % len(replies)]

    @DBOS.workflow()
    async def loop(steps: int) -> int:
        results: list[str] = []
        for number in range(steps):
            results.append(await work(number))
        return len(results)

    async def make(name: str, *, best: bool) -> Peer:
        async def side(runs: int, steps: int) -> None:
            async def one() -> None:
                await (await DBOS.start_workflow_async(loop, steps)).get_result()

            await asyncio.gather(*(one() for _ in range(runs)))

        return Peer(side, lambda: launch(name, best=best), close)

    yield 'DBOS', make('dbos.db', best=False)
    yield 'DBOS at its best', make('dbos-best.db', best=True)
