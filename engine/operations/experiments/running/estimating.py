"""Estimating: what the runs of an experiment and their judges use, by rehearsals and by earlier runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from statistics import median
from typing import Final

from engine.journal.protocol import Journal
from engine.operations.experiments.planning import Amounts, Estimate, Planner
from engine.operations.experiments.scorers import read_scorers
from engine.operations.rehearsal import Cost
from engine.records import Launch, RunId, RunInfo, RunQuery, Status
from engine.runtime.run_factory import ACTOR

LOOK_BACK = 100
"""Maximum number of earlier runs of a pattern that are looked at, the newest ones."""
AMOUNTS: Final = ('calls', 'tokens', 'dollars')
Load = tuple[Launch, float]
"""A launch, and the number of runs like it."""


def loads_of(planner: Planner, runs: int) -> list[Load]:
    """Return what an experiment runs; `runs` are those to make, of all variants together."""
    launches = planner.sample_launches()
    each = 0.0 if planner.experiment.recorded else runs / len(launches)  # Recordings answer without calls.
    return [(launch, each) for launch in launches.values()]


def judges_of(planner: Planner) -> list[Load]:
    """Return the runs of judges: one for each run that a model scores, whether it is to make or was made."""
    experiment = planner.experiment
    cells = len(planner.cases) * experiment.repeats
    return [
        (launch, float(cells * (len(experiment.variants) - scorer.compares)))
        for scorer in read_scorers(experiment.scorers).values()
        if (launch := scorer.judge)
    ]


async def estimate(
    loads: Sequence[Load], rehearse: Callable[[Launch], Awaitable[Cost]], journal: Journal
) -> Estimate:
    """Return what runs use: at least and at most by rehearsals, usually by earlier runs.

    Args:
        loads: the runs.
        rehearse: returns what a run costs, by a rehearsal. What it raises is raised.
        journal: has the earlier runs. May raise `JournalError`.
    """
    least = 0.0
    earlier: set[RunId] = set()
    worst: list[tuple[Amounts, float]] = []
    usual: list[tuple[Amounts, float]] = []
    unknown: dict[str, None] = {}
    for launch, times in loads:
        if not times:
            continue
        cost = await rehearse(launch)
        most = Amounts(calls=cost.most.calls, tokens=cost.most.tokens, dollars=cost.most.dollars)
        worst.append((most, times))
        least += min(cost.least_calls, most.calls or cost.least_calls) * times
        runs = await _earlier(journal, launch) if most.calls != 0 else []
        earlier |= {info.id for info in runs}
        if runs or most.calls == 0:
            usual.append((_medians(runs, launch, most), times))
        else:
            unknown[launch.pattern] = None
    return Estimate(
        least_calls=least,
        most=_total(worst),
        usual=_total(usual) if earlier or not unknown else None,
        earlier=len(earlier),
        unknown=tuple(unknown),
    )


async def _earlier(journal: Journal, launch: Launch) -> list[RunInfo]:
    """Return the earlier runs with the same models; without any, live ones, or else all."""
    query = RunQuery(
        pattern=launch.pattern, status=(Status.DONE,), seen_by=ACTOR.get() or None, limit=LOOK_BACK
    )
    runs = [info for info in (await journal.runs(query)).runs if info.usage.calls]
    alike = [info for info in runs if info.models == launch.models]
    return alike or [info for info in runs if not info.simulated] or runs


def _medians(runs: Sequence[RunInfo], launch: Launch, most: Amounts) -> Amounts:
    """Return the medians of runs, bounded by what a run may use; dollars only with the same models."""
    if not runs:
        return Amounts()
    costs = [info.usage.cost if info.models == launch.models else None for info in runs]
    known = [cost for cost in costs if cost is not None]
    dollars = median(known) if len(known) == len(costs) else None
    return Amounts(
        calls=_bounded(median(info.usage.calls for info in runs), most.calls),
        tokens=_bounded(median(info.usage.total for info in runs), most.tokens),
        dollars=0.0 if most.dollars == 0 else _bounded(dollars, most.dollars),
    )


def _bounded(amount: float | None, bound: float | None) -> float | None:
    return amount if amount is None or bound is None else min(amount, bound)


def _total(loads: Sequence[tuple[Amounts, float]]) -> Amounts:
    """Return the sum; None for what is not known of one."""
    sums: dict[str, float | None] = {}
    for name in AMOUNTS:
        each = [(getattr(amounts, name), times) for amounts, times in loads]
        known = [amount * times for amount, times in each if amount is not None]
        sums[name] = sum(known) if len(known) == len(each) else None
    return Amounts(**sums)
