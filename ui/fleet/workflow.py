"""The workflow that places one run: it waits for a worker and, while the run rests, for a signal."""

from __future__ import annotations

import builtins
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

from ui.fleet.records import DRIVE, FIND, MEMO, WAKE, WORKFLOW, Placement, PlacementResult, ReleaseReason

TIMEOUT: Final = timedelta(days=365)
FIRST_WAIT, MAX_WAIT = 10.0, 300.0
"""Seconds in a queue before other workers are sought; doubled each time."""
RECHECK_SECONDS = 5.0
"""Seconds before a run that no worker can take is checked again."""
IMMEDIATE_RETRY: Final = RetryPolicy(initial_interval=timedelta(milliseconds=100), backoff_coefficient=1.0)
"""For workers that died: the next one takes the run immediately."""


@workflow.defn(name=WORKFLOW, sandboxed=False)
class RunWorkflow:
    """Places a run. The run's progress is only in its journal."""

    def __init__(self) -> None:
        self._wakes = 0
        self._reason = ''

    @workflow.signal(name=WAKE)
    def wake(self) -> None:
        """Note that something arrived for the run."""
        self._wakes += 1

    @workflow.run
    async def run(self, placement: Placement, timers: list[dict[str, Any]]) -> None:
        """Have workers drive the run until it has ended."""
        wait = FIRST_WAIT
        while not workflow.info().is_continue_as_new_suggested():
            seen = self._wakes
            try:
                rest = await self._drive(placement, timers, wait)
            except ActivityError as error:
                if not _is_queued(error):
                    self._publish_reason(str(error.cause or error))
                    await self._sleep(seen, RECHECK_SECONDS)
                    continue
                wait = min(2 * wait, MAX_WAIT)
                placement = await self._find(placement)
                continue
            self._publish_reason('')
            wait, timers = FIRST_WAIT, rest.timers
            if rest.why == 'ended':
                return
            if rest.why == 'moves':
                placement = await self._find(placement)
            else:
                now = workflow.now().timestamp()
                await self._sleep(seen, None if rest.until is None else max(0.0, rest.until - now))
        workflow.continue_as_new(args=[placement, timers])

    async def _drive(self, placement: Placement, timers: list[dict[str, Any]], wait: float) -> ReleaseReason:
        rest: ReleaseReason = await workflow.execute_activity(
            DRIVE,
            args=[placement, timers],
            result_type=ReleaseReason,
            task_queue=placement.queue,
            schedule_to_start_timeout=timedelta(seconds=wait),
            start_to_close_timeout=TIMEOUT,
            heartbeat_timeout=timedelta(seconds=placement.heartbeat),
            retry_policy=IMMEDIATE_RETRY,
            priority=Priority(priority_key=placement.priority, fairness_key=placement.author or None),
        )
        return rest

    async def _find(self, placement: Placement) -> Placement:
        """Wait until some worker can take the run."""
        while True:
            seen = self._wakes
            result = await workflow.execute_activity(
                FIND, placement, result_type=PlacementResult, start_to_close_timeout=timedelta(minutes=1)
            )
            self._publish_reason(result.reason)
            if result.version:
                return replace(placement, version=result.version)
            await self._sleep(seen, RECHECK_SECONDS)

    async def _sleep(self, seen: int, seconds: float | None) -> None:
        """Wait for a signal after the first `seen`, or until a timeout."""
        timeout = None if seconds is None else timedelta(seconds=seconds)
        try:
            await workflow.wait_condition(lambda: self._wakes > seen, timeout=timeout)
        except builtins.TimeoutError:
            return

    def _publish_reason(self, reason: str) -> None:
        """Publish why the run has to wait; '' if it does not."""
        if reason != self._reason:
            self._reason = reason
            workflow.upsert_memo({MEMO: reason or None})


def _is_queued(error: ActivityError) -> bool:
    cause = error.cause
    return isinstance(cause, TimeoutError) and cause.type == TimeoutType.SCHEDULE_TO_START
