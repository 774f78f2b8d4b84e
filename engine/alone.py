"""Runs one stage by itself: its chart, a journal in memory, and nothing around it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.catalog import Catalog
from engine.conductor import Conductor
from engine.errors import EngineError
from engine.pattern import Pattern
from engine.records import Status
from engine.stage import stage
from engine.task import TaskState

if TYPE_CHECKING:
    from engine.stage import Stage


async def run_alone(work: Stage, state: TaskState, catalog: Catalog | None = None) -> TaskState:
    """Run a stage on a copy of `state` and return what became of it. Raises `EngineError`."""

    class Alone(Pattern):
        """One stage."""

        Memory = type(state)
        initial = 'working'
        states = (stage('working', work), {'name': 'over', 'final': True})
        transitions = (['done', 'working', 'over'],)

        def remember(self) -> TaskState:
            return state.apart()

    catalog = replace(catalog or Catalog.load(), patterns={'alone': Alone})
    async with Conductor(catalog=catalog) as conductor:
        outcome = await conductor.result(await conductor.start('alone'))
    if outcome.status is not Status.DONE:
        raise EngineError(f'{work.role.title} failed: {outcome.error}')
    return type(state).from_dict(outcome.memory)
