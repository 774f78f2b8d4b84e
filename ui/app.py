"""Registers the pages on NiceGUI, and opens and closes the conductor with the server."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import app

from engine import Conductor
from ui.door import Door
from ui.pages import home, launch, missing, run, runs
from ui.theme import serve_assets
from ui.tuning import tune

log = logging.getLogger('hemicycle')

Open = Callable[[], Awaitable[Conductor]]


def build(open_conductor: Open) -> None:
    """Register everything that is served.

    Args:
        open_conductor: opens the journal and makes the conductor; called once, on the server's event loop.
            Every unfinished run whose owner is gone then goes on.
    """
    door = Door()

    async def start() -> None:
        conductor = await open_conductor()
        for fault in conductor.catalog.faults:
            log.error('%s:%s: %s', fault.path, fault.line, fault.problem)
        for recovered in await conductor.recover():
            log.info('run %s goes on', recovered)
        for stranded, reason in conductor.stranded.items():
            log.error('run %s cannot go on: %s', stranded, reason)
        tune()
        door.open(conductor)

    async def stop() -> None:
        await door.close()

    app.on_startup(start)
    app.on_shutdown(stop)
    serve_assets()
    pages: tuple[Any, ...] = (home, launch, runs, run, missing)
    for page in pages:
        page.register(door)
