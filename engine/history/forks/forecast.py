"""Estimates a fork's usage from that of its parent, or of other runs of the pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add

from engine.history.forks.fork_records import CostEstimate, ForkOverrides, find_source
from engine.journal.usage_records import usage_from_dict
from engine.models.protocol import candidate_models
from engine.records import ENDINGS, RunInfo, Shape, StatePath, StateShape, Transition, Usage
from engine.records.shape import parent_of
from engine.runtime.activity import Services


def from_parent(  # noqa: PLR0913  (all inputs of a forecast)
    variation: ForkOverrides,
    at: int,
    steps: Iterable[Transition],
    shape: Shape,
    info: RunInfo,
    services: Services,
) -> CostEstimate:
    """Estimate the fork's usage if it takes the same path as its parent.

    Args:
        variation: the fork's overrides.
        at: the step at which it begins.
        steps: the parent's steps after `at`; all of them if the fork starts over.
        shape: the parent's chart.
        info: the fork's summary, for its models.
        services: the models and their prices.
    """
    roles = {state.path: state for state in shape.states if state.role}
    used: dict[str, Usage] = {}
    calls = tokens = 0
    dollars: float | None = 0.0
    seconds, before = 0.0, None
    for step in steps:
        passed, before = step.time - (before or step.time), step.time
        event = step.event
        if step.raised or event.name not in (*ENDINGS, 'retry'):
            continue
        role = _role(roles, event.at, event.data)
        play = variation.before if step.seq <= at else find_source(variation, event.at, role, step.seq)
        if play == 'recorded':
            continue
        seconds += passed
        spent = usage_from_dict(event.data)
        if not spent:
            continue
        usage = reduce(add, spent.values())
        used[role] = used.get(role, Usage()) + usage
        if play == 'simulated' or _free(info.models, role, services):
            continue
        calls, tokens = calls + usage.calls, tokens + usage.total
        cost = _cost(info.models, role, usage, services)
        dollars = None if cost is None or dollars is None else dollars + cost
    return CostEstimate(
        calls=calls,
        tokens=tokens,
        dollars=dollars,
        seconds=seconds,
        roles=used,
        basis='parent',
        free=is_free(variation, info.models, services),
    )


def from_others(
    variation: ForkOverrides, info: RunInfo, others: Iterable[RunInfo], spent: Usage, services: Services
) -> CostEstimate:
    """Estimate the fork's usage as the mean of other runs of the pattern, where its parent's is incomplete.

    Args:
        variation: the fork's overrides.
        info: the fork's summary.
        others: finished runs of the pattern.
        spent: the parent's usage up to the step where the fork begins; subtracted.
        services: the models.
    """
    free, similar = is_free(variation, info.models, services), list(others)
    if free:
        return CostEstimate(calls=0, tokens=0, dollars=0.0, free=True)
    if not similar:
        return CostEstimate()
    whole, count = reduce(add, (other.usage for other in similar)), len(similar)
    costs = [other.usage.cost for other in similar if other.models == info.models]
    known_costs = [cost for cost in costs if cost is not None]
    return CostEstimate(
        calls=max(0, round(whole.calls / count) - spent.calls),
        tokens=max(0, round(whole.total / count) - spent.total),
        dollars=max(0.0, sum(known_costs) / len(known_costs) - spent.dollars) if known_costs else None,
        seconds=max(0.0, sum(other.updated - other.created for other in similar) / count),
        basis='runs',
    )


def is_free(variation: ForkOverrides, models: Mapping[str, str], services: Services) -> bool:
    """Return whether the fork cannot cost money, because everything is replayed or simulated."""
    plays = {variation.after, variation.before, *variation.plays.values()}
    live = 'live' in plays or (variation.played and variation.beyond == 'live')
    return not live or all(_free(models, role, services) for role in {'', *models})


def _role(roles: Mapping[StatePath, StateShape], at: StatePath, data: Mapping[str, object]) -> str:
    agent = roles.get(at) or roles.get(StatePath(parent_of(at)))
    return str(data.get('role') or (agent.role if agent else at))


def _free(models: Mapping[str, str], role: str, services: Services) -> bool:
    named = candidate_models(models, role)
    return all(name in services.models and services.models[name].simulated for name in named)


def _cost(models: Mapping[str, str], role: str, usage: Usage, services: Services) -> float | None:
    """Price usage at the current rate of the role's first model, or else at its recorded cost."""
    name = candidate_models(models, role)[0]
    price = getattr(services.models[name], 'price', None) if name in services.models else None
    priced = price(usage) if price else None
    return priced if priced is not None else (usage.cost if usage.dollars else None)
