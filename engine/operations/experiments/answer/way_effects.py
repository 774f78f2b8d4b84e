"""What runs scored that went a certain way, against others of the same variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from engine.operations.experiments.answer.levels import ALPHA, holm
from engine.operations.experiments.answer.paired import RESAMPLES, batch, chance, interval
from engine.operations.experiments.answer.path_records import Place, RunPath, WayEffect
from engine.operations.experiments.answer.words import counted, figures, quoted, sorted_by_size

MIN_CASES = 5
"""The fewest cases on either side about which something is said."""
MIN_SHARED = 6
"""The fewest cases with both kinds of runs to compare within cases."""
OFTEN = (1, 2)
"""How often a run must have been at a place: once, and at least twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """Runs of a variant that went a certain way, and its others."""

    variant: str
    place: Place
    at_least: int
    cases: NDArray[np.int64]
    """The case of each run, as a number."""
    went: NDArray[np.bool_]
    scores: NDArray[np.float64]

    def within_cases(self) -> list[float]:
        """Return the differences in cases with both kinds of runs."""
        (runs, sums), (others, other_sums) = self._sums(self.went), self._sums(~self.went)
        both = (runs > 0) & (others > 0)
        differences = sums[both] / runs[both] - other_sums[both] / others[both]
        return [float(difference) for difference in differences]

    def by_case(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return for each case the share of runs that went this way, and the mean score."""
        went, (runs, sums) = self._sums(self.went)[0], self._sums(np.ones_like(self.went))
        return went / runs, sums / runs

    def _sums(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return by case the number of these runs, and the sum of their scores."""
        size = int(self.cases.max()) + 1
        counts = np.bincount(self.cases[chosen], minlength=size)
        sums = np.bincount(self.cases[chosen], weights=self.scores[chosen], minlength=size)
        return counts, sums.astype(np.float64)


def find_effects(
    variants: Sequence[str], runs: Sequence[RunPath], places: Sequence[Place], counts: NDArray[np.int64]
) -> tuple[WayEffect, ...]:
    """Return what can be said of runs that were at a place once, or twice and more; the largest first.

    Runs of the same case are compared, if enough cases have both kinds; otherwise cases are. Holm's
    adjustment is over all that are looked at; places that the same runs went to count once.
    """
    routes, p_values = [], []
    for variant in variants:
        own = list(_routes(variant, runs, places, counts))
        routes += own
        p_values += _chances(own)
    adjusted = holm(p_values)
    effects = []
    for route, p in zip(routes, adjusted, strict=True):
        if p <= ALPHA:
            effect = _effect(route, p)
            if effect.low > 0 or effect.high < 0:
                effects.append(effect)
    return tuple(sorted(effects, key=lambda effect: -abs(effect.difference)))


def _routes(
    variant: str, runs: Sequence[RunPath], places: Sequence[Place], counts: NDArray[np.int64]
) -> Iterator[_Route]:
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    rows = [row for row, run in enumerate(runs) if run.variant == variant and run.score is not None]
    cases = np.array([numbers[runs[row].case] for row in rows], dtype=np.int64)
    scores = np.array([runs[row].score for row in rows], dtype=np.float64)
    seen = set()
    for index, place in enumerate(places):
        for at_least in OFTEN:
            went = counts[rows, index] >= at_least
            sides = len(set(cases[went])), len(set(cases[~went]))
            if min(sides) < MIN_CASES or went.tobytes() in seen:
                continue
            seen.add(went.tobytes())
            yield _Route(
                variant=variant, place=place, at_least=at_least, cases=cases, went=went, scores=scores
            )


def _chances(routes: Sequence[_Route]) -> list[float]:
    """Return how often chance gives such a difference, for the routes of one variant."""
    within = [route.within_cases() for route in routes]
    p_values = [
        float(chance(differences)) if len(differences) >= MIN_SHARED else None for differences in within
    ]
    between = [route.by_case() for route, p in zip(routes, p_values, strict=True) if p is None]
    if not between:
        return [p for p in p_values if p is not None]
    shuffled = iter(chances_between(np.array([shares for shares, _ in between]), between[0][1]))
    return [next(shuffled) if p is None else p for p in p_values]


def chances_between(shares: NDArray[np.float64], means: NDArray[np.float64]) -> list[float]:
    """Return how often scores shuffled among cases go with each route as much as these.

    Args:
        shares: by route and case.
        means: by case.
    """
    centred = means - means.mean()
    slack = 1e-9 * np.abs(shares).sum(axis=1) * np.abs(centred).max()
    least = (np.abs(shares @ centred) - slack)[:, None]
    reached, left, rng = np.ones(len(shares)), RESAMPLES, np.random.default_rng(0)
    while left:
        size = min(left, batch(len(means)))
        shuffled = rng.permuted(np.tile(centred, (size, 1)), axis=1)
        reached += (np.abs(shares @ shuffled.T) >= least).sum(axis=1)
        left -= size
    return [float(count) / (1 + RESAMPLES) for count in reached]


def _slope(shares: Any, means: Any, axis: int = -1) -> Any:
    """Return how much more cases score if all of their runs went this way, by least squares."""
    centred = shares - shares.mean(axis=axis, keepdims=True)
    spread = (centred**2).sum(axis=axis)
    return (centred * means).sum(axis=axis) / np.where(spread > 0, spread, np.inf)


def _effect(route: _Route, p: float) -> WayEffect:
    differences = route.within_cases()
    is_same = len(differences) >= MIN_SHARED
    if is_same:
        difference = float(np.mean(differences))
        low, high = interval(differences)
    else:
        shares, means = route.by_case()
        difference = float(_slope(shares, means))
        bounds = stats.bootstrap(
            (shares, means),
            _slope,
            paired=True,
            vectorized=True,
            method='percentile',
            n_resamples=RESAMPLES,
            batch=batch(len(shares)),
            rng=np.random.default_rng(0),
        ).confidence_interval
        low, high = float(bounds.low), float(bounds.high)
    went = int(route.went.sum())
    effect = WayEffect(
        variant=route.variant,
        place=route.place,
        at_least=route.at_least,
        runs=went,
        others=len(route.went) - went,
        difference=difference,
        low=low,
        high=high,
        adjusted_p=p,
        same_cases=is_same,
        text='',
    )
    return replace(effect, text=_say(effect))


def _say(effect: WayEffect) -> str:
    by, low, high = figures(*sorted_by_size(effect.difference, effect.low, effect.high))
    preposition = 'through' if effect.place.dest is None else 'from'
    often = ' at least twice' if effect.at_least > 1 else ''
    than = 'higher' if effect.difference > 0 else 'lower'
    cases = 'of the same cases' if effect.same_cases else 'of other cases, which may be why'
    runs = f'{counted(effect.runs, "run")} of {quoted(effect.variant)}'
    course = f'that went {preposition} {effect.place}{often}'
    return f'{runs} {course} scored {by} {than} ({low} to {high}) than {effect.others:,} others {cases}.'
