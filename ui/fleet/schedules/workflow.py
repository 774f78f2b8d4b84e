"""The workflow started when a schedule is due: it has a worker handle the due times."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import RetryPolicy

from ui.fleet.records import HANDLE, SCHEDULE_WORKFLOW

RECHECK_DELAY: Final = timedelta(seconds=5)
"""Time between checks for the end of the previous run."""
HEARTBEAT_TIMEOUT: Final = timedelta(seconds=3)
"""Time without a heartbeat after which a worker is considered dead."""
TIMEOUT: Final = timedelta(minutes=5)
RETRY: Final = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10)
)


@workflow.defn(name=SCHEDULE_WORKFLOW, sandboxed=False)
class ScheduleWorkflow:
    """One wake-up for a due schedule."""

    @workflow.run
    async def run(self, schedule: str, waiting: bool = False) -> None:
        """Have due times handled; repeat while one waits for the previous run."""
        while not workflow.info().is_continue_as_new_suggested():
            waiting = await workflow.execute_activity(
                HANDLE,
                args=[schedule, workflow.now().timestamp(), waiting],
                result_type=bool,
                start_to_close_timeout=TIMEOUT,
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=RETRY,
            )
            if not waiting:
                return
            await workflow.sleep(RECHECK_DELAY)
        workflow.continue_as_new(args=[schedule, waiting])
