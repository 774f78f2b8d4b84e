"""Usual: what recorded runs of a pattern used, for the whole and for each agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from engine.errors import EngineError
from engine.journal.fold_reader import read_fold
from engine.journal.protocol import Journal
from engine.operations.rehearsal.records import Cost, Figures
from engine.records import RunId, RunQuery, StatePath, Status, Usage

MAX_RUNS = 20
"""Maximum number of runs looked at, the newest ones."""
MAX_READ = 500
"""Maximum number of runs kept in memory."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What one run used."""

    usage: Usage
    seconds: float
    by_agent: Mapping[str, Usage]
    """By the agent's path."""


class RecordedRuns:
    """The newest completed runs of patterns; each is read once, since it does not change any more."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read: dict[RunId, RecordedRun] = {}

    async def of(self, pattern: str) -> list[RecordedRun]:
        """Return the newest completed runs of a pattern; live ones only, if there are any."""
        query = RunQuery(pattern=pattern, status=(Status.DONE,), limit=MAX_RUNS)
        infos = (await self._journal.runs(query)).runs
        ended = [info for info in infos if not info.private and info.usage.calls]
        live = [info for info in ended if not info.simulated]
        runs: list[RecordedRun] = []
        for info in live or ended:
            with suppress(EngineError):  # Deleted meanwhile, or damaged: it says nothing.
                runs.append(await self._find(info.id))
        return runs

    async def _find(self, run: RunId) -> RecordedRun:
        if run not in self._read:
            view = (await read_fold(self._journal, run)).view
            by_agent = {path: spent.total for path, spent in view.spending.items()}
            if len(self._read) >= MAX_READ:
                self._read.pop(next(iter(self._read)))
            self._read[run] = RecordedRun(view.usage, view.seconds, by_agent)
        return self._read[run]


def with_usual(cost: Cost, runs: Sequence[RecordedRun]) -> Cost:
    """Return a cost with the means over recorded runs."""
    if not runs:
        return cost
    whole = _mean([run.usage for run in runs], len(runs))
    return replace(
        cost,
        states=tuple(replace(state, usual=_usual(state.path, runs)) for state in cost.states),
        usual=replace(whole, seconds=sum(run.seconds for run in runs) / len(runs)),
        runs=len(runs),
    )


def _usual(path: StatePath, runs: Sequence[RecordedRun]) -> Figures | None:
    spent = [run.by_agent[path] for run in runs if path in run.by_agent]
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
