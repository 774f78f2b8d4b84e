"""Paths of variants compared: where they part, and what runs scored that went a certain way.

Imports NumPy and SciPy: import it where it is used, and call it in a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.operations.experiments.answer.levels import ALPHA, holm
from engine.operations.experiments.answer.paired import RESAMPLES, ROUNDING, batch
from engine.operations.experiments.answer.path_records import (
    Parting,
    PathAnswer,
    Place,
    PlaceStats,
    PlaceUse,
    RunPath,
)
from engine.operations.experiments.answer.way_effects import find_effects
from engine.records import Dwell

Counts = NDArray[np.int64]


def compare_paths(base: str, variants: Sequence[str], runs: Iterable[RunPath]) -> PathAnswer:
    """Return where the paths of variants part from those of the base. Takes seconds for thousands of runs."""
    names = (base, *variants)
    listed = [run for run in runs if run.variant in names]
    places = _places(listed)
    counts = _count(listed, places)
    splits = [_split(counts[:, place]) for place in range(len(places))]
    gaps: dict[tuple[str, bytes], tuple[float, float]] = {}
    for variant in variants:
        for split, gap_and_p in _part(
            listed, dict(zip(splits, counts.T, strict=True)), base, variant
        ).items():
            gaps[variant, split] = gap_and_p
    adjusted = dict(zip(gaps, holm([p for _, p in gaps.values()]), strict=True))
    stats = []
    for index, (place, split) in enumerate(zip(places, splits, strict=True)):
        partings = []
        for variant in variants:
            gap, p = gaps.get((variant, split), (0.0, 1.0))[0], adjusted.get((variant, split), 1.0)
            partings.append(Parting(variant=variant, gap=gap, adjusted_p=p, clear=p <= ALPHA))
        uses = tuple(_use(name, place, counts[:, index], listed) for name in names)
        stats.append(PlaceStats(place=place, uses=uses, partings=tuple(partings)))
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
    runs: Sequence[RunPath], columns: Mapping[bytes, Counts], base: str, variant: str
) -> dict[bytes, tuple[float, float]]:
    """Return the gap by split of the runs, and how often chance gives one as large; none where all are alike.

    If the variants are alike, they may be swapped in any case: so many gaps of swapped cases are compared.
    """
    numbers: dict[str, dict[str, int]] = {name: {} for name in (base, variant)}
    for run in runs:
        if run.variant in numbers:
            of = numbers[run.variant]
            of[run.case] = of.get(run.case, 0) + 1
    cases = [case for case in numbers[variant] if case in numbers[base]]
    place = {case: index for index, case in enumerate(cases)}
    rows = [row for row, run in enumerate(runs) if run.variant in numbers and run.case in place]
    case_of = np.array([place[runs[row].case] for row in rows], dtype=np.int64)
    weights = np.array(
        [
            (1 if runs[row].variant == variant else -1)
            / numbers[runs[row].variant][runs[row].case]
            / len(cases)
            for row in rows
        ]
    )
    shares = {}
    for split, column in columns.items():
        levels, level_of = np.unique(_grades(column[rows]), return_inverse=True)
        share = np.zeros((len(cases), len(levels)))
        np.add.at(share, (case_of, level_of), weights)
        share[np.abs(share) < ROUNDING] = 0.0
        if share.any():
            shares[split] = share
    return dict(zip(shares, _gaps([*shares.values()]), strict=True)) if shares else {}


def _split(counts: Counts) -> bytes:
    """Return how a place splits the runs: equal for places that tell them apart alike, which count once."""
    order: dict[int, int] = {}
    return np.array([order.setdefault(grade, len(order)) for grade in _grades(counts).tolist()]).tobytes()


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
    stays = [run.stats.stays.get(place.source, Dwell()) for run, _ in own] if place.dest is None else []
    dollars = [stay.dollars for stay in stays]
    return PlaceUse(
        variant=variant,
        runs=sum(count > 0 for _, count in own),
        of=len(own),
        times=sum(count for _, count in own) / len(own) if own else 0.0,
        seconds=_mean([stay.seconds for stay in stays]),
        tokens=_mean([stay.tokens for stay in stays]),
        dollars=None if None in dollars else _mean(dollars),
        score=_mean([run.score for run, count in own if count]),
        other_score=_mean([run.score for run, count in own if not count]),
    )


def _mean(scores: Sequence[float | None]) -> float | None:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None
