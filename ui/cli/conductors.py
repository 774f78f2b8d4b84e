"""Opens a conductor for a command: to run, to read, or to take over a run."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from engine import Catalog, Conductor, EventRefused, InvalidInput, LocalConductor
from engine.errors import UnknownRun
from engine.journal import MemoryJournal
from engine.records import RunId, RunQuery
from ui.app.services.files_owner import claim_files
from ui.cli.remote import connect, knows_pattern, server_at_work, servers_at_work
from ui.cli.session import Session
from ui.server.grace import grace_period

Listing = Literal['list', 'trash']
SHOWN_IDS = 5


def new_owner() -> str:
    """Return a unique name for this process."""
    return f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}'


@asynccontextmanager
async def open_conductor(
    session: Session, catalog: Catalog | None = None, *, pattern: str = ''
) -> AsyncIterator[Conductor]:
    """Open a conductor whose runs no other process takes over while this one lives.

    It has the session's catalog, unless another is given. If a server is named, or serves the database and
    knows the `pattern`, it is that server's conductor.
    """
    catalog = session.catalog if catalog is None else catalog
    url = server_at_work(session)
    if url and (session.server or not pattern or await knows_pattern(url, pattern)):
        async with connect(url, catalog) as remote:
            yield remote
        return
    async with _open_here(session, catalog) as conductor:
        yield conductor


@asynccontextmanager
async def _open_here(session: Session, catalog: Catalog) -> AsyncIterator[LocalConductor]:
    storage, settings = session.storage, session.settings
    locks, owner, files = storage.locks(settings), new_owner(), storage.files(settings)
    async with LocalConductor(
        await storage.open(settings),
        catalog=catalog,
        owner=owner,
        is_alive=locks.is_alive,
        workspaces=settings.workspaces,
        files=files,
    ) as conductor:
        try:
            if files:
                await claim_files(conductor.journal.documents, files)
            locks.acquire(owner)
            yield conductor
        finally:
            # Release the runs first: anyone who sees no lock may claim them.
            with grace_period(settings.grace) as over:
                await conductor.close(over)
            locks.release()


@asynccontextmanager
async def open_reader(session: Session, catalog: Catalog | None = None) -> AsyncIterator[Conductor]:
    """Open a conductor for reading runs, even while a server runs them; create no file."""
    if session.server:
        async with connect(session.server, catalog) as remote:
            yield remote
        return
    async with read_here(session, catalog) as conductor:
        yield conductor


@asynccontextmanager
async def read_here(session: Session, catalog: Catalog | None = None) -> AsyncIterator[LocalConductor]:
    """Open a conductor for reading the runs of the session's database."""
    storage, settings = session.storage, session.settings
    file = storage.file(settings)
    journal = await storage.open(settings) if file is None or file.exists() else MemoryJournal()
    async with LocalConductor(
        journal,
        catalog=catalog or Catalog(),
        workspaces=settings.workspaces,
        files=storage.files(settings),
    ) as conductor:
        yield conductor


async def find_run(conductor: Conductor, name: str, place: Listing = 'list') -> RunId:
    """Find a run by its id, the beginning of one, or `last`; in the list or the trash.

    Raises:
        UnknownRun: there is no such run.
        InvalidInput: several ids match.
    """
    if name == 'last':
        newest = await conductor.runs(RunQuery(place=place, limit=1))
        if not newest.runs:
            raise UnknownRun(name)
        return newest.runs[0].id
    try:
        return (await conductor.info(RunId(name))).id
    except UnknownRun:
        matches = [info.id async for info in conductor.iter_runs(place) if name and info.id.startswith(name)]
    if not matches:
        raise UnknownRun(name)
    if len(matches) > 1:
        listed = ', '.join(matches[:SHOWN_IDS]) + (', ...' if len(matches) > SHOWN_IDS else '')
        raise InvalidInput({'RUN': f'{len(matches)} runs begin with {name!r}: {listed}'})
    return matches[0]


@asynccontextmanager
async def claim(session: Session, run: RunId, *, what: str, paused: bool = True) -> AsyncIterator[Conductor]:
    """Open a conductor that owns the run until it is released; `paused` pauses it before anything starts.

    If a server runs it, this is that server's conductor, and the run is left as it is.

    Raises:
        EventRefused: the run has ended, or its process is still alive; `what` is the requested action.
    """
    for url in servers_at_work(session):
        async with connect(url, session.catalog) as remote:
            if session.server or remote.owner == (await remote.info(run)).owner:
                yield remote
                return
    async with _open_here(session, session.catalog) as conductor:
        info = await conductor.info(run)
        if info.status.ended:
            raise EventRefused(run, what, f'it is {info.status}')
        if run not in await conductor.recover(paused=paused, where=lambda info: info.id == run):
            owned = f'its process {info.owner} is still running; control the run in its dashboard'
            raise EventRefused(run, what, conductor.stranded.get(run, owned))
        yield conductor
