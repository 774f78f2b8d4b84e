"""What an experiment takes, in words, before it is started."""

from __future__ import annotations

from engine.operations.experiments import Experiment, Plan, quoted
from ui.formatting.experiments.words import size_words
from ui.formatting.usage import dollars
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
    """Return how many runs it makes, what they use at most, and what has changed since an earlier one."""
    size = size_words(plan.cases, len(experiment.variants), experiment.repeats)
    reused = f' {count(plan.reused, "run")} of the earlier experiment are used again.' if plan.reused else ''
    bound = plan.bound
    most = [
        'an unknown number of calls' if bound.calls is None else count(round(bound.calls), 'call'),
        'tokens without a bound' if bound.tokens is None else f'{compact(round(bound.tokens))} tokens',
        'at an unknown cost' if bound.dollars is None else dollars(bound.dollars),
    ]
    has_judges = any(spec.kind == 'model' for spec in experiment.scorers)
    apart = ', apart from those of judges' if has_judges else ''
    use = f'They use at most {most[0]}, {most[1]}, {most[2]}{apart}.' if bound.calls != 0 else NO_CALLS
    lines = [f'{count(plan.runs, "run")} to make ({size}).{reused}', use]
    for variant, parts in plan.changed.items():
        words = ', '.join(CHANGED.get(part, part) for part in parts)
        lines.append(f'{quoted(variant)} is run again, since this has changed: {words}.')
    return lines
