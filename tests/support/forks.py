"""For tests of forks: a small pattern with two parallel agents, and comparing a fork with its parent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from engine import Conductor, LocalConductor, Pattern, Status, Transition
from engine.agents.chart import agent
from engine.history import ForkOverrides
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import RunId
from tests.support.clocks import IdleClock
from tests.support.harness import FakeModel, Lone, calls, catalog, complete_run

PLAYED = ForkOverrides(after='recorded', beyond='stop')


def make_conductor(
    model: FakeModel, journal: MemoryJournal | None = None, *patterns: type[Pattern]
) -> Conductor:
    return LocalConductor(journal or MemoryJournal(), catalog=catalog(model, *patterns), clock=IdleClock())


async def run_pipeline(conductor: Conductor) -> tuple[RunId, int]:
    """Run a pipeline; return it and the step at which its first review starts."""
    run = await complete_run(conductor, 'pipeline', {'task': 'Count the bees'}, tags=('bees',))
    steps = await conductor.transitions(run)
    return run, next(step.seq for step in steps if 'reviewing.thinking' in step.active)


async def cut_run(conductor: Conductor, run: RunId, count: int) -> RunId:
    """Create a run that has only the first steps of another."""
    info = replace(await conductor.info(run), id=RunId(f'cut{count}'), parent=run, parent_at=count, seq=count)
    await conductor.journal.fork(replace(info, status=Status.CANCELLED), await conductor.journal.shape(run))
    return info.id


def normalize(steps: Iterable[Transition]) -> list[dict[str, Any]]:
    """Keep what must be equal in both: everything but the run, its numbers and real times."""
    return [
        {
            'event': replace(step.event, since=0, played=0),
            **{name: getattr(step, name) for name in ('raised', 'left', 'entered', 'active')},
            **{name: getattr(step, name) for name in ('edges', 'guards', 'changes', 'time')},
        }
        for step in steps
    ]


async def fork_and_compare(conductor: Conductor, run: RunId, at: int) -> RunId:
    """Fork at a step, replay, and compare: fails at the first differing step."""
    fork = await conductor.fork(run, at, overrides=PLAYED)
    await conductor.result(fork)
    own = await conductor.transitions(fork)
    begin = (await conductor.info(fork)).parent_at
    assert not begin or (own[begin].event.name, own[begin].changes) == ('recover', ())
    before = await conductor.transitions(run)
    actual = normalize(own[:begin] + own[begin + bool(begin) :])
    expected = normalize(before)
    for number, (one, other) in enumerate(zip(expected, actual, strict=False), start=1):
        differing = [(name, one[name], other[name]) for name in one if one[name] != other[name]]
        assert not differing, f'forked at {at}, step {number} differs: {differing}'
    assert len(actual) == len(expected), f'forked at {at}: {len(actual)} steps instead of {len(expected)}'
    return fork


async def forks_alike(conductor: Conductor, run: RunId, every: int = 1) -> int:
    """Fork and compare at every n-th step where the run can be forked; returns the number of forks."""
    steps = await conductor.transitions(run)
    ends = [0, *[step.seq for step, after in pairwise(steps) if not after.raised][::every]]
    for at in ends:
        fork = await fork_and_compare(conductor, run, at)
        await conductor.journal.delete(fork)
        await conductor.workspaces.delete(fork)
    return len(ends)


class Counting(Lone):
    """One agent with a tool."""

    states = [agent('working', prompt='ask', tools=('calculator',)), *Lone.states[1:]]


class Pair(Pattern):
    """Two parallel agents, each with a tool and three turns, and one that reports the result."""

    initial = 'both'
    answer = 'said'
    states = [
        {
            'name': 'both',
            'parallel': [agent(name, then='note', tools=('calculator',)) for name in ('left', 'right')],
        },
        agent('closing', prompt='prompt_left', then='note'),
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'both', 'closing'], ['done', 'closing', 'over'], ['failed', '*', 'lost']]

    class Memory(Pattern.Memory):  # type: ignore[name-defined, misc]
        said: str = ''

    def prompt_left(self, memory: Any) -> str:
        return f'Go on from {memory.said!r}'

    prompt_right = prompt_left

    def note(self, memory: Any, event: Any) -> None:
        memory.said += f'{event.at.partition(".")[2] or event.at}: {event.data["text"]};'


def working(request: ModelRequest) -> Any:
    """Each uses its tool twice and then repeats the last result."""
    if request.hints.role in ('left', 'right') and request.hints.turn < 2:
        return calls(('calculator', {'expression': f'{request.hints.turn}+1'}))
    return f'{request.hints.role} heard {request.messages[-1].text[:40]}'
