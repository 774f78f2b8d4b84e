"""Whether a fork without edits, in which all is played, reaches the same journal as its parent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from engine import Conductor, RunId, Transition, Variation

PLAYED = Variation(after='recorded', beyond='stop')


def told(steps: Iterable[Transition]) -> list[dict[str, Any]]:
    """What has to be the same in both: all but the run, its numbers and when it really was."""
    return [
        {
            'event': replace(step.event, since=0, played=0),
            'time': step.time,
            **{name: getattr(step, name) for name in ('raised', 'left', 'entered', 'active')},
            **{name: getattr(step, name) for name in ('edges', 'guards', 'changes')},
        }
        for step in steps
    ]


async def forked_alike(conductor: Conductor, run: RunId, at: int) -> RunId:
    """Fork at a step, play what is recorded, and compare: fails at the first step that is another one."""
    fork = await conductor.fork(run, at, variation=PLAYED)
    await conductor.result(fork)
    own = await conductor.transitions(fork)
    begin = (await conductor.info(fork)).parent_at
    assert not begin or (own[begin].event.name, own[begin].changes) == ('recover', ())
    found = told(own[:begin] + own[begin + bool(begin) :])
    wanted = told(await conductor.transitions(run))
    for number, (one, other) in enumerate(zip(wanted, found, strict=False), start=1):
        differing = [(name, one[name], other[name]) for name in one if one[name] != other[name]]
        assert not differing, f'forked at {at}, step {number} is another one: {differing}'
    assert len(found) == len(wanted), f'forked at {at}: {len(found)} steps in place of {len(wanted)}'
    return fork


async def forks_alike(conductor: Conductor, run: RunId) -> int:
    """The same at every step at which the run can be forked; returns how many these are."""
    steps = await conductor.transitions(run)
    ends = [step.seq for step, after in pairwise(steps) if not after.raised]
    for at in [0, *ends]:
        fork = await forked_alike(conductor, run, at)
        await conductor.journal.delete(fork)
        await conductor.workspaces.delete(fork)
    return 1 + len(ends)
