"""How much error is allowed, and how comparisons share it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.operations.experiments.answer.records import Design

ALPHA = 0.05
"""The chance that any variant equal to the base is called different."""
EARLY_ALPHA = 0.01
"""The part of it that stopping early may take; the rest is left for the test at the end."""


def alpha_at_end(design: Design) -> float:
    """Return the chance of error left for the test when all runs have ended."""
    return ALPHA - EARLY_ALPHA if design.early_stop else ALPHA


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for looking at all of them (Holm 1979)."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def fewest_cases(alpha: float) -> int:
    """Return the fewest cases on which anything can be clear, if each says the same."""
    return math.ceil(1 - math.log2(alpha))
