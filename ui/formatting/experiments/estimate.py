"""What an experiment takes, in words, before it is started."""

from __future__ import annotations

from collections.abc import Iterator

from engine.operations.experiments import Amounts, Estimate, Experiment, Plan, quoted
from ui.formatting.experiments.words import size_words
from ui.formatting.usage import amount_text, dollars
from ui.formatting.values import compact, count

NO_CALLS = 'They call no model.'
CHANGED = {
    'new': 'it is new',
    'version': 'the version of the pattern',
    'cases': 'the cases',
    'parameters': 'parameters',
    'models': 'models',
    'effort': 'reasoning effort',
}
"""The parts of a variant that may have changed since an earlier experiment; others by their names."""


def plan_sentences(plan: Plan, experiment: Experiment) -> list[str]:
    """Return how many runs it makes, what they usually and at most use, and what has changed since before."""
    size = size_words(plan.cases, len(experiment.variants), experiment.repeats)
    judges = f', and up to {count(plan.judges, "run")} of judges' if plan.judges else ''
    reused = f' {count(plan.reused, "run")} of the earlier experiment are used again.' if plan.reused else ''
    lines = [f'{count(plan.runs, "run")} to make ({size}){judges}.{reused}', *_use(plan.estimate)]
    limits = experiment.budget.limits() if experiment.budget else {}
    if limits and plan.estimate.most.calls != 0:
        words = ' or '.join(
            amount_text(kind, value) + ' tokens' * (kind == 'tokens') for kind, value in limits.items()
        )
        lines.append(f'Once {words} are used, no more runs start.')
    for variant, parts in plan.changed.items():
        words = ', '.join(CHANGED.get(part, part) for part in parts)
        lines.append(f'{quoted(variant)} is run again, since this has changed: {words}.')
    return lines


def _use(estimate: Estimate) -> Iterator[str]:
    """Say what runs use, as far as it is known."""
    if estimate.most.calls == 0:
        yield NO_CALLS
        return
    without = ' or '.join(estimate.unknown)
    if estimate.usual is None:
        yield f'What they usually use is not known, since no run of {without} has ended yet.'
    else:
        kind = 'median' if estimate.earlier == 1 else 'medians'
        apart = f', without those of {without}, none of which has ended yet' if without else ''
        runs = count(estimate.earlier, 'earlier run')
        cost = _cost(estimate.usual, 'at a cost that is not known for these models')
        yield f'About {_figures(estimate.usual)}, {cost}, by the {kind} of {runs}{apart}.'
    most, least = estimate.most, round(estimate.least_calls)
    if most.calls is None:
        yield f'At least {count(least, "call")}; nothing bounds how many.'
        return
    calls = f'{compact(least)} to ' if 0 < least < most.calls else ''
    cost = _cost(most, 'at an unknown cost')
    yield f'At worst {calls}{_figures(most)}, {cost}, with all turns and attempts.'


def _figures(amounts: Amounts) -> str:
    calls, tokens = amounts.calls, amounts.tokens
    return ', '.join(
        (
            'an unknown number of calls' if calls is None else count(round(calls), 'call'),
            'an unknown number of tokens' if tokens is None else count(round(tokens), 'token'),
        )
    )


def _cost(amounts: Amounts, unknown: str) -> str:
    return unknown if amounts.dollars is None else dollars(amounts.dollars)
