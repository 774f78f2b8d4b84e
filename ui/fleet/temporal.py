"""Temporal client: places each run with a workflow, signals it, and lists the workers."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Final

from temporalio.api.enums.v1 import PendingActivityState, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)
from temporalio.service import RPCError, RPCStatusCode

from engine import EngineError
from engine.records import RunId
from ui.fleet.records import CONTROL, MEMO, WAKE, WORKFLOW, Placement, workflow_id

TIMEOUT: Final = timedelta(seconds=5)
"""Timeout of one request."""
OPEN: Final = f"WorkflowType = '{WORKFLOW}' AND ExecutionStatus = 'Running'"

QUEUED: Final = 'the workers that could take it are busy'
UNPLACED: Final = 'Temporal does not know it yet'


@cache
def runtime() -> Runtime:
    """Return the core of Temporal's library, whose log lines go to ours; its own go to standard output."""
    forwarding = LogForwardingConfig(
        logging.getLogger('temporal'), append_target_to_name=False, prepend_target_on_message=False
    )
    filter = TelemetryFilter(core_level='WARN', other_level='ERROR')
    return Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(filter, forwarding)))


class TemporalUnavailable(EngineError):
    """Temporal does not answer: active runs continue, but no others are placed until it does."""


@dataclass(frozen=True, slots=True)
class PlacedRun:
    """A run that Temporal has a workflow for."""

    run: RunId
    reason: str
    """Why no worker can take it, or ''."""


class Temporal:
    """Sends requests to Temporal, to place and wake runs.

    Args:
        client: a client that is connected, or connects lazily.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    @classmethod
    async def at(cls, address: str, *, namespace: str, identity: str = '') -> Temporal:
        """Connect: immediately for a worker with an `identity`, otherwise at the first use.

        Raises:
            TemporalUnavailable
        """
        with map_errors():
            client = await Client.connect(
                address,
                namespace=namespace,
                identity=identity or None,
                lazy=not identity,
                runtime=runtime(),
            )
        return cls(client)

    async def place(self, placement: Placement) -> None:
        """Place a run, or wake it if it is already placed. Raises `TemporalUnavailable`."""
        with map_errors():
            await self.client.start_workflow(
                WORKFLOW,
                args=[placement, []],
                id=workflow_id(placement.run),
                task_queue=CONTROL,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                start_signal=WAKE,
                rpc_timeout=TIMEOUT,
            )

    async def is_held(self, run: RunId) -> bool:
        """Whether a worker has taken the run and not yet released it. Raises `TemporalUnavailable`."""
        with map_errors():
            description = await self._describe(run)
        return description is not None and _has_started(description)

    async def why_waiting(self, run: RunId) -> str:
        """Return why no worker has taken a run; '' if one has. Raises `TemporalUnavailable`."""
        with map_errors():
            description = await self._describe(run)
            if description is None:
                return UNPLACED
            return '' if _has_started(description) else str(await description.memo_value(MEMO, '') or QUEUED)

    async def _describe(self, run: RunId) -> WorkflowExecutionDescription | None:
        try:
            return await self.client.get_workflow_handle(workflow_id(run)).describe(rpc_timeout=TIMEOUT)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def placed_runs(self) -> AsyncIterator[PlacedRun]:
        """Yield all runs with an open workflow. Raises `TemporalUnavailable`."""
        with map_errors():
            async for execution in self.client.list_workflows(OPEN, rpc_timeout=TIMEOUT):
                reason = await execution.memo_value(MEMO, '')
                yield PlacedRun(RunId(execution.id.removeprefix(f'{WORKFLOW}-')), str(reason or ''))

    async def pollers(self) -> list[str]:
        """Return the names of workers seen within the last minutes. Raises `TemporalUnavailable`."""
        request = DescribeTaskQueueRequest(
            namespace=self.client.namespace,
            task_queue=TaskQueue(name=CONTROL),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
        with map_errors():
            response = await self.client.workflow_service.describe_task_queue(request, timeout=TIMEOUT)
        return sorted({poller.identity for poller in response.pollers})


def _has_started(description: WorkflowExecutionDescription) -> bool:
    """Whether a worker has taken the workflow's activity."""
    started = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
    return any(activity.state == started for activity in description.raw_description.pending_activities)


@contextlib.contextmanager
def map_errors() -> Iterator[None]:
    """Convert the client's errors to `TemporalUnavailable`."""
    try:
        yield
    except (RPCError, RuntimeError) as error:  # A client that never connected raises `RuntimeError`.
        raise TemporalUnavailable(f'Temporal does not answer: {error}') from error
