"""Reads debates out of memory: rounds, turns, how far reviewers agree, whose turn it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

from engine import Shape, View
from ui.replay.history import History

WORD = 'word'
"""What a state waits for in which a person speaks in a reviewer's seat; the state around it is the seat."""
Trend = Literal['', 'agreed', 'closer', 'same', 'apart']


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one speaker said, and at which step (0 and 0.0 while that is not known)."""

    said: Mapping[str, Any]
    seq: int = 0
    time: float = 0.0

    @property
    def position(self) -> Mapping[str, Any]:
        """Where the speaker stands; empty where no position was taken."""
        return record(self.said.get('position'))


@dataclass(frozen=True, slots=True, kw_only=True)
class Accord:
    """How far the reviewers agreed when a round was over, by the latest position of each."""

    verdict: bool
    best: bool
    ranked: float | None
    """Of all pairs of reviewers and of candidates: the part in which both rank the two alike."""
    conceded: int
    """Points that were given up in this round."""
    trend: Trend = ''

    @property
    def share(self) -> float:
        """All of it as one number, 0 to 1."""
        return (self.verdict + self.best + (self.best if self.ranked is None else self.ranked)) / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: the turns of each speaker, and where they stood when it was over."""

    number: int
    """0 are the reviews before the debate."""
    turns: Mapping[str, tuple[Turn, ...]]
    accord: Accord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One debate of a run."""

    number: int
    phase: str
    rounds: tuple[Round, ...]
    consensus: Mapping[str, Any] = field(default_factory=dict)
    """What it came to; empty while it goes on."""
    seq: int = 0
    """The step in which it came to that, if it is known."""


def record(value: object) -> Mapping[str, Any]:
    """A record in memory; an empty one for whatever else a pattern has put there."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """A list in memory; an empty one for whatever else stands there."""
    return list(value) if isinstance(value, (list, tuple)) else []


def seats(shape: Shape) -> list[str]:
    """The reviewers whose turn a person can take, by the chart."""
    found = [shape.state(state.parent) for state in shape.states if state.waits == WORD]
    return list(dict.fromkeys(state.name for state in found if state))


def transcript(view: View, shape: Shape, history: History) -> list[Turn]:
    """All that was said up to the step that is shown, in order."""
    when = history.appended.get(f'/memory/{shape.debate}', [])
    said = [record(entry) for entry in listed(view.memory.get(shape.debate))]
    known = [*when[: len(said)], *[(0, 0.0)] * (len(said) - len(when))]
    return [Turn(said=entry, seq=seq, time=time) for entry, (seq, time) in zip(said, known, strict=True)]


def speakers(turns: Sequence[Turn], shape: Shape) -> list[str]:
    """Who has a row: the reviewers of the chart, then whoever else spoke and was not the synthesizer."""
    spoke = [str(turn.said.get('speaker', '')) for turn in turns if not turn.said.get('synthesized')]
    return list(dict.fromkeys([*seats(shape), *spoke]))


def debates(turns: Sequence[Turn], view: View, history: History) -> list[Held]:
    """The debates in order; reviews that were written before the first one stand in it as round 0."""
    ended = {entry.get('debate'): entry for entry in map(record, listed(view.memory.get('consensuses')))}
    when = [seq for seq, _ in history.appended.get('/memory/consensuses', [])]
    going = record(view.memory.get('debate')).get('number', 0)
    numbers = {max(1, _number(turn, 'debate')) for turn in turns} | ({going} if going else set())
    found = []
    for number in sorted(numbers):
        inside = [turn for turn in turns if max(1, _number(turn, 'debate')) == number]
        place = list(ended).index(number) if number in ended else -1
        phases = [str(turn.said.get('phase')) for turn in inside if _number(turn, 'round')]
        if number == going:
            phases.append(str(record(view.memory.get('debate')).get('phase', '')))
        found.append(
            Held(
                number=number,
                phase=next(iter(phases), ''),
                rounds=tuple(_rounds(inside)),
                consensus=ended.get(number, {}),
                seq=when[place] if 0 <= place < len(when) else 0,
            )
        )
    return found


def _rounds(turns: Sequence[Turn]) -> Iterator[Round]:
    spoken = [turn for turn in turns if not turn.said.get('synthesized')]
    stands: dict[str, Mapping[str, Any]] = {}
    before: Accord | None = None
    for number in sorted({_number(turn, 'round') for turn in spoken}):
        inside: dict[str, tuple[Turn, ...]] = {}
        for turn in spoken:
            if _number(turn, 'round') == number:
                speaker = str(turn.said.get('speaker', ''))
                inside[speaker] = (*inside.get(speaker, ()), turn)
                if turn.position:
                    stands[speaker] = turn.position
        here = [turn.position for turns in inside.values() for turn in turns]
        before = accord(list(stands.values()), here, before)
        yield Round(number=number, turns=inside, accord=before)


def accord(
    stands: Sequence[Mapping[str, Any]], here: Sequence[Mapping[str, Any]], before: Accord | None
) -> Accord | None:
    """How far positions agree; None where there are not two of them.

    Args:
        stands: the latest position of each reviewer.
        here: the positions that were taken in this round.
        before: how far they agreed a round ago.
    """
    if len(stands) < 2:
        return None
    verdicts = Counter(str(position.get('verdict', '')) for position in stands)
    bests = Counter(str(position['best']) for position in stands if position.get('best'))
    alike = len(verdicts) == 1 and 'UNDECIDED' not in verdicts
    found = Accord(
        verdict=alike,
        best=len(bests) == 1 or (alike and (not bests or 'REVISE_ALL' in verdicts)),
        ranked=_ranked_alike([listed(position.get('ranking')) for position in stands]),
        conceded=sum(len(listed(position.get('concedes'))) for position in here),
    )
    trend: Trend = ''
    if found.verdict and found.best and here and here[-1].get('agrees'):
        trend = 'agreed'
    elif before is not None:
        step = found.share - before.share
        trend = 'closer' if step > 0 or (step == 0 and found.conceded) else 'apart' if step < 0 else 'same'
    return Accord(
        verdict=found.verdict, best=found.best, ranked=found.ranked, conceded=found.conceded, trend=trend
    )


def _ranked_alike(rankings: Sequence[Sequence[Any]]) -> float | None:
    """Kendall's measure of two orders, as the part of pairs in the same order; None without a pair."""
    alike = pairs = 0
    for one, other in combinations(rankings, 2):
        both = [name for name in one if name in other]
        for first, second in combinations(both, 2):
            pairs += 1
            alike += other.index(first) < other.index(second)
    return alike / pairs if pairs else None


def turn_of(view: View, shape: Shape) -> tuple[str, bool]:
    """Whose turn it is, and whether it is a person's; '' where nobody has the turn."""
    known = {state.parent: state.path for state in shape.states if state.waits == WORD}
    for leaf in view.active:
        state = shape.state(leaf)
        for seat, person in known.items():
            if leaf.startswith(f'{seat}.') and state and state.kind != 'final':
                return seat.rpartition('.')[2], leaf == person
    return '', False


def in_debate(view: View, shape: Shape) -> bool:
    """Whether a debate is held at this step."""
    around = {shape.state(state.parent) for state in shape.states if state.waits == WORD}
    held = {seat.parent for seat in around if seat}
    return any(leaf.startswith(f'{path}.') for path in held for leaf in view.active)


def _number(turn: Turn, name: str) -> int:
    value = turn.said.get(name)
    return value if isinstance(value, int) else 0
