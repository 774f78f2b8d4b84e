"""Scores by case: repeats averaged, differences between variants."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean, variance
from typing import Self

from engine.operations.experiments.answer.records import CellResult

MAX_SCORE = 1e50
"""Maximum size of a score; anything beyond, and what is no number, is not scored."""


class ScoreTable:
    """The scores of all cases by one measure."""

    def __init__(self, measure: str) -> None:
        self._measure = measure
        self._scores: defaultdict[str, defaultdict[str, list[float]]]
        self._scores = defaultdict(lambda: defaultdict(list))

    @classmethod
    def of(cls, cells: Iterable[CellResult], measure: str) -> Self:
        """Return the scores of these runs."""
        scores = cls(measure)
        for cell in cells:
            scores.add(cell)
        return scores

    def add(self, cell: CellResult) -> None:
        """Count a run's score, if it has one."""
        score = score_of(cell, self._measure)
        if score is not None:
            self._scores[cell.variant][cell.case].append(score)

    def mean(self, case: str, variant: str) -> float | None:
        """Return the mean over the repeats of a case that have a score."""
        scores = self._scores[variant].get(case)
        return fmean(scores) if scores else None

    def difference(self, case: str, variant: str, base: str) -> float | None:
        """Return how much more the variant scored than the base."""
        one, other = self.mean(case, variant), self.mean(case, base)
        return None if one is None or other is None else subtract(one, other)

    def means(self, variant: str) -> dict[str, float]:
        """Return the means of a variant by case."""
        return {case: fmean(scores) for case, scores in self._scores[variant].items()}

    def spread(self, variant: str) -> float | None:
        """Return the standard deviation between repeats of the same case, pooled; None without repeats."""
        repeated = [scores for scores in self._scores[variant].values() if len(scores) > 1]
        freedom = sum(len(scores) - 1 for scores in repeated)
        squares = sum(variance(scores) * (len(scores) - 1) for scores in repeated)
        return math.sqrt(squares / freedom) if freedom else None

    @property
    def scale(self) -> float:
        """The distance between the lowest and the highest score; 1 if all are from 0 to 1."""
        scores = [score for cases in self._scores.values() for listed in cases.values() for score in listed]
        low, high = min(scores, default=0.0), max(scores, default=1.0)
        return 1.0 if low >= 0 and high <= 1 else high - low


def subtract(one: float, other: float) -> float:
    """Return the difference of two scores, to twelve figures of them: equal ones must be equal."""
    largest = max(abs(one), abs(other))
    return round(one - other, 12 - math.ceil(math.log10(largest))) if largest else 0.0


def score_of(cell: CellResult, measure: str) -> float | None:
    """Return a run's score; None if it was not scored."""
    score = cell.scores.get(measure)
    return None if score is None or not abs(score) <= MAX_SCORE else float(score)
