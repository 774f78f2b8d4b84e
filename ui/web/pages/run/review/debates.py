"""Debates at one step: rounds, turns, agreement, and whose turn it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from engine.patterns import Consensus, Debate, Position, Utterance
from engine.records import Shape, View
from engine.statechart import read_leniently
from ui.web.replay.history import History, pad_positions

REVIEWER = 'word'
"""`waits` of a state in which a person speaks for a reviewer; its parent is the seat."""
CODER = 'work'
"""`waits` of a state in which a person works in a coder's seat."""
Trend = Literal['', 'agreed', 'closer', 'same', 'apart']


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One speaker's contribution, with its step and time (0 and 0.0 while unknown)."""

    utterance: Utterance
    seq: int = 0
    time: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far the reviewers agreed at the end of a round, by their latest positions."""

    verdict: bool
    best: bool
    ranked: float | None
    """The share of pairs of candidates that pairs of reviewers rank in the same order."""
    conceded: int
    """Points conceded in this round."""
    trend: Trend = ''

    @property
    def share(self) -> float:
        """The overall agreement, 0 to 1: the mean over verdicts, best candidates and rankings."""
        return (self.verdict + self.best + (self.best if self.ranked is None else self.ranked)) / 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: the turns of each speaker, and their agreement at its end."""

    number: int
    """0 stands for the reviews before the debate."""
    turns: Mapping[str, tuple[Turn, ...]]
    agreement: Agreement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDebate:
    """One debate of a run, with its rounds."""

    number: int
    phase: str
    rounds: tuple[Round, ...]
    consensus: Consensus | None = None
    """Its consensus; None while it is in progress."""
    seq: int = 0
    """The step of the consensus, if known."""


def seats_for(shape: Shape, waits: str) -> list[str]:
    """Return the seats of reviewers (`REVIEWER`) or of coders (`CODER`)."""
    return list(dict.fromkeys(state.seat for state in shape.states if state.seat and state.waits == waits))


def debate_turns(view: View, shape: Shape, history: History) -> list[Turn]:
    """Return all turns up to the step that is shown, in order."""
    field = shape.field('debate')
    utterances = read_leniently(list[Utterance], view.memory.get(field))
    places = pad_positions(history.appended_to(field), len(utterances))
    return [
        Turn(utterance=utterance, seq=seq, time=time)
        for utterance, (seq, time) in zip(utterances, places, strict=True)
    ]


def read_debate(view: View) -> Debate:
    """Return the progress of the current or latest debate."""
    return read_leniently(Debate, view.memory.get('debate'))


def read_consensuses(view: View) -> list[Consensus]:
    """Return the results of the debates that have ended."""
    return read_leniently(list[Consensus], view.memory.get('consensuses'))


def speakers(turns: Sequence[Turn], shape: Shape) -> list[str]:
    """Return the speakers with a row: the chart's reviewers, then others except the synthesizer."""
    spoke = [turn.utterance.speaker for turn in turns if not turn.utterance.synthesized]
    return list(dict.fromkeys([*seats_for(shape, REVIEWER), *spoke]))


def debates(turns: Sequence[Turn], view: View, history: History) -> list[HeldDebate]:
    """Return the debates in order; reviews written before the first one are its round 0."""
    ended = {consensus.debate: consensus for consensus in read_consensuses(view)}
    when = history.appended_to('consensuses')
    going = read_debate(view)
    numbers = {max(1, turn.utterance.debate) for turn in turns} | ({going.number} if going.number else set())
    all_held = []
    for number in sorted(numbers):
        inside = [turn for turn in turns if max(1, turn.utterance.debate) == number]
        place = list(ended).index(number) if number in ended else -1
        phases = [turn.utterance.phase for turn in inside if turn.utterance.round]
        if number == going.number:
            phases.append(going.phase)
        all_held.append(
            HeldDebate(
                number=number,
                phase=next(iter(phases), ''),
                rounds=tuple(_list_rounds(inside)),
                consensus=ended.get(number),
                seq=when[place].seq if 0 <= place < len(when) else 0,
            )
        )
    return all_held


def _list_rounds(turns: Sequence[Turn]) -> Iterator[Round]:
    spoken = [turn for turn in turns if not turn.utterance.synthesized]
    stands: dict[str, Position] = {}
    before: Agreement | None = None
    for number in sorted({turn.utterance.round for turn in spoken}):
        inside: dict[str, tuple[Turn, ...]] = {}
        for turn in spoken:
            if turn.utterance.round == number:
                speaker = turn.utterance.speaker
                inside[speaker] = (*inside.get(speaker, ()), turn)
                if turn.utterance.position:
                    stands[speaker] = turn.utterance.position
        here = [turn.utterance.position for turns in inside.values() for turn in turns]
        before = measure_agreement(list(stands.values()), here, before)
        yield Round(number=number, turns=inside, agreement=before)


def measure_agreement(
    stands: Sequence[Position], here: Sequence[Position | None], before: Agreement | None
) -> Agreement | None:
    """Measure how far positions agree; None if there are fewer than two.

    Args:
        stands: the latest position of each reviewer.
        here: the positions taken in this round; None where a speaker took none.
        before: the agreement one round earlier.
    """
    if len(stands) < 2:
        return None
    verdicts = {position.verdict for position in stands}
    bests = {position.best for position in stands if position.best}
    alike = len(verdicts) == 1 and 'UNDECIDED' not in verdicts
    agreement = Agreement(
        verdict=alike,
        best=len(bests) == 1 or (alike and (not bests or 'REVISE_ALL' in verdicts)),
        ranked=_rank_agreement([position.ranking for position in stands]),
        conceded=sum(len(position.concedes) for position in here if position),
    )
    trend: Trend = ''
    last = here[-1] if here else None
    if agreement.share == 1 or (agreement.verdict and agreement.best and last and last.agrees):
        trend = 'agreed'
    elif before is not None:
        step = agreement.share - before.share
        trend = (
            'closer' if step > 0 or (step == 0 and agreement.conceded) else 'apart' if step < 0 else 'same'
        )
    return replace(agreement, trend=trend)


def _rank_agreement(rankings: Sequence[Sequence[str]]) -> float | None:
    """Return the share of pairs in the same order, as in Kendall's tau; None without a pair."""
    alike = pairs = 0
    for ranking, other in combinations(rankings, 2):
        common = [name for name in ranking if name in other]
        for better, worse in combinations(common, 2):
            pairs += 1
            alike += other.index(better) < other.index(worse)
    return alike / pairs if pairs else None


def current_turn(view: View, shape: Shape) -> tuple[str, bool]:
    """Return whose turn it is ('' if nobody's), and whether a person takes it.

    Where all speak in parallel, as in the first review, only a person's turn is returned.
    """
    paths = {state.parent: state.path for state in shape.states if state.waits == REVIEWER}
    for leaf in view.active:
        state = shape.state(leaf)
        for seat, person in paths.items():
            inside = leaf.startswith(f'{seat}.') and state and state.kind != 'final'
            if inside and (leaf == person or not _is_parallel(seat, shape)):
                return seat.rpartition('.')[2], leaf == person
    return '', False


def _is_parallel(seat: str, shape: Shape) -> bool:
    around = shape.state(seat.rpartition('.')[0])
    return around is not None and around.kind == 'parallel'


def is_debating(view: View, shape: Shape) -> bool:
    """Return whether a debate is in progress at this step."""
    context = {shape.state(state.parent) for state in shape.states if state.waits == REVIEWER}
    regions = {seat.parent for seat in context if seat and not _is_parallel(seat.path, shape)}
    return any(leaf.startswith(f'{path}.') for path in regions for leaf in view.active)
