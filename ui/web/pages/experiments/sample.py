"""The sample: an experiment that runs offline, and whose answer is known."""

from __future__ import annotations

import asyncio

from nicegui import ui

from engine.operations.experiments import SAMPLE, read_experiment
from ui.app.backend import Backend
from ui.web.components.dialogs import notify_errors


async def run_sample(backend: Backend) -> None:
    """Save its cases, start it and open its page, or show why it does not start."""
    file = await asyncio.to_thread(read_experiment, SAMPLE)
    if await notify_errors(backend().datasets.save(file.experiment.dataset, file.cases)) is None:
        return
    started = await notify_errors(backend().experiments.add(file.experiment))
    if started:
        ui.navigate.to(f'/experiments/{started.id}')
