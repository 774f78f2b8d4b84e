"""What is kept of a debate: positions, what was said, consensus, and where the debate stands."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.frozen import Record
from engine.memory import Memory

Verdict = Literal['REVISE_BEST', 'REVISE_ALL', 'APPROVE', 'UNDECIDED']
Phase = Literal['review', 'debate', 'final']
SYNTHESIZER = 'synthesizer'


class Position(Record):
    """Where a reviewer stands; it is asked for as the answer of each turn."""

    text: str = Field(max_length=20_000, description='What you say to the others, in plain sentences')
    verdict: Verdict = Field(
        description='APPROVE: it can be delivered as it is. REVISE_BEST: the best one is revised. '
        'REVISE_ALL: each of them is. UNDECIDED: you cannot say yet.'
    )
    best: str = Field(default='', description='The name of the implementation that you hold for the best')
    agrees: bool = Field(
        default=False, description='Whether you agree with what the others have said and want to close'
    )
    ranking: tuple[str, ...] = Field(default=(), description='All names of implementations, the best first')
    concedes: tuple[str, ...] = Field(default=(), description='Points of others that you accept')
    insists: tuple[str, ...] = Field(default=(), description='Points that you do not give up')
    changes: tuple[str, ...] = Field(default=(), description='What must be changed, the most urgent first')
    rests_on: tuple[str, ...] = Field(
        default=(), description='Facts your verdict rests on: test results, lines of code'
    )


class Said(Record):
    """One entry of the transcript."""

    speaker: str
    model: str = ''
    phase: Phase
    debate: int = 0
    """Which debate of the run: 0 are the reviews before the first one."""
    round: int = 0
    """Counted from 1; 0 outside of rounds."""
    text: str
    position: Position | None = None
    human: bool = False
    """Whether a person spoke in the reviewer's seat."""
    synthesized: bool = False
    """Whether it is no reviewer's word, but drawn from what they had said."""
    problem: str = ''
    """Why the speaker said nothing: it failed or ran out of time."""


class Consensus(Record):
    """What a debate came to."""

    debate: int
    verdict: Verdict
    best: str = ''
    text: str
    changes: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    """Who agreed; nobody where it was synthesized."""
    round: int = 0
    synthesized: bool = False


class Debate(Memory):
    """Where the debate that is held, or was held last, stands."""

    number: int = 0
    phase: Phase = 'debate'
    round: int = 0
    turn: int = 0
    """Whose turn it is: a place in the list of reviewers."""
    absent: dict[str, str] = Field(default_factory=dict)
    """Reviewers who failed in it, and why; they take no further part in it."""


class DebateMemory(Memory):
    """What a pattern with debates remembers."""

    debate: Debate = Field(default_factory=Debate)
    transcript: list[Said] = Field(default_factory=list)
    consensuses: list[Consensus] = Field(default_factory=list)
    """One for each debate that has ended, in order."""
    seats: tuple[str, ...] = ()
    """Reviewers in whose seat a person sits."""

    @property
    def consensus(self) -> Consensus | None:
        """What the latest debate came to."""
        return self.consensuses[-1] if self.consensuses else None

    def names(self) -> tuple[str, ...]:
        """What a position may name: the candidates that are still in play."""
        return ()

    def heard(self, reviewer: str = '') -> list[Said]:
        """What was said in the current debate, by one reviewer or by all."""
        return [
            said
            for said in self.transcript
            if said.debate == self.debate.number
            and said.phase != 'review'
            and not said.synthesized
            and not said.problem
            and reviewer in ('', said.speaker)
        ]
