"""The records of a debate: positions, utterances, consensus and progress."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import takewhile
from typing import Literal

from pydantic import Field

from engine.records import Event
from engine.records.frozen import FrozenModel
from engine.statechart.memory import Memory

Verdict = Literal['REVISE_BEST', 'REVISE_ALL', 'APPROVE', 'UNDECIDED']
Phase = Literal['review', 'debate', 'final']
SYNTHESIZER = 'synthesizer'


class Answer(FrozenModel):
    """An answer to a point that another reviewer has made."""

    to: str = Field(description='The id of the point, such as `reviewer2/1.1/3`')
    stance: Literal['accepts', 'rebuts']
    why: str = Field(default='', description='Why, in a sentence')


class LineComment(FrozenModel):
    """A comment on one line of a candidate's file."""

    candidate: str = Field(description='The implementation, such as `coder1`')
    path: str = Field(description="The file, relative to the candidate's folder")
    line: int = Field(ge=1, description='The line number')
    text: str = Field(max_length=2_000, description='What its coder should do there')


class Position(FrozenModel):
    """The position of a reviewer, given as the answer of each turn."""

    text: str = Field(max_length=20_000, description='Your message to the others, in plain sentences')
    verdict: Verdict = Field(
        description='APPROVE: it can be delivered as it is. REVISE_BEST: revise the best one. '
        'REVISE_ALL: revise all of them. UNDECIDED: you cannot decide yet.'
    )
    best: str = Field(
        default='',
        description='The name of the best implementation in your view; name it to approve one of several',
    )
    agrees: bool = Field(
        default=False, description='Whether you agree with the others and want to end the debate'
    )
    ranking: tuple[str, ...] = Field(default=(), description='The names of all implementations, best first')
    concedes: tuple[str, ...] = Field(default=(), description='Points of others that you accept')
    insists: tuple[str, ...] = Field(default=(), description='Points that you insist on')
    changes: tuple[str, ...] = Field(default=(), description='Required changes, most urgent first')
    rests_on: tuple[str, ...] = Field(
        default=(), description='Facts that support your verdict: test results, lines of code'
    )
    answers: tuple[Answer, ...] = Field(default=(), description='Your answers to open points of others')
    comments: tuple[LineComment, ...] = Field(
        default=(), description='Comments on single lines, for the coders'
    )


def are_alike(positions: Collection[Position]) -> bool:
    """Whether positions have one verdict and, unless all are to be revised, name no different candidates."""
    verdicts = {position.verdict for position in positions}
    bests = {position.best for position in positions if position.best}
    return len(verdicts) <= 1 and (len(bests) <= 1 or verdicts == {'REVISE_ALL'})


class Utterance(FrozenModel):
    """One entry of the transcript."""

    speaker: str
    model: str = ''
    phase: Phase
    debate: int = 0
    """Number of the debate in the run; 0 for reviews before the first."""
    round: int = 0
    """Counted from 1; 0 outside rounds."""
    text: str
    position: Position | None = None
    human: bool = False
    """Whether a person spoke in the reviewer's seat."""
    synthesized: bool = False
    """Whether it was synthesized from what reviewers had said."""
    problem: str = ''
    """Why the speaker said nothing: it failed or timed out."""

    @property
    def points(self) -> list[tuple[str, str]]:
        """Its insisted points and requested changes, each with an id that answers refer to."""
        texts = (*self.position.insists, *self.position.changes) if self.position else ()
        place = f'{self.speaker}/{self.debate}.{self.round}'
        return [(f'{place}/{number}', text) for number, text in enumerate(texts, start=1)]


class Consensus(FrozenModel):
    """The result of a debate."""

    debate: int
    verdict: Verdict
    best: str = ''
    text: str
    changes: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    """The reviewers who agreed; empty if it was synthesized."""
    round: int = 0
    synthesized: bool = False

    @property
    def source(self) -> str:
        """Who concluded it: `reviewers` or `synthesizer`."""
        return SYNTHESIZER if self.synthesized else 'reviewers'


class Debate(Memory):
    """Progress of the current or latest debate."""

    number: int = 0
    phase: Phase = 'debate'
    round: int = 0
    turn: int = 0
    """Index of the current reviewer."""
    absent: dict[str, str] = Field(default_factory=dict)
    """Reviewers who failed in this debate, and why; they no longer take part in it."""


class DebateMemory(Memory):
    """Memory of a pattern with debates."""

    debate: Debate = Field(default_factory=Debate)
    transcript: list[Utterance] = Field(default_factory=list)
    consensuses: list[Consensus] = Field(default_factory=list)
    """One per finished debate, in order."""
    seats: tuple[str, ...] = ()
    """Reviewers whose seat a person has taken."""

    @property
    def consensus(self) -> Consensus | None:
        """The latest debate's consensus."""
        return self.consensuses[-1] if self.consensuses else None

    def names(self) -> Mapping[str, str]:
        """The candidates that a position may name, by everything that they may be called."""
        return {}

    def note_seat(self, seat: str, event: Event) -> None:
        """Let a reviewer who had failed rejoin once a person has taken the seat."""
        if seat in self.seats and seat in self.debate.absent:
            del self.debate.absent[seat]

    def positions_differ(self) -> bool | None:
        """Whether the reviewers' latest positions in the current or most recent debate differ."""
        if not self.transcript:
            return None
        debate = takewhile(
            lambda utterance: utterance.debate == self.transcript[-1].debate, reversed(self.transcript)
        )
        positions: dict[str, Position] = {}
        for utterance in debate:
            if utterance.position and not utterance.synthesized:
                positions.setdefault(utterance.speaker, utterance.position)
        return not are_alike(positions.values())

    def current_utterances(self) -> list[Utterance]:
        """Return what was said in the current debate, without reviews, syntheses and failed turns."""
        return [
            utterance
            for utterance in self.transcript
            if utterance.debate == self.debate.number
            and utterance.phase != 'review'
            and not utterance.synthesized
            and not utterance.problem
        ]

    def open_points(self, reviewer: str) -> list[tuple[str, str]]:
        """Return the others' latest points that this reviewer has not answered, with their ids."""
        return [point for _, point in open_points(self.transcript, reviewer, self.debate.number)]


def open_points(
    transcript: Collection[Utterance], reviewer: str, debate: int
) -> list[tuple[str, tuple[str, str]]]:
    """Return the others' latest points in a debate that this reviewer has not answered.

    Returns:
        The speaker of each point, and the point with its id.
    """
    answered = {
        answer.to
        for utterance in transcript
        if utterance.speaker == reviewer and utterance.position
        for answer in utterance.position.answers
    }
    latest = {
        utterance.speaker: utterance
        for utterance in transcript
        if utterance.points and not utterance.synthesized and utterance.debate in (0, debate)
    }
    return [
        (name, point)
        for name, utterance in latest.items()
        if name != reviewer
        for point in utterance.points
        if point[0] not in answered
    ]
