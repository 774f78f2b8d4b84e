"""Usage records: converts usage to and from the form journaled with replies and failed attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.records.usage import SOURCES, Origin, Spending, Usage

ORIGINS: tuple[Origin, ...] = ('live', 'simulated', 'replayed')
COUNTS = ('input', 'output', 'calls', 'cached', 'written', 'reasoning')
MAX_COUNT = 10**12
"""Maximum count in one step; larger ones are nonsense, and their sums would not fit a database."""


def usage_to_dict(usage: Usage) -> dict[str, Any]:
    """Return usage as JSON; zero and default values are left out."""
    names = ('cached', 'written', 'reasoning', 'dollars', 'unpriced')
    details = {name: value for name in names if (value := getattr(usage, name))}
    source = {} if usage.source == SOURCES[0] else {'source': usage.source}
    return {'input': usage.input, 'output': usage.output, 'calls': usage.calls, **details, **source}


def by_model(spent: Mapping[str, Usage]) -> dict[str, Any]:
    """Return usage by model as JSON, for failed attempts and fallbacks."""
    return {model: usage_to_dict(usage) | {'dollars': usage.dollars} for model, usage in spent.items()}


def usage_from_dict(data: Mapping[str, Any]) -> dict[str, Usage]:
    """Return the usage an event records, by model; {} if none.

    A pattern's own activity may use these names for something else. Old journals have neither `dollars` nor
    `unpriced`: the cost of a live call is then in the reply's `cost`, or unknown.
    """
    spent = data.get('spent')
    if isinstance(spent, Mapping):
        return {str(model): _usage(part, {}) for model, part in spent.items() if isinstance(part, Mapping)}
    usage = data.get('usage')
    return {str(data.get('model', '')): _usage(usage, data)} if isinstance(usage, Mapping) else {}


def add_spending(spending: Spending, used: Mapping[str, Usage], origin: Origin | None) -> Spending:
    """Return an agent's spending after further usage."""
    models = dict(spending.models)
    for model, usage in used.items():
        models[model] = models.get(model, Usage()) + usage
    fresh = () if origin is None or origin in spending.origins else (origin,)
    return Spending(models=models, origins=(*spending.origins, *fresh))


def settle_estimates(spending: Spending, used: Mapping[str, Usage]) -> Spending:
    """Return an agent's spending after a report that supersedes its estimates."""
    settled = {model: replace(spending.models[model], source=SOURCES[0]) for model in used}
    return replace(spending, models={**spending.models, **settled})


def load_spending(
    recorded: Mapping[str, Any] | None, agents: Mapping[str, Mapping[str, Any]]
) -> dict[str, Spending]:
    """Return spending from a snapshot; an old one has only each agent's tokens, in its conversation."""
    if recorded is None:
        return {
            path: Spending(
                models={
                    str(agent.get('model', '')): Usage(
                        input=agent.get('input_tokens', 0), output=agent.get('output_tokens', 0)
                    )
                }
            )
            for path, agent in agents.items()
        }
    return {
        path: Spending(
            models={model: Usage(**usage) for model, usage in spent['models'].items()},
            origins=tuple(spent['origins']),
        )
        for path, spent in recorded.items()
    }


def origin_of(data: Mapping[str, Any]) -> Origin | None:
    """Return the origin of a reply; None for an event that is not a reply."""
    source = data.get('source')
    if source in ORIGINS:
        return ORIGINS[ORIGINS.index(source)]
    # The form in old journals.
    return ('simulated' if data['simulated'] else 'live') if 'simulated' in data else None


def _usage(recorded: Mapping[str, Any], reply: Mapping[str, Any]) -> Usage:
    counts: dict[str, Any] = {
        name: count
        for name in COUNTS
        if isinstance(count := recorded.get(name), int) and 0 <= count <= MAX_COUNT
    }
    source = recorded.get('source')
    usage = Usage(**counts, source=source if source in SOURCES else SOURCES[0])
    dollars, unpriced = recorded.get('dollars'), recorded.get('unpriced')
    if dollars is not None or unpriced is not None:
        return replace(usage, dollars=_amount(dollars), unpriced=unpriced if isinstance(unpriced, int) else 0)
    if origin_of(reply) in ('simulated', 'replayed'):
        return usage
    cost = reply.get('cost')
    if isinstance(cost, int | float):
        return replace(usage, dollars=_amount(cost), unpriced=max(0, usage.calls - 1))
    return replace(usage, unpriced=max(1, usage.calls))


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value >= 0 else 0.0
