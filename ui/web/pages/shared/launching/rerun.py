"""Rerunning a run, or retrying it from its last good step, after confirming the cost."""

from __future__ import annotations

from collections.abc import Awaitable

from nicegui import ui

from engine import Conductor
from engine.history import ForkOverrides
from engine.records import RunId, RunInfo
from ui.formatting import forks
from ui.web.components.dialogs import confirm, notify_errors

EXPLANATION = 'Starts a new run with the same parameters, models and budget. This run is not changed.'


async def rerun(conductor: Conductor, info: RunInfo) -> None:
    """Ask, then run it again from the first step, and open the new run."""
    if await _confirm(conductor, info, 0, ForkOverrides(before='live'), 'Run again'):
        await _open_run(conductor.rerun(info.id))


async def retry(conductor: Conductor, info: RunInfo) -> None:
    """Ask, then retry from the last step before the failure, and open the new run."""
    at = await notify_errors(conductor.retry_at(info.id))
    if at is not None and await _confirm(conductor, info, at, ForkOverrides(), f'Retry from step {at}'):
        await _open_run(conductor.retry(info.id))


async def _confirm(conductor: Conductor, info: RunInfo, at: int, variation: ForkOverrides, yes: str) -> bool:
    forecast = await notify_errors(conductor.forecast(info.id, at, variation))
    if forecast is None:
        return False
    return await confirm(
        f'{yes}?', f'{EXPLANATION} {forks.cost_sentence([forecast])[1]}', yes=yes, no='Cancel'
    )


async def _open_run(started: Awaitable[RunId]) -> None:
    run = await notify_errors(started)
    if run:
        ui.navigate.to(f'/runs/{run}')
