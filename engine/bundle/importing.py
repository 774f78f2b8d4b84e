"""Takes the runs of a bundle in: all of them or none, over none that is here, and starts none."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, Literal, TypeVar

from engine.bundle.reading import Reader
from engine.bundle.staging import Staging
from engine.bundle.unpacked import Unpacked
from engine.conductor import Conductor
from engine.errors import BundleError, UnknownRun
from engine.records import RunId, RunInfo, Transition

T = TypeVar('T')
PAGE = 500
SAME = ('pattern', 'parameters', 'models', 'seed', 'options', 'created', 'simulated', 'seq')
"""What two runs have in common that are one; a title, tags and a note may have been changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A run of a bundle, and what became of it."""

    run: RunId
    """Its id here."""
    origin: RunId
    """Its id in the bundle."""
    title: str
    outcome: Literal['new', 'renamed', 'known']
    """Taken in under its own id; under another, since that one is another run here; or here already."""
    closed: bool = False
    """Whether it came unfinished: it then ends with the step that says so."""
    hidden: int = 0
    """How many texts of the file had something secret taken out of them, when it was written."""


async def import_bundle(
    conductor: Conductor, file: BinaryIO, *, progress: Callable[[int], None] = lambda read: None
) -> list[Imported]:
    """Take in the runs of a bundle.

    Args:
        conductor: where to.
        file: the bundle, open for reading at its beginning; it can be read twice.
        progress: is told how many bytes of the file have been read, by another thread.

    Raises:
        BundleError: the file is refused; names the line and the field. Nothing was taken in.
        JournalError: the journal did not take it; nor was anything else.
    """
    making = asyncio.ensure_future(asyncio.to_thread(Staging, conductor.workspaces.root))
    try:
        staging = await _over(making)
    except asyncio.CancelledError:
        await asyncio.to_thread(making.result().close)
        raise
    reader = Reader(file, staging, progress)
    try:
        runs = await _over(asyncio.ensure_future(asyncio.to_thread(reader.read)), reader.stop.set)
        return await _over(asyncio.ensure_future(_keep(conductor, staging, runs, reader.hidden)))
    except OSError as error:
        raise BundleError(0, f'it cannot be unpacked: {error.strerror or error}') from error
    finally:
        await asyncio.to_thread(staging.close)


async def _over(work: asyncio.Future[T], stop: Callable[[], None] = lambda: None) -> T:
    """Wait for work that is not left half done: where nobody wants it any more, that is said at its end."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait({work})
        work.exception()
        raise


async def _keep(conductor: Conductor, staging: Staging, runs: list[Unpacked], hidden: int) -> list[Imported]:
    ids: dict[RunId, RunId] = {}
    known: set[RunId] = set()
    for run in runs:
        here = await _found(conductor, run.info.id)
        if here is None:
            ids[run.info.id] = run.info.id
        elif await _is_same(conductor, here, run):
            ids[run.info.id] = run.info.id
            known.add(run.info.id)
        else:
            ids[run.info.id] = RunId(uuid.uuid4().hex[:12])
    fresh = [(number, run) for number, run in enumerate(runs) if run.info.id not in known]
    await _settle(conductor, staging, fresh, ids)
    return [
        Imported(
            run=ids[run.info.id],
            origin=run.info.id,
            title=run.info.title,
            outcome='known'
            if run.info.id in known
            else 'new'
            if ids[run.info.id] == run.info.id
            else 'renamed',
            closed=run.closing is not None,
            hidden=hidden,
        )
        for run in runs
    ]


async def _settle(
    conductor: Conductor, staging: Staging, fresh: list[tuple[int, Unpacked]], ids: dict[RunId, RunId]
) -> None:
    """Put the files in place, and then the runs into the journal: that they are there is what counts."""
    wholes = []
    try:
        for number, run in fresh:
            name = ids[run.info.id]
            parent = run.info.parent
            wholes.append(run.as_run(name, ids.get(parent, parent) if parent else None))
            await asyncio.to_thread(staging.settle, number, conductor.workspaces.home(name))
        if wholes:
            await conductor.journal.put(wholes)
    except BaseException:
        await asyncio.to_thread(staging.take_back)
        raise
    for whole in wholes:
        conductor.workspaces.forget(whole.info.id)


async def _found(conductor: Conductor, run: RunId) -> RunInfo | None:
    try:
        return await conductor.info(run)
    except UnknownRun:
        return None


async def _is_same(conductor: Conductor, here: RunInfo, run: Unpacked) -> bool:
    """Whether a run that is here has the same history."""
    if any(getattr(here, name) != getattr(run.info, name) for name in SAME):
        return False
    if await conductor.shape(here.id) != run.shape:
        return False
    history = (step for step in run.history(here.id) if isinstance(step, Transition))
    for first in range(0, here.seq, PAGE):
        theirs = await asyncio.to_thread(_some, history)
        ours = await conductor.transitions(here.id, after=first, limit=PAGE)
        if ours != theirs:
            return False
    return True


def _some(history: Iterator[Transition]) -> list[Transition]:
    return list(islice(history, PAGE))
