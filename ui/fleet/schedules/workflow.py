"""The workflow that a schedule's time starts: a worker handles what is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy

from ui.fleet.records import HANDLE, SCHEDULE_WORKFLOW

LOOK_AGAIN: Final = timedelta(seconds=5)
"""Time between checks whether the previous run has ended."""
BEAT: Final = timedelta(seconds=3)
"""Time without a heartbeat after which a worker is considered dead."""
TIMEOUT: Final = timedelta(minutes=5)
RETRY: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
)


@workflow.defn(name=SCHEDULE_WORKFLOW, sandboxed=False)
class ScheduleWorkflow:
    """One time at which Temporal says that a schedule is due."""

    @workflow.run
    async def run(self, schedule: str, waiting: bool = False) -> None:
        """Have due times handled; repeat while one of them waits for the previous run."""
        while not workflow.info().is_continue_as_new_suggested():
            waiting = await workflow.execute_activity(
                HANDLE,
                args=[schedule, workflow.now().timestamp(), waiting],
                result_type=bool,
                start_to_close_timeout=TIMEOUT,
                heartbeat_timeout=BEAT,
                retry_policy=RETRY,
            )
            if not waiting:
                return
            await workflow.sleep(LOOK_AGAIN)
        workflow.continue_as_new(args=[schedule, waiting])
