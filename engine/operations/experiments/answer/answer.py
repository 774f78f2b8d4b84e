"""Answers from the runs of an experiment: which variant is better, by how much, is it clear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from engine.operations.experiments.answer.cases import ScoreTable, score_of
from engine.operations.experiments.answer.levels import alpha_at_end, holm
from engine.operations.experiments.answer.records import (
    Answer,
    CellResult,
    Design,
    Measure,
    ScoreSummary,
    VariantComparison,
    VariantSummary,
)
from engine.operations.experiments.answer.sequential import EarlyStop
from engine.operations.experiments.answer.words import describe, describe_all


def find_answer(design: Design, cells: Iterable[CellResult], *, cut_short: bool = False) -> Answer:
    """Return what the runs say that have ended. Takes up to a second: call it in a thread.

    Nothing is concluded before all runs of a variant have ended, unless the design may stop early.

    Args:
        design: what was planned.
        cells: the runs that have ended, in any order.
        cut_short: no more will come, for a reason other than their scores, such as the budget.
    """
    ended = sorted(cells, key=lambda cell: (cell.ended, cell.case, cell.repeat))
    summaries = {name: _summary(design, name, ended) for name in (design.base, *design.variants)}
    comparisons = [
        replace(item, text=describe(design, item, summaries))
        for measure in design.measures
        for item in _Comparer(design, measure, ended, cut_short).compare_all()
    ]
    main = comparisons[: len(design.variants)]
    better = [item for item in main if item.standing == 'better']
    best = max(better, key=lambda item: abs(item.difference or 0.0), default=None)
    return Answer(
        variants=tuple(summaries.values()),
        comparisons=tuple(comparisons),
        best=best.variant if best else '',
        text=describe_all(design, main, summaries),
    )


def _summary(design: Design, variant: str, cells: Sequence[CellResult]) -> VariantSummary:
    own = [cell for cell in cells if cell.variant == variant]
    dollars = [cell.dollars for cell in own if cell.dollars is not None]
    return VariantSummary(
        variant=variant,
        runs=len(own),
        failed=sum(cell.failed for cell in own),
        scores=tuple(_score_summary(measure.name, variant, own) for measure in design.measures),
        dollars=fmean(dollars) if own and len(dollars) == len(own) else None,
        tokens=fmean(cell.tokens for cell in own) if own else None,
        seconds=fmean(cell.seconds for cell in own) if own else None,
    )


def _score_summary(measure: str, variant: str, cells: Sequence[CellResult]) -> ScoreSummary:
    scores = ScoreTable.of(cells, measure)
    means = scores.means(variant)
    return ScoreSummary(
        measure=measure,
        cases=len(means),
        not_scored=sum(not cell.failed and score_of(cell, measure) is None for cell in cells),
        mean=fmean(means.values()) if means else None,
        spread=scores.spread(variant),
    )


@dataclass(frozen=True, slots=True)
class Weighed:
    """What differences say on their own."""

    p: float
    low: float
    high: float


@lru_cache(maxsize=64)
def weigh(differences: tuple[float, ...], decides: bool) -> Weighed:
    """Return the p value and the interval of differences, from more resamples if something is decided."""
    from engine.operations.experiments.answer.paired import FEW_RESAMPLES, RESAMPLES, chance, interval

    resamples = RESAMPLES if decides else FEW_RESAMPLES
    low, high = interval(differences, resamples)
    return Weighed(p=float(chance(differences, resamples)), low=low, high=high)


class _Comparer:
    """Compares the variants with the base by one measure."""

    def __init__(
        self, design: Design, measure: Measure, cells: Sequence[CellResult], cut_short: bool
    ) -> None:
        self._design, self._measure, self._cut_short = design, measure, cut_short
        self._scores = ScoreTable.of(cells, measure.name)
        self._cells = cells
        self._cases = {
            name: dict.fromkeys(cell.case for cell in cells if cell.variant == name)
            for name in (design.base, *design.variants)
        }
        self._counts = {name: sum(cell.variant == name for cell in cells) for name in self._cases}
        self._early = EarlyStop(replace(design, measures=(measure,)))
        self._alpha = alpha_at_end(design)
        self._is_main = measure is design.measures[0]
        if design.early_stop and self._is_main:
            for cell in cells:
                self._early.add(cell)

    def compare_all(self) -> list[VariantComparison]:
        """Return the comparison of each variant."""
        pairs = {variant: self._differences(variant) for variant in self._design.variants}
        settled = self._early.settled
        ended = {variant for variant in pairs if variant in settled or self._has_ended(variant)}
        weighed = {
            variant: weigh(tuple(differences), self._is_main and variant in ended)
            for variant, differences in pairs.items()
            if differences
        }
        concluded = ended & weighed.keys()
        at_end = [
            0.0 if variant in settled else weighed[variant].p if variant in concluded else 1.0
            for variant in pairs
        ]
        by_end = zip(pairs, zip(at_end, holm(at_end), strict=True), strict=True)
        p_values = {variant: each for variant, each in by_end if variant in concluded}
        early = self._early.p_values
        by_time = zip(pairs, zip(early, holm(early), strict=True), strict=True)
        p_values |= {variant: each for variant, each in by_time if variant in settled}
        comparisons = []
        for variant, differences in pairs.items():
            p, adjusted = p_values.get(variant, (None, None))
            item = VariantComparison(
                measure=self._measure.name,
                variant=variant,
                cases=len(differences),
                left_out=len(self._both(variant)) - len(differences),
                settled=variant in settled,
                p=p,
                adjusted_p=adjusted,
                cost_ratio=self._cost_ratio(variant),
                standing='open' if differences else 'nothing',
            )
            if differences:
                item = self._judge(item, differences, weighed[variant])
            comparisons.append(item)
        return comparisons

    def _judge(
        self, item: VariantComparison, differences: Sequence[float], weighed: Weighed
    ) -> VariantComparison:
        """Return a comparison with its difference, and its standing if it is not open."""
        from engine.operations.experiments.answer.paired import cases_needed

        difference, standing = fmean(differences), item.standing
        if item.adjusted_p is not None:
            excludes_zero = weighed.low > 0 or weighed.high < 0
            standing = 'unclear'
            if item.settled or (item.adjusted_p <= self._alpha and excludes_zero):
                standing = 'better' if (difference < 0) == self._measure.lower_is_better else 'worse'
        worth = self._measure.worth or float(f'{self._scores.scale / 20:.1g}')
        return replace(
            item,
            difference=difference,
            low=weighed.low,
            high=weighed.high,
            standing=standing,
            worth=worth,
            cases_needed=cases_needed(differences, worth, self._alpha / len(self._design.variants)),
        )

    def _both(self, variant: str) -> list[str]:
        base = self._cases[self._design.base]
        return [case for case in self._cases[variant] if case in base]

    def _differences(self, variant: str) -> list[float]:
        base = self._design.base
        each = (self._scores.difference(case, variant, base) for case in self._both(variant))
        return [difference for difference in each if difference is not None]

    def _has_ended(self, variant: str) -> bool:
        planned = self._design.cases * self._design.repeats
        return self._cut_short or min(self._counts[variant], self._counts[self._design.base]) >= planned

    def _cost_ratio(self, variant: str) -> float | None:
        both = set(self._both(variant))
        sums = {}
        for name in (variant, self._design.base):
            dollars = [cell.dollars for cell in self._cells if cell.variant == name and cell.case in both]
            known = [cost for cost in dollars if cost is not None]
            if not known or len(known) < len(dollars):
                return None
            sums[name] = fmean(known)
        base = sums[self._design.base]
        return sums[variant] / base if base > 0 else None
