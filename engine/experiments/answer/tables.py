"""Scores as tables and pictures show them: by case, against cost, and over versions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.experiments.answer.cases import ScoreTable, subtract
from engine.experiments.answer.records import (
    CaseScores,
    CellResult,
    Design,
    Measure,
    TrendPoint,
    VariantSummary,
)


def find_front(summaries: Sequence[VariantSummary], measure: Measure) -> tuple[str, ...]:
    """Return the variants than which none is both better by a measure and cheaper, the cheapest first."""
    sign = -1 if measure.lower_is_better else 1
    points = [
        (summary.dollars, -sign * scores.mean, summary.variant)
        for summary in summaries
        for scores in summary.scores
        if scores.measure == measure.name and scores.mean is not None and summary.dollars is not None
    ]
    front: list[tuple[float, float, str]] = []
    for point in sorted(points):
        if not front or point[1] < front[-1][1] or point[:2] == front[-1][:2]:
            front.append(point)
    return tuple(variant for _, _, variant in front)


def scores_by_case(design: Design, cells: Iterable[CellResult], measure: str = '') -> tuple[CaseScores, ...]:
    """Return what the variants scored on each case, where they disagree most first.

    Args:
        design: what was planned.
        cells: the runs that have ended.
        measure: by default the main one.
    """
    table = ScoreTable.of(cells, measure or design.measures[0].name)
    rows = []
    for case in table.cases:
        scores = {name: table.mean(case, name) for name in (design.base, *design.variants)}
        known = [score for score in scores.values() if score is not None]
        disagreement = subtract(max(known), min(known)) if len(known) > 1 else None
        rows.append(CaseScores(case=case, scores=scores, disagreement=disagreement))
    return tuple(sorted(rows, key=lambda row: (row.disagreement is None, -(row.disagreement or 0.0))))


def find_trend(measure: str, versions: Iterable[tuple[str, Sequence[CellResult]]]) -> tuple[TrendPoint, ...]:
    """Return the scores of versions of a workflow, in the order given, and each change from the one before.

    Versions without a score are left out. A change is over shared cases only: others may have come or gone.
    Takes up to a second: call it in a thread.
    """
    from engine.experiments.answer.paired import interval

    points: list[TrendPoint] = []
    before: dict[str, float] = {}
    for version, cells in versions:
        means = case_means(measure, cells)
        if not means:
            continue
        low, high = interval(list(means.values()))
        changes = [subtract(mean, before[case]) for case, mean in means.items() if case in before]
        change_low, change_high = interval(changes) if changes else (None, None)
        points.append(
            TrendPoint(
                version=version,
                cases=len(means),
                mean=sum(means.values()) / len(means),
                low=low,
                high=high,
                change=sum(changes) / len(changes) if changes else None,
                change_low=change_low,
                change_high=change_high,
            )
        )
        before = means
    return tuple(points)


def case_means(measure: str, cells: Sequence[CellResult]) -> dict[str, float]:
    """Return the mean score of each case that has one, whichever variant ran it."""
    table = ScoreTable.of([replace(cell, variant='') for cell in cells], measure)
    return table.means('')
