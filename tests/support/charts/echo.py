"""Runs to score: a pattern that answers what it is given, and the evidence of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import LocalConductor, Memory, Pattern
from engine.operations.experiments.scorers import Evidence
from engine.records import Launch, Outcome
from engine.records.frozen import Form


class Echo(Pattern):
    """Answers what it is given; with a detour if it is told to."""

    class Parameters(Form):
        """Launch form parameters."""

        task: str = 'Say it'
        answer: Any = ''
        detour: bool = False
        fails: bool = False

    class Memory(Memory):
        """What it was given."""

        task: str = ''
        answer: Any = ''
        detour: bool = False
        fails: bool = False

    name = 'echo'
    title = 'Echo'
    answer = 'answer'
    initial = 'start'
    states = (
        {'name': 'start'},
        {'name': 'around'},
        {'name': 'end', 'final': True},
        {'name': 'broken', 'final': True, 'outcome': 'failed'},
    )
    transitions = (
        ['always', 'start', 'broken', 'is_to_fail'],
        ['always', 'start', 'around', 'is_to_turn'],
        ['always', 'start', 'end'],
        ['always', 'around', 'end'],
    )

    def is_to_fail(self, memory: Any, event: Any) -> bool:
        """It is told to fail."""
        return bool(memory.fails)

    def is_to_turn(self, memory: Any, event: Any) -> bool:
        """It is told to take a detour."""
        return bool(memory.detour)


@dataclass(frozen=True)
class JudgedCase:
    expectation: Any = None
    id: str = 'one'


class NoJudge:
    """A bench for scorers that need no judge."""

    def __init__(self, conductor: LocalConductor, outcome: Outcome | None = None) -> None:
        self.workspaces, self.sandbox = conductor.workspaces, conductor.sandbox
        self.merging, self.outcome = conductor.merging, outcome
        self.launches: list[Launch] = []

    async def judge(self, key: str, launch: Launch) -> Outcome:
        self.launches.append(launch)
        assert self.outcome
        return self.outcome


async def evidence_of(
    conductor: LocalConductor,
    pattern: Any,
    parameters: Any,
    expectation: Any = None,
    *,
    outcome: Outcome | None = None,
    **values: Any,
) -> Evidence:
    """Run a pattern, and return the evidence of the run."""
    launch = values.pop('launch', {})
    run = (await conductor.start(pattern, parameters, **launch)).id
    await conductor.result(run)
    return Evidence(
        case=JudgedCase(expectation),
        info=await conductor.info(run),
        fold=await conductor.fold(run),
        steps=await conductor.transitions(run),
        bench=NoJudge(conductor, outcome),
        cell='cell',
        **values,
    )
