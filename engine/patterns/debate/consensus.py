"""Decides when a debate has reached consensus, and builds it."""

from __future__ import annotations

from collections.abc import Sequence

from engine.patterns.debate.records import Consensus, DebateMemory, Position, Utterance, are_alike

MIN_REVIEWERS = 2
"""Reviewers needed for consensus, unless only one was asked."""


def are_enough(count: int, reviewers: Sequence[str]) -> bool:
    """Whether this many reviewers can decide for all."""
    return count >= min(MIN_REVIEWERS, len(reviewers))


def latest_utterances(memory: DebateMemory, reviewers: Sequence[str]) -> dict[str, Utterance]:
    """Return each reviewer's latest utterance in the current debate, leaving out absent reviewers."""
    return {
        utterance.speaker: utterance
        for utterance in memory.current_utterances()
        if utterance.speaker in reviewers and utterance.speaker not in memory.debate.absent
    }


def is_agreed(memory: DebateMemory, reviewers: Sequence[str]) -> bool:
    """Whether the reviewers agree.

    All reviewers present (at least two) must have taken a position in this debate. Their latest positions
    must share a decided verdict and, unless it is `REVISE_ALL`, not name different implementations; the
    last speaker must agree. A sole reviewer only has to decide.
    """
    latest = latest_utterances(memory, reviewers)
    present = [reviewer for reviewer in reviewers if reviewer not in memory.debate.absent]
    if not are_enough(len(present), reviewers) or set(latest) != set(present):
        return False
    positions = [utterance.position for utterance in latest.values() if utterance.position]
    if len(positions) < len(latest) or any(position.verdict == 'UNDECIDED' for position in positions):
        return False
    last = memory.current_utterances()[-1].position
    return are_alike(positions) and last is not None and (last.agrees or len(reviewers) == 1)


def build_consensus(memory: DebateMemory, reviewers: Sequence[str]) -> Consensus:
    """Build the consensus from the shared verdict, the last reviewer's text and everyone's demands."""
    latest = latest_utterances(memory, reviewers)
    positions = [utterance.position for utterance in latest.values() if utterance.position]
    last = memory.current_utterances()[-1]
    assert last.position is not None
    return Consensus(
        debate=memory.debate.number,
        verdict=last.position.verdict,
        best=next((position.best for position in reversed(positions) if position.best), ''),
        text=last.text,
        changes=demands(positions),
        rests_on=tuple(dict.fromkeys(fact for position in positions for fact in position.rests_on)),
        by=tuple(latest),
        round=last.round,
    )


def demands(positions: Sequence[Position]) -> tuple[str, ...]:
    """Return the positions' demands, without duplicates."""
    return tuple(dict.fromkeys(change for position in positions for change in position.changes))
