"""The order in which Temporal assigns waiting runs: by priority, and taking turns between people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from temporalio import activity
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.crash.fleet.processes import Fleet, until
from tests.tree import ROOT
from ui.fleet.records import CONTROL, DRIVE, Placement, ReleaseReason, priority_of, workflow_id
from ui.fleet.temporal import Temporal
from ui.fleet.workflow import RunWorkflow

pytestmark = [pytest.mark.slow, pytest.mark.long]
SETTINGS = yaml.safe_load((ROOT / 'assets' / 'deploy' / 'temporal.yaml').read_text())
"""The settings that we ship: each has a list of values with conditions."""


async def observe_order(home: Path, tasks: Sequence[tuple[str, str]]) -> list[int]:
    """Return in which order a worker that takes one run at a time gets runs of these authors and tags."""
    order: list[int] = []

    @activity.defn(name=DRIVE)
    async def drive(placement: Placement, timers: list[dict[str, Any]]) -> ReleaseReason:
        order.append(int(placement.run))
        return ReleaseReason(why='ended')

    fleet = Fleet(home, '')
    try:
        options = [part for name, (one,) in SETTINGS.items() for part in _option(name, one)]
        await fleet.temporal(*options)
        temporal = await Temporal.at(f'127.0.0.1:{fleet.port}', namespace='default', identity='a test')
        client, plain = temporal.client, UnsandboxedWorkflowRunner()
        placed = [
            Placement(
                run=str(number), pattern='any', version='1', priority=priority_of((tag,)), author=author
            )
            for number, (author, tag) in enumerate(tasks)
        ]

        async def all_queued() -> bool:
            workflows = [
                await client.get_workflow_handle(workflow_id(str(number))).describe()
                for number in range(len(tasks))
            ]
            return all(item.raw_description.pending_activities for item in workflows)

        async with Worker(client, task_queue=CONTROL, workflows=[RunWorkflow], workflow_runner=plain):
            for placement in placed:
                await temporal.place(placement)
            await until(all_queued, 'all wait for a worker')
            queue = placed[0].queue
            async with Worker(client, task_queue=queue, activities=[drive], max_concurrent_activities=1):
                await until(lambda: len(order) == len(tasks), 'all are handed out')
    finally:
        fleet.close()
    return order


def _option(name: str, constrained: dict[str, Any]) -> tuple[str, str]:
    return '--dynamic-config-value', f'{name}={json.dumps(constrained["value"])}'


async def test_runs_are_taken_by_priority(tmp_path: Path) -> None:
    tasks = [*[('', 'priority:5')] * 2, *[('', '')] * 4, *[('', 'priority:1')] * 2]
    order = await observe_order(tmp_path, tasks)
    assert set(order[:2]) == {6, 7} and set(order[-2:]) == {0, 1}, order


async def test_runs_of_different_people_take_turns(tmp_path: Path) -> None:
    order = await observe_order(tmp_path, [*[('ada', '')] * 8, ('ben', ''), ('ben', '')])
    assert max(order.index(8), order.index(9)) < 6, order
