"""Paths of variants compared: where they part, and what runs scored that went a certain way.

Imports NumPy and SciPy: import it where it is used, and call it in a thread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.experiments.answer.levels import ALPHA, holm
from engine.experiments.answer.paired import RESAMPLES, batch
from engine.experiments.answer.path_records import (
    Parting,
    PathAnswer,
    Place,
    PlaceStats,
    PlaceUse,
    RunPath,
)
from engine.experiments.answer.way_effects import find_effects

Counts = NDArray[np.int64]


def compare_paths(base: str, variants: Sequence[str], runs: Iterable[RunPath]) -> PathAnswer:
    """Return where the paths of variants part from those of the base. Takes seconds for thousands of runs."""
    names = (base, *variants)
    listed = [run for run in runs if run.variant in names]
    places = _places(listed)
    counts = _count(listed, places)
    partings: list[tuple[str, NDArray[np.float64], NDArray[np.float64]]] = []
    for variant in variants:
        gaps, p_values = _part(listed, counts, base, variant)
        partings.append((variant, gaps, p_values))
    adjusted = holm([float(p) for _, _, p_values in partings for p in p_values])
    stats = []
    for index, place in enumerate(places):
        each = [
            Parting(
                variant=variant,
                gap=float(gaps[index]),
                adjusted_p=adjusted[order * len(places) + index],
                clear=adjusted[order * len(places) + index] <= ALPHA,
            )
            for order, (variant, gaps, _) in enumerate(partings)
        ]
        uses = tuple(_use(name, place, counts[:, index], listed) for name in names)
        stats.append(PlaceStats(place=place, uses=uses, partings=tuple(each)))
    stats.sort(key=lambda item: (-item.gap, item.place.source, item.place.dest or ''))
    return PathAnswer(places=tuple(stats), effects=find_effects(names, listed, places, counts))


def _places(runs: Sequence[RunPath]) -> list[Place]:
    """Return all states, then all edges, that any run visited."""
    states = sorted({path for run in runs for path in run.stats.stays})
    edges = sorted({ends for run in runs for ends in run.stats.edges})
    return [
        *(Place(source=path) for path in states),
        *(Place(source=source, dest=dest) for source, dest in edges),
    ]


def _count(runs: Sequence[RunPath], places: Sequence[Place]) -> Counts:
    """Return how often each run was at each place."""
    column = {place: index for index, place in enumerate(places)}
    counts = np.zeros((len(runs), len(places)), dtype=np.int64)
    for row, run in enumerate(runs):
        for path, stay in run.stats.stays.items():
            counts[row, column[Place(source=path)]] = stay.visits
        for (source, dest), times in run.stats.edges.items():
            counts[row, column[Place(source=source, dest=dest)]] = times
    return counts


def _part(
    runs: Sequence[RunPath], counts: Counts, base: str, variant: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gap at each place, and how often chance gives one as large.

    If the variants are alike, they may be swapped in any case: so many gaps of swapped cases are compared.
    """
    rows: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, run in enumerate(runs):
        rows[run.variant][run.case].append(row)
    cases = [case for case in rows[variant] if case in rows[base]]
    gaps, p_values = np.zeros(counts.shape[1]), np.ones(counts.shape[1])
    if not cases:
        return gaps, p_values
    sides = [(1.0, rows[variant]), (-1.0, rows[base])]
    weights = np.zeros((len(cases), len(runs)))
    for index, case in enumerate(cases):
        for sign, of in sides:
            weights[index, of[case]] = sign / len(of[case]) / len(cases)
    columns = [_grades(counts[:, place]) for place in range(counts.shape[1])]
    shares: dict[bytes, NDArray[np.float64]] = {}
    for column in columns:  # Places that all runs use alike are looked at once.
        if column.tobytes() not in shares:
            shares[column.tobytes()] = weights @ (column[:, None] == np.unique(column)).astype(np.float64)
    known = dict(zip(shares, _gaps(list(shares.values())), strict=True))
    for place, column in enumerate(columns):
        gaps[place], p_values[place] = known[column.tobytes()]
    return gaps, p_values


def _gaps(shares: Sequence[NDArray[np.float64]]) -> list[tuple[float, float]]:
    """Return for each place its gap, and how often chance gives one as large.

    Args:
        shares: by place, with a row for each case and a column for each number of visits: how much more often
            the variant's runs have it than the base's.
    """
    gaps = np.array([np.abs(place.sum(axis=0)).sum() / 2 for place in shares])
    reached = np.ones(len(shares))
    rng, left, cases = np.random.default_rng(0), RESAMPLES, len(shares[0])
    while left:
        size = min(left, batch(cases))
        signs = rng.integers(0, 2, size=(size, cases), dtype=np.int8).astype(np.float32) * 2 - 1
        for index, place in enumerate(shares):
            swapped = np.abs(signs @ place.astype(np.float32)).sum(axis=1) / 2
            reached[index] += np.count_nonzero(swapped >= gaps[index] - 1e-5)
        left -= size
    return [(float(gap), float(count) / (1 + RESAMPLES)) for gap, count in zip(gaps, reached, strict=True)]


def _grades(counts: Counts) -> Counts:
    """Return counts up to 3 as they are, and larger ones by powers of two, so that there are few."""
    large = np.floor(np.log2(np.maximum(counts, 1))).astype(np.int64)
    return np.where(counts < 4, counts, large + 2)


def _use(variant: str, place: Place, counts: Counts, runs: Sequence[RunPath]) -> PlaceUse:
    own = [(run, int(count)) for run, count in zip(runs, counts, strict=True) if run.variant == variant]
    seconds = [run.stats.stays[place.source].seconds for run, count in own if count and place.dest is None]
    return PlaceUse(
        variant=variant,
        runs=sum(count > 0 for _, count in own),
        of=len(own),
        times=sum(count for _, count in own) / len(own) if own else 0.0,
        seconds=sum(seconds) / len(own) if own and place.dest is None else None,
        score=_mean([run.score for run, count in own if count]),
        other_score=_mean([run.score for run, count in own if not count]),
    )


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None
