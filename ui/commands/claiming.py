"""Takes over an unfinished run that no process runs, to steer it from here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine import Catalog, Conductor, EventRefused, RunId
from ui.commands.session import running
from ui.settings import Settings, Storage


@asynccontextmanager
async def claim(  # noqa: PLR0913  (two have defaults)
    storage: Storage,
    settings: Settings,
    catalog: Catalog,
    run: RunId,
    *,
    what: str = 'steer',
    paused: bool = True,
) -> AsyncIterator[Conductor]:
    """A conductor that has the run until it is let go of; it is `paused` before anything starts.

    Raises:
        EventRefused: the run has ended, or its process is still there; `what` is what was asked for.
    """
    async with running(storage, settings, catalog, only=run) as conductor:
        info = await conductor.info(run)
        if info.status.ended:
            raise EventRefused(run, what, f'it is {info.status}')
        if run not in await conductor.recover(paused=paused):
            owned = f'its process {info.owner} is still there; steer it in the dashboard that runs it'
            raise EventRefused(run, what, conductor.stranded.get(run, owned))
        yield conductor
