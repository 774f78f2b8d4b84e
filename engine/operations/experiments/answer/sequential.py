"""A test that may be looked at after every case: when is a difference clear?

If two variants are equal, which of them is ahead on a case is a fair coin, whatever the distance `d`. So each
`exp(c d) / cosh(c d)` has the mean 1, their product over cases is a fair bet against that, and by Ville's
inequality the chance that it ever reaches `1/a` is at most `a`. This is the e-test of symmetry of Vovk and
Wang ("Nonparametric E-tests of Symmetry", New England Journal of Statistics in Data Science 2, 2024), after
de la Peña (Annals of Probability 27, 1999). `c` is averaged over `BETS`, both ways, in units of the root mean
square of the distances so far: that may depend on distances, since only signs are chance.
"""

from __future__ import annotations

import math
from collections import defaultdict

from engine.operations.experiments.answer.cases import ScoreTable
from engine.operations.experiments.answer.levels import EARLY_ALPHA, holm
from engine.operations.experiments.answer.records import CellResult, Design

BETS = (0.25, 0.5, 1.0)


class SymmetryTest:
    """Whether differences lean to one side, tested after each."""

    def __init__(self) -> None:
        self._logs = dict.fromkeys((*BETS, *(-bet for bet in BETS)), 0.0)
        self._squares, self._count, self._highest = 0.0, 0, 1.0

    @property
    def wealth(self) -> float:
        """What a bet of 1 against symmetry has become."""
        return sum(math.exp(min(value, 700.0)) for value in self._logs.values()) / len(self._logs)

    @property
    def p(self) -> float:
        """The p value, valid at any time: at most `a` with a chance of at most `a` if there is no lean."""
        return 1 / self._highest

    def add(self, difference: float) -> None:
        """Count the difference of one more case."""
        self._count += 1
        self._squares += difference**2
        if not self._squares:
            return
        size = difference / math.sqrt(self._squares / self._count)
        for bet in self._logs:
            lean = bet * size
            self._logs[bet] += lean - abs(lean) - math.log1p(math.exp(-2 * abs(lean))) + math.log(2)
        self._highest = max(self._highest, self.wealth)


class EarlyStop:
    """Which variants need not be run further, told with each run that has ended."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._scores = ScoreTable(design.measures[0].name)
        self._tests = {variant: SymmetryTest() for variant in design.variants}
        self._ended: defaultdict[tuple[str, str], int] = defaultdict(int)

    @property
    def p_values(self) -> list[float]:
        """The p value of each variant, valid at any time."""
        return [test.p for test in self._tests.values()]

    @property
    def settled(self) -> tuple[str, ...]:
        """The variants that are clearly better or worse than the base by the main measure."""
        adjusted = holm(self.p_values)
        return tuple(variant for variant, p in zip(self._tests, adjusted, strict=True) if p <= EARLY_ALPHA)

    def add(self, cell: CellResult) -> None:
        """Count a run that has ended and was scored. A case counts once it has all its repeats."""
        self._scores.add(cell)
        self._ended[cell.case, cell.variant] += 1
        if self._ended[cell.case, cell.variant] != self._design.repeats:
            return
        base = self._design.base
        for variant in self._design.variants if cell.variant == base else (cell.variant,):
            other = base if cell.variant != base else variant
            if variant in self._tests and self._ended[cell.case, other] >= self._design.repeats:
                difference = self._scores.difference(cell.case, variant, base)
                if difference is not None:
                    self._tests[variant].add(difference)
