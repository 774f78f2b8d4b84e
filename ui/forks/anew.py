"""Runs a run again, or retries it from its last good step: asked first, with what it may cost."""

from __future__ import annotations

from collections.abc import Awaitable

from nicegui import ui

from engine import Conductor, RunId, RunInfo, Variation
from ui.dialogs import ask, told
from ui.forks import cost

SAID = 'A new run with the same parameters, models and budget. This one is not changed.'


async def again(conductor: Conductor, info: RunInfo) -> None:
    """Ask, then run it once more from its first step, and go there."""
    if await _sure(conductor, info, 0, Variation(before='live'), 'Run it again'):
        await _go(conductor.rerun(info.id))


async def retry(conductor: Conductor, info: RunInfo) -> None:
    """Ask, then go on from the last step before the run failed, and go there."""
    at = await told(conductor.retry_at(info.id))
    if at is not None and await _sure(conductor, info, at, Variation(), f'Retry from step {at}'):
        await _go(conductor.retry(info.id))


async def _sure(conductor: Conductor, info: RunInfo, at: int, variation: Variation, yes: str) -> bool:
    forecast = await told(conductor.forecast(info.id, at, variation))
    if forecast is None:
        return False
    return await ask(f'{yes}?', f'{SAID} {cost.told([forecast])[1]}', yes=yes, no='Not now', kind='primary')


async def _go(started: Awaitable[RunId]) -> None:
    run = await told(started)
    if run:
        ui.navigate.to(f'/runs/{run}')
