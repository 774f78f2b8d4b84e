"""Test doubles for the engine: a fake model, small catalogs, waiting for a condition."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine import Catalog, Conductor, EventRefused, LocalConductor, Pattern, Status, Transition
from engine.agents.chart import agent
from engine.host.clock import Clock
from engine.journal import Journal, MemoryJournal
from engine.models.protocol import ArgumentPiece, CallStarted, Completed, ModelEvent, ModelRequest, TextPiece
from engine.patterns.pipeline.pattern import Pipeline
from engine.records import Outcome, RunId, Usage, View
from engine.tools import Tool
from engine.tools.builtin.research.calculator import calculator
from engine.tools.builtin.research.notes import notes

DEADLINE = 60.0
"""Seconds after which an unmet condition is a failure."""


def runs_commands(pattern: type[Pattern]) -> bool:
    """Whether its samples run the tests of a project."""
    return 'project' in pattern.Parameters.model_fields and pattern.name != 'parallel-review'


@dataclass(frozen=True)
class Calls:
    """A reply with tool calls: pairs of a name and arguments, as JSON text or as a mapping."""

    asked: tuple[tuple[str, Any], ...]
    text: str = ''
    """The text that accompanies the calls."""


def calls(*requested: tuple[str, Any], text: str = '') -> Calls:
    return Calls(requested, text)


class FakeModel:
    """Answers with `reply(request)`, and records the requests.

    A reply is a text, a mapping (sent as JSON), `calls(...)`, an exception (raised), or an event to wait for.
    """

    name = 'scripted'

    def __init__(self, reply: Callable[[ModelRequest], Any] | Any = 'ok', *, simulated: bool = True) -> None:
        self._reply = reply if callable(reply) else lambda request: reply
        self.simulated = simulated
        self.requests: list[ModelRequest] = []
        self.running = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        self.running += 1
        try:
            reply = self._reply(request)
            if isinstance(reply, asyncio.Event):
                yield TextPiece(text='wait')
                await reply.wait()
                reply = 'waited'
            if isinstance(reply, BaseException):
                raise reply
            if isinstance(reply, Calls):
                if reply.text:
                    yield TextPiece(text=reply.text)
                for index, (name, arguments) in enumerate(reply.asked):
                    yield CallStarted(index=index, name=name)
                    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                    yield ArgumentPiece(index=index, text=text)
            else:
                for word in (reply if isinstance(reply, str) else json.dumps(reply)).split(' '):
                    yield TextPiece(text=f'{word} ')
            yield Completed(usage=Usage(input=10, output=5))
        finally:
            self.running -= 1


def in_turn(*replies: Any) -> Callable[[ModelRequest], Any]:
    """Replies one after another; the last one is repeated."""
    remaining = list(replies)
    return lambda request: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def pipeline_reply(request: ModelRequest, *, revisions: int = 1) -> Any:
    """Reply as the pipeline's agents; depends only on the request, so a repeated call gets the same."""
    hints = request.hints
    if hints.role == 'researcher':
        if hints.turn == 0:
            return calls(
                ('notes', {'action': 'write', 'title': 'a', 'text': 'b'}),
                ('calculator', {'expression': '2*3'}),
            )
        return {'findings': ['six'], 'sources': ['arithmetic'], 'open_questions': []}
    if hints.role == 'analyzer':
        return f'draft {hints.visit}'
    approved = hints.visit > revisions
    comments = [] if approved else ['be clearer']
    return {
        'approved': approved,
        'score': 50,
        'comments': comments,
        'summary': 'fine' if approved else 'not yet',
    }


PIPELINE_TASK = {'task': 'How much is two times three?'}
SAID_KINDS = ('findings', 'draft', 'verdict', 'result', 'error', 'update')
"""Messages between agents, without the calls behind them."""


async def ran_pipeline(
    reply: Any = pipeline_reply, pattern: type[Pipeline] = Pipeline, **parameters: Any
) -> tuple[Outcome, list[str]]:
    """Run a pipeline; returns the outcome, and each status that memory had."""
    async with LocalConductor(catalog=catalog(FakeModel(reply), pattern)) as conductor:
        run = (await conductor.start(pattern.name, {**PIPELINE_TASK, **parameters})).id
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == (await conductor.info(run)).seq
        passed = ['PENDING']
        for step in await conductor.transitions(run):
            passed += [change.value for change in step.changes if change.path == '/memory/status']
        return outcome, passed


async def start_run(conductor: Conductor, pattern: str, *parameters: Any, **options: Any) -> RunId:
    """Start a run, and return its id."""
    return (await conductor.start(pattern, *parameters, **options)).id


async def complete_run(conductor: Conductor, pattern: str, *parameters: Any, **options: Any) -> RunId:
    """Start a run, wait for its end, and return its id."""
    run = await start_run(conductor, pattern, *parameters, **options)
    await conductor.result(run)
    return run


def catalog(model: FakeModel, *patterns: type[Pattern], tools: tuple[Tool, ...] = ()) -> Catalog:
    return Catalog(
        patterns={pattern.name: pattern for pattern in (Pipeline, *patterns)},
        models={'scripted': model},  # type: ignore[dict-item]
        tools={tool.name: tool for tool in (notes, calculator, *tools)},
    )


ENDS = ({'name': 'over', 'final': True}, {'name': 'lost', 'final': True, 'outcome': 'failed'})


class Lone(Pattern):
    """One agent, and its two possible ends."""

    initial = 'working'
    states = [agent('working', prompt='ask'), *ENDS]
    transitions = [['done', 'working', 'over'], ['failed', 'working', 'lost'], ['expired', 'working', 'lost']]

    def ask(self, memory: Any) -> str:
        return 'do it'


async def turns() -> AsyncIterator[None]:
    """Let other tasks run, for as long as a slow machine needs."""
    end = time.monotonic() + DEADLINE
    for turn in itertools.count():
        yield
        await asyncio.sleep(min(0.01, max(0, turn - 1_000) / 10_000))
        if time.monotonic() > end:
            return


async def until(condition: Callable[[], Any]) -> None:
    """Let other tasks run until `condition` holds; fails if it never does."""
    async for _ in turns():
        if condition():
            return
    raise AssertionError('the condition was never met')


async def wait_for_state(conductor: Conductor, run: RunId, leaf: str) -> View:
    """Wait until a state is active, and return the view."""
    async for _ in turns():
        view = await conductor.view(run)
        if leaf in view.active:
            return view
    raise AssertionError(f'{leaf} is not active, but {view.active} ({view.status}: {view.error})')


class HastyClock(Clock):
    """Every wait ends immediately and its time passes, but no timeout ever fires.

    Waits of more than `PATIENCE` seconds are assumed to be timeouts.
    """

    PATIENCE = 100

    def __init__(self) -> None:
        self._now = 1_700_000_000.0

    def now(self) -> float:
        self._now += 0.001
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds > self.PATIENCE:
            await asyncio.Event().wait()
        self._now += max(0.0, seconds)
        await asyncio.sleep(0)


async def to_the_end(conductor: Conductor, run: RunId) -> Outcome:
    """Wait for a run to end, approving every request and every draft of a chart."""

    async def say_yes() -> None:
        async for item in conductor.watch(run):
            for leaf in item.active if isinstance(item, Transition) else ():
                if leaf == 'reviewing' or leaf.endswith('.approving'):
                    with contextlib.suppress(EventRefused):
                        await conductor.send(run, 'accept' if leaf == 'reviewing' else 'approve')

    yes = asyncio.ensure_future(say_yes())
    try:
        return await conductor.result(run)
    finally:
        await yes


def sample_parameters(pattern: type[Pattern]) -> dict[str, Any]:
    """Return minimal parameters: the first example of each required field."""
    fields = pattern.Parameters.model_fields
    return {
        name: (field.examples or ['an example'])[0] for name, field in fields.items() if field.is_required()
    }


async def first_steps(journal: Journal, run: RunId, count: int) -> MemoryJournal:
    """Return a journal with only the first `count` steps of a run."""
    second_journal = MemoryJournal()
    info = await journal.info(run)
    await second_journal.create(
        replace(info, seq=0, status=Status.RUNNING, epoch=1), await journal.shape(run)
    )
    if count:
        await second_journal.append(
            replace(info, seq=count, status=Status.RUNNING, epoch=1),
            await journal.transitions(run, until=count),
        )
    return second_journal


def nest(folder: Path, depth: int, name: str = 'd') -> None:
    """Create this many nested folders."""
    folder.mkdir(parents=True, exist_ok=True)
    around = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=around)
        inner = os.open(name, os.O_RDONLY, dir_fd=around)
        os.close(around)
        around = inner
    os.close(os.open('end', os.O_WRONLY | os.O_CREAT, dir_fd=around))
    os.close(around)
