"""Registers the pages on NiceGUI, and opens and closes the conductor with the server."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Awaitable, Callable

from nicegui import app, background_tasks

from engine import Conductor
from ui.door import Door
from ui.pages import __path__ as pages
from ui.serving.tidying import tidy_daily
from ui.serving.tuning import tune
from ui.settings import Places
from ui.theme import serve_assets, warn_everywhere

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
        await warn_of(conductor)
        # Servers on this machine need no configuration; nobody has to wait until they are found.
        background_tasks.create(conductor.catalog.offer.discover(), name='look for models here')
        background_tasks.create(tidy_daily(conductor), name='tidy runs')
        tune()
        door.open(conductor)

    async def stop() -> None:
        await door.close()

    app.on_startup(start)
    app.on_shutdown(stop)
    serve_assets()
    for found in pkgutil.iter_modules(pages):
        importlib.import_module(f'ui.pages.{found.name}').register(door)


async def warn_of(conductor: Conductor) -> None:
    """Have every page say so where agents' commands run without a sandbox."""
    unsafe = conductor.sandbox.unsafe and await conductor.sandbox.problem()
    warn_everywhere(UNSAFE if unsafe else '')
