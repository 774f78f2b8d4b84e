"""When a debate has come to a consensus, and what it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.debate.records import Consensus, DebateMemory, Position, Said

FEWEST = 2
"""Reviewers that it takes to agree: nobody agrees alone."""


def cleaned(position: Position, names: Collection[str]) -> Position:
    """The position without names that nobody bears, and none named twice."""
    ranking = tuple(dict.fromkeys(name for name in position.ranking if name in names))
    best = position.best if position.best in names else ''
    return position.model_copy(update={'ranking': ranking, 'best': best})


def latest(memory: DebateMemory, reviewers: Sequence[str]) -> dict[str, Said]:
    """The latest word of each reviewer in the current debate; of those who are absent, none."""
    return {
        said.speaker: said
        for said in memory.heard()
        if said.speaker in reviewers and said.speaker not in memory.debate.absent
    }


def is_agreed(memory: DebateMemory, reviewers: Sequence[str]) -> bool:
    """Whether the reviewers agree.

    Each who is present, and at least two, has taken a position in this debate; all latest positions have
    the same verdict, a decided one, and name no different implementations where the verdict is about one;
    and who spoke last says that it agrees.
    """
    words = latest(memory, reviewers)
    present = [reviewer for reviewer in reviewers if reviewer not in memory.debate.absent]
    if len(present) < FEWEST or set(words) != set(present):
        return False
    positions = [said.position for said in words.values()]
    if any(position is None or position.verdict == 'UNDECIDED' for position in positions):
        return False
    verdicts = {position.verdict for position in positions if position}
    bests = {position.best for position in positions if position and position.best}
    last = memory.heard()[-1].position
    same = len(verdicts) == 1 and (len(bests) <= 1 or verdicts == {'REVISE_ALL'})
    return same and last is not None and last.agrees


def agreed(memory: DebateMemory, reviewers: Sequence[str]) -> Consensus:
    """What they agree on: the verdict of all, the words of the last, the demands of each."""
    words = latest(memory, reviewers)
    positions = [said.position for said in words.values() if said.position]
    last = memory.heard()[-1]
    assert last.position is not None
    return Consensus(
        debate=memory.debate.number,
        verdict=last.position.verdict,
        best=next((position.best for position in reversed(positions) if position.best), ''),
        text=last.text,
        changes=demands(positions),
        rests_on=tuple(dict.fromkeys(fact for position in positions for fact in position.rests_on)),
        by=tuple(words),
        round=last.round,
    )


def demands(positions: Sequence[Position]) -> tuple[str, ...]:
    """What the positions ask for, each demand once."""
    return tuple(dict.fromkeys(change for position in positions for change in position.changes))
