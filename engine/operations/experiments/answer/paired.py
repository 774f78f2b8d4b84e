"""Paired differences: their interval, how often chance alone gives them, and how many cases they need.

Imports SciPy, which takes most of a second: others import this module where they use it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from engine.operations.experiments.answer.levels import fewest_cases

RESAMPLES = 9_999
"""Resamples of an interval; also of a p value, which is exact up to 13 cases."""
FEW_RESAMPLES = 1_999
"""Resamples where nothing is decided."""
ROUNDING = 1e-12
"""Differences that are this close, by their size, are equal."""
POWER = 0.8
MAX_CASES = 100_000
"""Maximum number of cases that are said to be needed."""
BATCH = 2_000_000
"""Numbers drawn at a time."""

Differences = NDArray[np.float64]


def interval(differences: Sequence[float] | Differences, resamples: int = RESAMPLES) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean: bias-corrected and accelerated, with a fixed seed.

    If all differences are equal, they are the interval.
    """
    sample = np.asarray(differences, dtype=np.float64)
    if len(sample) < 2 or np.ptp(sample) <= ROUNDING * np.abs(sample).max():
        return float(sample.mean()), float(sample.mean())
    bounds = stats.bootstrap(
        (sample,),
        np.mean,
        n_resamples=resamples,
        batch=batch(len(sample)),
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(bounds.low), float(bounds.high)


def chance(differences: Sequence[float] | Differences, resamples: int = RESAMPLES) -> Any:
    """Return how often a mean as far from 0 comes up if each difference had either sign by chance.

    Args:
        differences: by case, along the last axis.
        resamples: choices of signs to draw; all of them are tried if they are fewer.

    Returns:
        the two-sided p values, one for each of the other axes.
    """
    sample = np.asarray(differences, dtype=np.float64)
    if sample.shape[-1] < 2:
        return np.ones(sample.shape[:-1])
    return stats.permutation_test(
        (sample,),
        _mean,
        permutation_type='samples',
        vectorized=True,
        n_resamples=resamples,
        batch=batch(sample.size),
        axis=-1,
        rng=np.random.default_rng(0),
    ).pvalue


def cases_needed(differences: Sequence[float], worth: float, alpha: float) -> int | None:
    """Return how many cases find a true difference of `worth` in 80 % of experiments.

    By the normal distribution with Guenther's correction for a t test (The American Statistician 35, 1981).

    Returns:
        None if it cannot be said: the differences so far do not vary, or `worth` is 0.
    """
    if len(differences) < 2 or worth <= 0 or not (deviation := float(np.std(differences, ddof=1))):
        return None
    critical, power = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(POWER)
    needed = ((critical + power) * deviation / worth) ** 2 + critical**2 / 2
    return max(fewest_cases(alpha), math.ceil(min(needed, MAX_CASES)))


def batch(size: int) -> int:
    """Return how many resamples of a sample of this size to hold in memory at a time."""
    return max(1, BATCH // max(1, size))


def _mean(sample: Differences, axis: int) -> Any:
    return sample.mean(axis=axis)
