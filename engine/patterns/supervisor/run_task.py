"""A collaboration as a single call: objective in, result out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.configuration.catalog import Catalog
from engine.errors import EngineError
from engine.models import endpoints_file
from engine.operations.local_conductor import LocalConductor
from engine.patterns.supervisor.collaboration import CollaborationResult, CollaborationState, order_tasks
from engine.records import Origin, Status
from engine.statechart.pattern import Pattern

PATTERN = 'supervisor'


async def run_collaborative_task(
    objective: str,
    max_tasks: int = 4,
    *,
    catalog: Catalog | None = None,
    models: Mapping[str, str] | None = None,
    **parameters: Any,
) -> CollaborationResult:
    """Have a team work on an objective, in a run that is kept in memory only and discarded on return.

    Args:
        objective: what the team should achieve.
        max_tasks: maximum number of tasks, from 1 to 20.
        catalog: patterns, models and tools; by default the engine's own, with the endpoints that are
            configured on this machine.
        models: model name per role, such as `{'': 'openai/gpt-5'}`; the key '' is the default. A role
            without a model uses the scripted one, and the result is marked as `simulated`.
        parameters: other parameters of the `supervisor` pattern, such as `execution`.

    Raises:
        InvalidInput: a value is invalid; names the parameter.
        EngineError: there is no plan or answer; the message says why. Failed tasks are part of the result.
    """
    values = {**parameters, 'objective': objective, 'max_tasks': max_tasks}
    return (await _run(catalog or _load_catalog(), values, models)).result


async def execute_plan(
    state: CollaborationState,
    *,
    catalog: Catalog | None = None,
    models: Mapping[str, str] | None = None,
    **parameters: Any,
) -> CollaborationState:
    """Resume from an existing plan: carry out the pending tasks of `state`, then synthesize.

    Args:
        state: the state to start from; not modified.
        catalog: patterns, models and tools; as for `run_collaborative_task`.
        models: model name per role; the key '' is the default.
        parameters: parameters of the `supervisor` pattern, such as `execution`.

    Returns:
        The resulting state; its `result` shows whether it is simulated.

    Raises:
        InvalidInput: a parameter is invalid.
        ValueError: the tasks cannot be ordered.
        EngineError: there is no answer; the message says why.
    """
    catalog = catalog or _load_catalog()
    start = state.detached_copy()
    ended_ids = [result.task_id for result in start.completed_results]
    start.delegate(order_tasks(start.pending_tasks, ended_ids))
    pattern: type[Pattern] = catalog.pattern(PATTERN)

    class SupervisorFromPlan(pattern):  # type: ignore[misc, valid-type]
        """The supervisor, started from an existing plan."""

        name = PATTERN
        initial = 'executing' if start.pending_tasks else 'synthesizing'

        def remember(self) -> CollaborationState:
            return start

    catalog = replace(catalog, patterns={PATTERN: SupervisorFromPlan})
    return await _run(catalog, {**parameters, 'objective': state.objective}, models)


def _load_catalog() -> Catalog:
    return Catalog.load(endpoints=endpoints_file())


async def _run(
    catalog: Catalog, parameters: Mapping[str, Any], models: Mapping[str, str] | None
) -> CollaborationState:
    """Run the pattern; return its final state, including where the models' replies came from."""
    async with LocalConductor(catalog=catalog) as conductor:
        run = await conductor.start(PATTERN, parameters, models=models)
        outcome = await conductor.result(run.id)
        spending = (await conductor.view(run.id)).spending.values()
    if outcome.status is not Status.DONE:
        raise EngineError(f'the collaboration {outcome.status}: {outcome.error}')
    state = CollaborationState.model_validate(outcome.memory)
    origins: tuple[Origin, ...] = tuple(origin for model_usage in spending for origin in model_usage.origins)
    state.origins = tuple(dict.fromkeys((*state.origins, *origins)))
    return state
