"""Opens a conductor for a command: to run on, or only to read."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast, get_args

import typer

from engine import (
    Catalog,
    Conductor,
    InvalidInput,
    Journal,
    MemoryJournal,
    RunId,
    RunInfo,
    RunQuery,
    UnknownRun,
)
from ui.settings import Locks, Settings, Storage, Synchronous

Place = Literal['list', 'trash']
SHOWN_IDS = 5


def settings_of(database: str, synchronous: str = 'normal', patterns: list[Path] | None = None) -> Settings:
    """Settings from options. Raises `InvalidInput`."""
    if synchronous not in get_args(Synchronous):
        raise InvalidInput({'--synchronous': f'must be normal or full, not {synchronous!r}'})
    return Settings.of(database, cast(Synchronous, synchronous), tuple(patterns or ()))


def storage_of(context: typer.Context) -> Storage:
    """What the composition root gave to the command line."""
    return cast(Storage, context.obj)


def new_owner() -> str:
    """A name for this process that no other has."""
    return f'{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}'


@asynccontextmanager
async def running(
    storage: Storage, settings: Settings, catalog: Catalog, *, only: RunId | None = None
) -> AsyncIterator[Conductor]:
    """A conductor whose runs others leave alone while this process lives; `only` narrows its `recover`."""
    journal = await storage.open(settings)
    if only is not None:
        journal = cast(Journal, _OneUnfinished(journal, only))
    locks: Locks = storage.locks(settings)
    owner = new_owner()
    async with Conductor(
        journal,
        catalog=catalog,
        owner=owner,
        is_alive=locks.is_alive,
        workspaces=settings.workspaces,
    ) as conductor:
        try:
            locks.take(owner)
            yield conductor
        finally:
            # Let go of the runs first: whoever sees no lock may claim them.
            await conductor.close()
            locks.release()


@asynccontextmanager
async def reading(
    storage: Storage, settings: Settings, catalog: Catalog | None = None
) -> AsyncIterator[Conductor]:
    """A conductor to look at runs with, also while a server runs them; makes no database."""
    journal = await storage.open(settings) if storage.file(settings).exists() else MemoryJournal()
    async with Conductor(journal, catalog=catalog or Catalog(), workspaces=settings.workspaces) as conductor:
        yield conductor


async def find(conductor: Conductor, name: str, place: Place = 'list') -> RunId:
    """The run that a person means by an id, the beginning of one, or `last`; of the list or the trash.

    Raises:
        UnknownRun: there is none.
        InvalidInput: several ids begin so.
    """
    if name == 'last':
        newest = await conductor.runs(RunQuery(place=place, limit=1))
        if not newest.runs:
            raise UnknownRun(name)
        return newest.runs[0].id
    try:
        return (await conductor.info(RunId(name))).id
    except UnknownRun:
        found = [info.id async for info in conductor.every(place) if name and info.id.startswith(name)]
    if not found:
        raise UnknownRun(name)
    if len(found) > 1:
        listed = ', '.join(found[:SHOWN_IDS]) + (', ...' if len(found) > SHOWN_IDS else '')
        raise InvalidInput({'RUN': f'{len(found)} runs begin with {name!r}: {listed}'})
    return found[0]


class _OneUnfinished:
    """A journal in which one run alone is unfinished: a recovery leaves the others to whoever takes them."""

    def __init__(self, journal: Journal, run: RunId) -> None:
        self._journal, self._run = journal, run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def unfinished(self) -> list[RunInfo]:
        return [info for info in await self._journal.unfinished() if info.id == self._run]
