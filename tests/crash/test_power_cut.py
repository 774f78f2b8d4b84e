"""The power fails at step n, for every n: a new process reaches the same end, repeating one call at most."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine import Conductor, LocalConductor, Status, ToolContext
from engine.agents.chart import agent
from engine.errors import ModelError
from engine.journal import Journal, MemoryJournal
from engine.models.protocol import ModelRequest
from engine.patterns.pipeline.pattern import Pipeline
from engine.records import Outcome, RunId
from engine.tools.protocol import tool
from storage import open_journal
from tests.support.harness import FakeModel, HastyClock, calls, catalog, pipeline_reply, to_the_end, until

DONE: Counter[str] = Counter()
"""How often each tool call was carried out, by its key."""


Undisturbed = tuple[Outcome, list[str], int]


class PowerCut(Exception):
    """The machine has no power."""


class PowerCutJournal:
    """A journal whose power fails at step `at`: before the write, or after it but before it returns."""

    def __init__(self, journal: Journal, at: int, *, written: bool) -> None:
        self.journal, self.at, self.written = journal, at, written
        self.power_lost = False

    def __getattr__(self, name: str) -> Any:
        if self.power_lost and name != 'close':
            raise PowerCut
        return getattr(self.journal, name)

    async def append(self, info: Any, transitions: Any, snapshot: Any = None) -> int:
        if self.power_lost:
            raise PowerCut
        self.power_lost = any(step.seq == self.at for step in transitions)
        if self.power_lost and not self.written:
            raise PowerCut
        weight = await self.journal.append(info, transitions, snapshot)
        if self.power_lost:
            raise PowerCut
        return weight


@tool(approval=True)
async def publish(context: ToolContext, text: str) -> str:
    """Have a side effect that must not be repeated."""
    DONE[context.key] += 1
    return 'published'


def reply(request: ModelRequest) -> Any:
    """Like the pipeline's agents, with a call that fails at first and one that needs approval."""
    hints = request.hints
    if hints.role == 'analyzer' and hints.visit == 1 and hints.attempt < 3:
        return ModelError('overloaded', retryable=True, retry_after=5)
    if hints.role == 'publisher' and hints.turn == 0:
        return calls(('publish', {'text': 'x'}), ('notes', {'action': 'list'}))
    if hints.role == 'publisher':
        return 'it is out'
    return pipeline_reply(request)


class Publishing(Pipeline):
    """The pipeline, and an agent that publishes its result."""

    states = [*Pipeline.states, agent('publishing', 'publisher', tools=('publish', 'notes'))]
    transitions = [
        ['done', 'reviewing', 'publishing', 'is_approved'],
        ['done', 'publishing', 'complete'],
        *Pipeline.transitions,
    ]

    def prompt_publishing(self, memory: Any) -> str:
        return 'Publish it.'


def make_conductor(journal: Any, model: FakeModel) -> Conductor:
    return LocalConductor(
        journal, catalog=catalog(model, Publishing, tools=(publish,)), clock=HastyClock(), owner='me'
    )


@pytest.fixture(scope='module')
def undisturbed() -> Undisturbed:
    return asyncio.run(run_through())


async def run_through() -> Undisturbed:
    """Return the outcome without a power cut, the events, and the number of calls."""
    DONE.clear()
    model = FakeModel(reply)
    async with make_conductor(MemoryJournal(), model) as conductor:
        run = (await conductor.start('publishing', {'task': 'six?'})).id
        outcome = await to_the_end(conductor, run)
        events = [f'{step.event.name}@{step.event.at}' for step in await conductor.transitions(run)]
    return outcome, events, len(model.requests)


async def run_with_power_cut(
    open_journal_again: Callable[[], Awaitable[Journal]], at: int, written: bool
) -> tuple[Outcome, list[str], int]:
    """Return the same with a power cut at step `at`, after which a second process continues."""
    DONE.clear()
    model = FakeModel(reply)
    before = PowerCutJournal(await open_journal_again(), at, written=written)
    async with make_conductor(before, model) as crashed:
        try:
            run = (await crashed.start('publishing', {'task': 'six?'})).id
            await _run_until_power_fails(crashed, before, run)
        except PowerCut:
            run = RunId('')
    async with make_conductor(await open_journal_again(), model) as successor:
        unfinished = [info.id for info in await successor.journal.unfinished()]
        assert await successor.recover() == unfinished and not successor.stranded
        (info,) = (await successor.runs()).runs
        assert not run or info.id == run
        outcome = await to_the_end(successor, info.id)
        assert await successor.audit(info.id) == (await successor.info(info.id)).seq
        events = [f'{step.event.name}@{step.event.at}' for step in await successor.transitions(info.id)]
    return outcome, events, len(model.requests)


async def _run_until_power_fails(crashed: Conductor, journal: PowerCutJournal, run: RunId) -> None:
    """Run until the power fails; a person approves everything."""
    live = crashed._live.runs.get(run)
    while not journal.power_lost and live:
        if live.projection.waiting and not live.mailbox.waiting:
            await crashed.send(run, 'approve')
        await until(lambda: journal.power_lost or live.projection.waiting)
    await until(lambda: not crashed._live.runs)
    assert crashed.feed._partial == {}


async def check(
    undisturbed: Undisturbed, open_journal_again: Callable[[], Awaitable[Journal]], at: int, written: bool
) -> None:
    expected, events, requests = undisturbed
    outcome, names, request_count = await run_with_power_cut(open_journal_again, at, written)
    assert outcome.status is Status.DONE
    assert (outcome.memory, outcome.answer) == (expected.memory, expected.answer)
    assert [name for name in names if name != 'recover@'] == events
    assert requests <= request_count <= requests + 1, 'only the call in flight is repeated'
    assert len(DONE) == 1 and sum(DONE.values()) <= 2
    if request_count > requests:
        assert sum(DONE.values()) == 1


STEPS = range(1, 22)
BOTH = pytest.mark.parametrize('written', [False, True], ids=['lost', 'written'])


def test_every_step_is_covered(undisturbed: Undisturbed) -> None:
    _, events, _ = undisturbed
    assert len(events) == STEPS.stop - 1
    assert events.count('retry@analyzing.thinking') == 2 and 'approve@' in events


@BOTH
@pytest.mark.parametrize('at', STEPS)
async def test_a_power_cut_loses_nothing_in_memory(undisturbed: Undisturbed, at: int, written: bool) -> None:
    journal = MemoryJournal()

    async def open_journal_again() -> Journal:
        return journal

    await check(undisturbed, open_journal_again, at, written)


@BOTH
@pytest.mark.parametrize('at', STEPS[::3])
async def test_a_power_cut_loses_nothing_on_disk(
    undisturbed: Undisturbed, tmp_path: Path, at: int, written: bool
) -> None:
    async def open_journal_again() -> Journal:
        return await open_journal(tmp_path / 'runs.db')

    await check(undisturbed, open_journal_again, at, written)
