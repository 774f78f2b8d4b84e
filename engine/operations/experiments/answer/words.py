"""Comparisons in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from engine.operations.experiments.answer.levels import alpha_at_end, fewest_cases
from engine.operations.experiments.answer.records import Design, VariantComparison, VariantSummary

ORDER = ('better', 'worse', 'unclear', 'open', 'nothing')


def describe_all(
    design: Design, comparisons: Sequence[VariantComparison], summaries: Mapping[str, VariantSummary]
) -> str:
    """Return the answer in words: what is clear first."""
    if not design.variants:
        return f'There is no variant to compare {called(design, design.base)} with.'
    if not design.cases:
        return 'There are no cases.'
    if not any(summary.runs for summary in summaries.values()):
        return 'No run has ended yet.'
    ordered = sorted(comparisons, key=lambda item: (ORDER.index(item.standing), -abs(item.difference or 0.0)))
    failed = failures(design, summaries[design.base])
    return ' '.join([*(item.text for item in ordered), *failed])


def describe(design: Design, item: VariantComparison, summaries: Mapping[str, VariantSummary]) -> str:
    """Return a comparison as a sentence or two."""
    sentence = _say(design, item, summaries)
    if item.left_out and item.cases:
        sentence += f' {counted(item.left_out, "case")} left out: a run failed or was not scored.'
    if item.measure != design.measures[0].name:
        return f'By {item.measure}: {sentence}'
    cost = '' if item.standing in ('better', 'worse') else _cost(item)
    name = called(design, item.variant)
    notes = [f'{name} {cost}.' if cost else '', *failures(design, summaries[item.variant])]
    return ' '.join([sentence, *filter(None, notes)])


def called(design: Design, variant: str) -> str:
    """Return what a variant is called in sentences."""
    return design.words.get(variant) or quoted(variant)


def quoted(name: str) -> str:
    """Return a name as it stands in a sentence; most names of variants are words of the language."""
    return f'“{name}”'


def failures(design: Design, summary: VariantSummary) -> Iterator[str]:
    """Say how many runs of a variant failed, if some did and others did not."""
    if 0 < summary.failed < summary.runs:
        runs = counted(summary.runs, 'run')
        yield f'{summary.failed} of {runs} of {called(design, summary.variant)} failed.'


def _say(design: Design, item: VariantComparison, summaries: Mapping[str, VariantSummary]) -> str:
    base, name = called(design, design.base), called(design, item.variant)
    if item.difference is None or item.low is None or item.high is None:
        return _say_why_nothing(design, item, summaries)
    cases = counted(item.cases, 'case')
    if item.standing in ('better', 'worse'):
        early = f' of {design.cases}, clear before the end' if item.settled else ''
        by, low, high = figures(*sorted_by_size(item.difference, item.low, item.high))
        cost = _cost(item) if item.measure == design.measures[0].name else ''
        cost = f', and {cost}' if cost else ''
        return f'{name} is {item.standing} than {base} by {by} ({low} to {high}) on {cases}{early}{cost}.'
    by, low, high = figures(item.difference, item.low, item.high)
    span = f'difference {by}, {low} to {high}'
    if item.standing == 'open':
        return (
            f'{name} against {base} so far, on {cases} of {design.cases}: {span}.'
            ' Nothing is concluded from a part of the runs.'
        )
    if item.low == item.high == 0:
        return f'{name} and {base} scored the same on {"each of " if item.cases > 1 else ""}{cases}.'
    fewest = fewest_cases(alpha_at_end(design) / len(design.variants))
    if item.cases < fewest:
        more = (item.cases_needed or 0) > fewest
        needed = _needed(item, ', and some {} to see a difference of {}') if more else ''
        return f'{cases} cannot tell {name} from {base} ({span}): at least {fewest} are needed{needed}.'
    needed = _needed(item, '; some {} would be needed for {}', '; one of {1} would probably have been seen')
    return f'No difference between {name} and {base} can be seen with {cases} ({span}){needed}.'


def _say_why_nothing(design: Design, item: VariantComparison, summaries: Mapping[str, VariantSummary]) -> str:
    base, variant = called(design, design.base), called(design, item.variant)
    for name, summary in ((variant, summaries[item.variant]), (base, summaries[design.base])):
        if not summary.runs:
            return f'No run of {name} has ended yet.'
        scores = next(scores for scores in summary.scores if scores.measure == item.measure)
        if not scores.cases and summary.failed == summary.runs:
            return f'Every run of {name} failed ({summary.runs}).'
        if not scores.cases:
            return f'No run of {name} was scored.'
    return f'{variant} and {base} have no case on which both were scored.'


def _needed(item: VariantComparison, more: str, enough: str = '') -> str:
    if item.cases_needed is None or item.worth is None:
        return ''
    text = more if item.cases_needed > item.cases else enough
    return text.format(rounded(item.cases_needed), plain(item.worth))


def _cost(item: VariantComparison) -> str:
    ratio = item.cost_ratio
    if ratio is None or 0.95 <= ratio <= 1.05:
        return ''
    return f'costs {plain(ratio)} times as much' if ratio > 1 else f'costs {1 - ratio:.0%} less'


def sorted_by_size(difference: float, low: float, high: float) -> tuple[float, float, float]:
    """Return a difference and its interval without their sign."""
    return (difference, low, high) if difference >= 0 else (-difference, -high, -low)


def figures(difference: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a difference and its interval, with two figures of the interval's width."""
    width = high - low or abs(difference)
    decimals = max(0, min(9, 1 - math.floor(math.log10(width)))) if width else 0
    by, least, most = (f'{value + 0.0:,.{decimals}f}' for value in (difference, low, high))
    return by, least, most


def plain(value: float) -> str:
    """Return a number with two figures: 0.05, 1.8, 240."""
    decimals = max(0, min(9, 1 - math.floor(math.log10(abs(value))))) if value else 0
    text = f'{float(f"{value:.2g}"):,.{decimals}f}'
    return text.rstrip('0').rstrip('.') if '.' in text else text


def rounded(count: int) -> str:
    """Return a number of cases with two figures."""
    return f'{int(float(f"{count:.2g}")):,}'


def counted(count: int, noun: str) -> str:
    """Return a number and its noun: `1 case`, `40 cases`."""
    return f'{count:,} {noun}{"" if count == 1 else "s"}'
