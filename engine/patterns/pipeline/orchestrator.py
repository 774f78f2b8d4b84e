"""AgentOrchestrator: runs a task through a pipeline's stages in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.errors import EngineError, InvalidInput
from engine.patterns.pipeline.pattern import Pipeline
from engine.patterns.pipeline.single_run import run_blocking, run_single
from engine.patterns.pipeline.stage import status_of
from engine.patterns.pipeline.task_state import TaskState, TaskStatus

if TYPE_CHECKING:
    from engine.configuration.catalog import Catalog

ENDED = frozenset({TaskStatus.COMPLETE, TaskStatus.FAILED})


class AgentOrchestrator:
    """Drives every transition of a task; the agents never call each other.

    Its runs are in memory only. To store, watch or steer one, start the pipeline with a `Conductor`.

    Args:
        pipeline: the stages; Hemicycle's own three by default.
        catalog: models and tools; the engine's own by default.
        models: model name per role; the key '' is the default.
    """

    def __init__(
        self,
        pipeline: type[Pipeline] = Pipeline,
        *,
        catalog: Catalog | None = None,
        models: Mapping[str, str] | None = None,
    ) -> None:
        self.pipeline, self.catalog, self.models = pipeline, catalog, dict(models or {})

    def process(self, state: TaskState) -> TaskState:
        """Work on a task until it is COMPLETE or FAILED; `state` is unchanged.

        It continues from the status of `state`: PENDING starts at the beginning, a stage's status
        repeats that stage, and a task that has ended is returned as is. In asynchronous code use `aprocess`.

        Raises:
            InvalidInput: the state has no task, or no stage has its status.
            EngineError: the run ended before the task was COMPLETE or FAILED.
        """
        return run_blocking(self.aprocess(state))

    async def aprocess(self, state: TaskState) -> TaskState:
        """`process` for asynchronous code."""
        start: TaskState = self.pipeline.Memory.from_dict(state.to_dict())
        if start.status in ENDED:
            return start

        class PipelineFromStatus(self.pipeline):  # type: ignore[misc, name-defined]
            """The pipeline, started at a task's status."""

            name = self.pipeline.name
            initial = self._initial_state(start)

        parameters = {'task': start.task, 'max_iterations': start.max_iterations}
        outcome, result = await run_single(
            PipelineFromStatus, start, parameters, catalog=self.catalog, models=self.models
        )
        if result.status not in ENDED:
            raise EngineError(f'the pipeline {outcome.status}: {outcome.error}')
        return result

    def _initial_state(self, state: TaskState) -> str:
        """Return the chart's state for a task's status. Raises `InvalidInput`."""
        states_by_status = {
            status_of(item): str(item['name']) for item in self.pipeline.sample().chart_states()
        }
        if state.status not in states_by_status:
            problem = (
                f'no stage has the status {str(state.status)!r}; available: {", ".join(states_by_status)}'
            )
            raise InvalidInput({'status': problem})
        return states_by_status[state.status]
