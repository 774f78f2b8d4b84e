"""A collaboration as one call: an objective in, a result out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.catalog import Catalog
from engine.conductor import Conductor
from engine.errors import EngineError
from engine.pattern import Pattern
from engine.records import Status
from engine.teams.collaboration import CollaborationResult, CollaborationState, in_order

PATTERN = 'supervisor'


async def run_collaborative_task(
    objective: str,
    max_tasks: int = 4,
    *,
    catalog: Catalog | None = None,
    models: Mapping[str, str] | None = None,
    **parameters: Any,
) -> CollaborationResult:
    """Have a team work on an objective. The run is kept in memory, and gone when this returns.

    Args:
        objective: what it is to bring about.
        max_tasks: how many tasks the supervisor may give, from 1 to 20.
        catalog: patterns, models and tools; what the engine brings by default.
        models: model name per role; the key '' is the default.
        parameters: others of the pattern `supervisor`, such as `execution`.

    Raises:
        InvalidInput: a value does not fit; it names the parameter.
        EngineError: there is no plan or no answer; the message says why. A task that fails is in the result.
    """
    given = {**parameters, 'objective': objective, 'max_tasks': max_tasks}
    return (await _run(catalog or Catalog.load(), PATTERN, given, models or {})).result


async def execute_plan(
    state: CollaborationState,
    *,
    catalog: Catalog | None = None,
    models: Mapping[str, str] | None = None,
    **parameters: Any,
) -> CollaborationState:
    """Go on with a plan that is there already: carry out the pending tasks of `state`, and synthesize.

    Args:
        state: stays as it is.
        catalog: patterns, models and tools; what the engine brings by default.
        models: model name per role; the key '' is the default.
        parameters: those of the pattern `supervisor`, such as `execution`.

    Returns:
        What became of the state.

    Raises:
        InvalidInput: a parameter does not fit.
        ValueError: the tasks cannot be put in order.
        EngineError: there is no answer; the message says why.
    """
    catalog = catalog or Catalog.load()
    ready = state.apart()
    ended = [result.task_id for result in ready.completed_results]
    ready.delegate(in_order(ready.pending_tasks, ended))
    made: type[Pattern] = catalog.pattern(PATTERN)

    class Planned(made):  # type: ignore[misc, valid-type]
        """The supervisor, once there is a plan."""

        name = PATTERN
        initial = 'executing' if ready.pending_tasks else 'synthesizing'

        def remember(self) -> CollaborationState:
            return ready

    catalog = replace(catalog, patterns={PATTERN: Planned})
    return await _run(catalog, PATTERN, {**parameters, 'objective': state.objective}, models or {})


async def _run(
    catalog: Catalog, pattern: str, parameters: Mapping[str, Any], models: Mapping[str, str]
) -> CollaborationState:
    async with Conductor(catalog=catalog) as conductor:
        outcome = await conductor.result(await conductor.start(pattern, parameters, models=models))
    if outcome.status is not Status.DONE:
        raise EngineError(f'the collaboration {outcome.status}: {outcome.error}')
    return CollaborationState.model_validate(outcome.memory)
