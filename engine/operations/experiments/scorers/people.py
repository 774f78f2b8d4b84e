"""People: a scorer that takes what people think of a run."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field
from typing_extensions import override

from engine.operations.experiments.records import Mark, Score
from engine.operations.experiments.scorers.base import Evidence, Scorer


class People(Scorer):
    """The mean of people's marks; it waits until there are enough."""

    compare: bool = False
    """Whether people compare the run with that of the first variant, without knowing which is which; the
    first variant itself then scores 0.5."""
    at_least: int = Field(1, ge=1, le=100)
    """How many people have to mark a run."""

    @override
    async def score(self, evidence: Evidence) -> Score:
        if self.compare and evidence.is_first:
            return Score(value=0.5, reason='it is what the others are compared with')
        counted = [
            (mark, mark.value if mark.cell == evidence.cell else 1 - mark.value)
            for mark in latest_marks(evidence.marks)
            if mark.value is not None and bool(mark.over) is self.compare
        ]
        if len(counted) < self.at_least:
            return Score(reason=f'marked by {len(counted)} of {self.at_least}', waits=True)
        comments = [f'{mark.author}: {mark.comment}'.strip(': ') for mark, _ in counted if mark.comment]
        return Score(value=sum(value for _, value in counted) / len(counted), reason='\n'.join(comments))


def latest_marks(marks: Iterable[Mark]) -> list[Mark]:
    """Return the last mark of each person for each cell or pair of cells, oldest first."""
    latest: dict[tuple[str, frozenset[str]], Mark] = {}
    for mark in sorted(marks, key=lambda mark: mark.created):
        if mark.value is not None:
            latest[mark.author, frozenset((mark.cell, mark.over))] = mark
    return [*latest.values()]
