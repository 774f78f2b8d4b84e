"""Imports the runs and documents of a bundle: all or none, overwriting nothing and starting none."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar

from engine.errors import BundleError, UnknownRun
from engine.history.bundle.documents import Imported, PreparedDocuments
from engine.history.bundle.reader import BundleReader
from engine.history.bundle.staging import StagedRun, Staging, sweep
from engine.history.bundle.store import BundleStore
from engine.records import RunId, RunInfo, Transition
from engine.workspace.directories import walk

T = TypeVar('T')
STEPS_PER_PAGE = 500
IDENTITY_FIELDS = ('pattern', 'parameters', 'models', 'seed', 'options', 'created', 'simulated')
"""Fields that must be equal for two runs to be the same; titles, tags and notes may have changed."""


async def import_bundle(
    store: BundleStore, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
) -> list[Imported]:
    """Import the runs and documents of a bundle.

    Args:
        store: the destination.
        file: the bundle, open at its beginning; seekable, since it may be read twice.
        progress: called with the bytes read so far, from another thread.

    Raises:
        BundleError: the file is rejected; names the line and the field. Nothing was imported.
        JournalError: the journal could not be written. Nothing was imported.
    """
    await sweep(store.workspaces.root, partial(_exists, store))
    making = asyncio.ensure_future(asyncio.to_thread(Staging, store.workspaces.root))
    try:
        staging = await finish_work(making)
    except asyncio.CancelledError:
        await asyncio.to_thread(making.result().close)
        raise
    reader = BundleReader(file, staging, progress, store.documents.begin())
    try:
        runs = await finish_work(asyncio.ensure_future(asyncio.to_thread(reader.read)), reader.stop.set)
        return await finish_work(asyncio.ensure_future(_store_bundle(store, staging, runs, reader)))
    except OSError as error:
        raise BundleError(0, f'it cannot be unpacked: {error.strerror or error}') from error
    finally:
        await asyncio.to_thread(staging.close)


async def finish_work(work: asyncio.Future[T], stop: Callable[[], None] = lambda: None) -> T:
    """Await work that must not be left half done; a cancellation is raised once it has finished."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait({work})
        work.exception()
        raise


async def _store_bundle(
    store: BundleStore, staging: Staging, runs: list[StagedRun], reader: BundleReader
) -> list[Imported]:
    ids: dict[RunId, RunId] = {}
    present: dict[RunId, RunInfo] = {}
    for run in runs:
        here = await _find_here(store, run.info.id)
        home = store.workspaces.home(run.info.id)
        if here is None and not await asyncio.to_thread(_has_files, home):
            ids[run.info.id] = run.info.id
        elif here and await _is_same(store, here, run):
            ids[run.info.id] = run.info.id
            present[run.info.id] = here
        else:
            ids[run.info.id] = RunId(uuid.uuid4().hex[:12])
    fresh = [(number, run) for number, run in enumerate(runs) if run.info.id not in present]
    here_as = {run.info.id: replace(run.info, id=ids[run.info.id]) for run in runs} | present
    prepared = await reader.documents.prepare(staging.documents(), here_as, reader.exported)
    if fresh or reader.count_documents:
        await _store_runs(store, staging, fresh, ids, prepared)
    return [
        *(replace(item, hidden=reader.hidden) for item in prepared.imported),
        *_outcomes(runs, ids, present, reader.hidden),
    ]


def _outcomes(
    runs: list[StagedRun], ids: Mapping[RunId, RunId], present: Container[RunId], hidden: int
) -> list[Imported]:
    return [
        Imported(
            id=ids[run.info.id],
            origin=run.info.id,
            title=run.info.title,
            outcome='known'
            if run.info.id in present
            else 'new'
            if ids[run.info.id] == run.info.id
            else 'renamed',
            closed=run.closing is not None and run.info.id not in present,
            hidden=hidden,
        )
        for run in runs
    ]


async def _store_runs(
    store: BundleStore,
    staging: Staging,
    fresh: list[tuple[int, StagedRun]],
    ids: dict[RunId, RunId],
    prepared: PreparedDocuments,
) -> None:
    """Move the files into place, then journal the runs: a run exists only once it is in the journal."""
    wholes = []
    try:
        for number, run in fresh:
            name = ids[run.info.id]
            parent = run.info.parent
            wholes.append(run.as_run(name, ids.get(parent, parent) if parent else None, prepared.tags))
            await asyncio.to_thread(staging.move_into_place, number, store.workspaces.home(name))
            store.workspaces.forget(name)
            await store.workspaces.upload(name)
            await store.recordings.publish(name)
        await store.reader.journal.import_runs(wholes, prepared.entries)
    except BaseException:
        await asyncio.to_thread(staging.roll_back)
        raise
    for whole in wholes:
        store.workspaces.forget(whole.info.id)


def _has_files(home: Path) -> bool:
    """Return whether a run's folder holds files; those of a run unknown here belong to another database."""
    return any(entry and not entry.is_dir(follow_symlinks=False) for _, entry in walk(home))


async def _find_here(store: BundleStore, run: RunId) -> RunInfo | None:
    try:
        return await store.reader.journal.info(run)
    except UnknownRun:
        return None


async def _exists(store: BundleStore, run: RunId) -> bool:
    return await _find_here(store, run) is not None


async def _is_same(store: BundleStore, here: RunInfo, run: StagedRun) -> bool:
    """Return whether an existing run has the same history; one that was unfinished may have gone on since."""
    steps = run.info.seq - (run.closing is not None)
    if here.seq < steps or (here.seq > steps and run.closing is None):
        return False
    if any(getattr(here, name) != getattr(run.info, name) for name in IDENTITY_FIELDS):
        return False
    if await store.reader.journal.shape(here.id) != run.shape:
        return False
    history = islice((step for step in run.history(here.id) if isinstance(step, Transition)), steps)
    for first in range(0, steps, STEPS_PER_PAGE):
        until = min(first + STEPS_PER_PAGE, steps)
        theirs = await asyncio.to_thread(lambda: list(islice(history, STEPS_PER_PAGE)))
        ours = await store.reader.journal.transitions(here.id, after=first, until=until)
        if ours != theirs:
            return False
    return True
