"""Registers the pages on NiceGUI, and opens and closes the conductor with the server."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import app

from engine import Conductor
from ui.door import Door
from ui.pages import home, launch, missing, run, runs, tools
from ui.settings import Places
from ui.theme import serve_assets, warn_everywhere
from ui.tuning import tune

log = logging.getLogger('hemicycle')

UNSAFE = 'Commands run without a sandbox'
Open = Callable[[], Awaitable[Conductor]]


def build(open_conductor: Open, places: Places | None = None) -> None:
    """Register everything that is served.

    Args:
        open_conductor: opens the journal and makes the conductor; called once, on the server's event loop.
            Every unfinished run whose owner is gone then goes on.
        places: where this process keeps what it keeps.
    """
    door = Door(places)

    async def start() -> None:
        conductor = await open_conductor()
        for fault in conductor.catalog.faults:
            log.error('%s:%s: %s', fault.path, fault.line, fault.problem)
        for recovered in await conductor.recover():
            log.info('run %s goes on', recovered)
        for stranded, reason in conductor.stranded.items():
            log.error('run %s cannot go on: %s', stranded, reason)
        if conductor.sandbox.unsafe and await conductor.sandbox.problem():
            warn_everywhere(UNSAFE)
        tune()
        door.open(conductor)

    async def stop() -> None:
        await door.close()

    app.on_startup(start)
    app.on_shutdown(stop)
    serve_assets()
    pages: tuple[Any, ...] = (home, launch, runs, run, tools, missing)
    for page in pages:
        page.register(door)
