"""Scores over versions of a workflow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.operations.experiments.answer.cases import ScoreTable, subtract
from engine.operations.experiments.answer.records import CellResult, TrendPoint


def find_trend(measure: str, versions: Iterable[tuple[str, Sequence[CellResult]]]) -> tuple[TrendPoint, ...]:
    """Return the scores of versions of a workflow, in the order given, and each change from the one before.

    Versions without a score are left out. A change is over shared cases only: others may have come or gone.
    Takes up to a second: call it in a thread.
    """
    from engine.operations.experiments.answer.paired import interval

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
