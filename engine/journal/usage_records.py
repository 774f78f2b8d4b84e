"""Usage records: converts usage to and from the form journaled with replies and failed attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from engine.records.payloads import UsageData
from engine.records.usage import SOURCES, Origin, Spending, Usage

ORIGINS: tuple[Origin, ...] = ('live', 'simulated', 'stubbed', 'replayed')
COUNTS = ('input', 'output', 'calls', 'cached', 'written', 'reasoning', 'unpriced')
MAX_COUNT = 10**12
"""Maximum count or dollars in one step; more is nonsense, and the sum would not fit a database."""


def usage_to_dict(usage: Usage) -> UsageData:
    """Return usage as JSON; zero and default values are left out."""
    names = ('cached', 'written', 'reasoning', 'dollars', 'unpriced')
    details = {name: value for name in names if (value := getattr(usage, name))}
    source = {} if usage.source == SOURCES[0] else {'source': usage.source}
    recorded: dict[str, Any] = {
        'input': usage.input,
        'output': usage.output,
        'calls': usage.calls,
        **details,
        **source,
    }
    return cast(UsageData, recorded)


def by_model(spent: Mapping[str, Usage]) -> dict[str, UsageData]:
    """Return usage by model as JSON, for failed attempts and fallbacks."""
    return {model: usage_to_dict(usage) for model, usage in spent.items()}


def usage_from_dict(data: Mapping[str, Any]) -> dict[str, Usage]:
    """Return the usage an event records, by model; {} if none.

    A pattern's own activity may use these names for something else.
    """
    spent = data.get('spent')
    if isinstance(spent, Mapping):
        return {str(model): _usage(part) for model, part in spent.items() if isinstance(part, Mapping)}
    usage = data.get('usage')
    return {str(data.get('model', '')): _usage(usage)} if isinstance(usage, Mapping) else {}


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


def load_spending(recorded: Mapping[str, Any]) -> dict[str, Spending]:
    """Return each agent's spending from a snapshot."""
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
    return ORIGINS[ORIGINS.index(source)] if source in ORIGINS else None


def _usage(recorded: Mapping[str, Any]) -> Usage:
    counts: dict[str, Any] = {
        name: count for name in COUNTS if type(count := recorded.get(name)) is int and 0 <= count <= MAX_COUNT
    }
    source, dollars = recorded.get('source'), recorded.get('dollars')
    return Usage(
        **counts,
        source=source if source in SOURCES else SOURCES[0],
        dollars=float(dollars) if isinstance(dollars, int | float) and 0 <= dollars <= MAX_COUNT else 0.0,
    )
