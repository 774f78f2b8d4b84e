"""Usual: what recorded runs of a pattern used, for the whole and for each agent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import add

from engine.errors import EngineError
from engine.journal.fold_reader import read_fold
from engine.journal.protocol import Journal
from engine.operations.rehearsal.records import Cost, Figures
from engine.records import RunQuery, StatePath, Status, Usage, View

MAX_RUNS = 20
"""Maximum number of runs looked at, the newest ones."""


async def recorded_runs(journal: Journal, pattern: str) -> list[View]:
    """Return the ends of the newest completed runs of a pattern; of live ones only, if there are any."""
    query = RunQuery(pattern=pattern, status=(Status.DONE,), limit=MAX_RUNS)
    ended = [info for info in (await journal.runs(query)).runs if not info.private and info.usage.calls]
    live = [info for info in ended if not info.simulated]
    views: list[View] = []
    for info in live or ended:
        with suppress(EngineError):  # Deleted meanwhile, or damaged: it says nothing.
            views.append((await read_fold(journal, info.id)).view)
    return views


def with_usual(cost: Cost, runs: Sequence[View]) -> Cost:
    """Return a cost with the means over recorded runs."""
    if not runs:
        return cost
    whole = _mean([view.usage for view in runs], len(runs))
    return replace(
        cost,
        states=tuple(replace(state, usual=_usual(state.path, runs)) for state in cost.states),
        usual=replace(whole, seconds=sum(view.seconds for view in runs) / len(runs)),
        runs=len(runs),
    )


def _usual(path: StatePath, runs: Sequence[View]) -> Figures | None:
    spent = [view.spending[path].total for view in runs if path in view.spending]
    return _mean(spent, len(runs)) if spent else None


def _mean(usages: Sequence[Usage], runs: int) -> Figures:
    """Return what is used per run; how long people and tools take is not known."""
    total = reduce(add, usages, Usage())
    return Figures(
        calls=total.calls / runs,
        tokens=total.total / runs,
        dollars=None if total.cost is None else total.cost / runs,
        seconds=None,
        answers=None,
    )
