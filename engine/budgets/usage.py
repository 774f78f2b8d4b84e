"""Usage as it is journaled with a reply, or with attempts that failed; and as it is read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.budgets.spent import SOURCES, Origin, Spending, Usage

ORIGINS: tuple[Origin, ...] = ('live', 'simulated', 'replayed')
COUNTS = ('input', 'output', 'calls', 'cached', 'written', 'reasoning')


def counted(usage: Usage) -> dict[str, Any]:
    """What calls have used, as JSON; what is not there, or goes without saying, is left out."""
    names = ('cached', 'written', 'reasoning', 'dollars', 'unpriced')
    kept = {name: value for name in names if (value := getattr(usage, name))}
    source = {} if usage.source == SOURCES[0] else {'source': usage.source}
    return {'input': usage.input, 'output': usage.output, 'calls': usage.calls, **kept, **source}


def by_model(spent: Mapping[str, Usage]) -> dict[str, Any]:
    """What was used of several models, as JSON: for attempts that failed, and for fallbacks."""
    return {model: counted(usage) | {'dollars': usage.dollars} for model, usage in spent.items()}


def read(data: Mapping[str, Any]) -> dict[str, Usage]:
    """What an event says was used, by model; {} where it says nothing of it.

    A pattern's own activity may give something else under these names, and old journals have neither
    `dollars` nor `unpriced`: what a live call cost is then in the reply's `cost`, or not known.
    """
    spent = data.get('spent')
    if isinstance(spent, Mapping):
        return {str(model): _usage(part, {}) for model, part in spent.items() if isinstance(part, Mapping)}
    usage = data.get('usage')
    return {str(data.get('model', '')): _usage(usage, data)} if isinstance(usage, Mapping) else {}


def grown(known: Spending, used: Mapping[str, Usage], origin: Origin | None) -> Spending:
    """An agent's spending after some more."""
    models = dict(known.models)
    for model, usage in used.items():
        models[model] = models.get(model, Usage()) + usage
    fresh = () if origin is None or origin in known.origins else (origin,)
    return Spending(models=models, origins=(*known.origins, *fresh))


def kept_spending(
    told: Mapping[str, Any] | None, agents: Mapping[str, Mapping[str, Any]]
) -> dict[str, Spending]:
    """Spending as a snapshot keeps it; an old one has but the tokens of each agent, in its conversation."""
    if told is None:
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
        for path, spent in told.items()
    }


def origin_of(data: Mapping[str, Any]) -> Origin | None:
    """Where a reply is from; None for an event that is no reply."""
    told = data.get('source')
    if told in ORIGINS:
        return ORIGINS[ORIGINS.index(told)]
    # As old journals have it.
    return ('simulated' if data['simulated'] else 'live') if 'simulated' in data else None


def _usage(told: Mapping[str, Any], reply: Mapping[str, Any]) -> Usage:
    counts: dict[str, Any] = {
        name: count for name in COUNTS if isinstance(count := told.get(name), int) and count >= 0
    }
    source = told.get('source')
    usage = Usage(**counts, source=source if source in SOURCES else SOURCES[0])
    dollars, unpriced = told.get('dollars'), told.get('unpriced')
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
