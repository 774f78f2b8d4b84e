"""Annotations, notes, the trash and retention."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field, StrictBool

from engine.history import CleanupResult
from engine.journal import ExpiredRun, Retention
from engine.records import MAX_NOTE, MAX_NUMBER, MAX_TAGS, MAX_TITLE, Note, RunId, RunInfo
from ui.api.dependencies import ChangesBody, Engine, RequestBody, Run, list_of
from ui.api.idempotency import IdempotentDep, respond_created
from ui.api.problems import problems
from ui.api.records import StorageUse
from ui.api.wire import encode_text, input_model, to_record, wire

router = APIRouter()
NOTES: list[str | Enum] = ['Notes']
RETENTION: list[str | Enum] = ['Retention']
NoteId = Annotated[int, Path(ge=1, le=MAX_NUMBER)]


class Annotations(ChangesBody):
    """Annotations of a run; fields that are left out stay as they are."""

    title: str = Field('', min_length=1, max_length=MAX_TITLE)
    tags: list[str] = Field([], max_length=MAX_TAGS)
    note: str = Field('', max_length=MAX_NOTE)
    starred: StrictBool = False
    pinned: StrictBool = False
    private: StrictBool = Field(False, description='Whether only its author and administrators can see it.')


class NoteText(RequestBody):
    """The text of a note."""

    text: str = Field(min_length=1, max_length=MAX_NOTE)


class NewNote(NoteText):
    """A note on a step."""

    at: int = Field(ge=1, le=MAX_NUMBER, description='The step.')


@router.patch('/runs/{run}', tags=NOTES, response_model=wire(RunInfo), responses=problems(404, 413, 415))
async def annotate(conductor: Engine, run: Run, changes: Annotations) -> RunInfo:
    """Change title, tags, note, star or pin of a run."""
    values: Any = changes.model_dump(exclude_unset=True)
    return await conductor.annotate(RunId(run), **values)


@router.get('/runs/{run}/notes', tags=NOTES, response_model=list_of(Note), responses=problems(404))
async def notes(conductor: Engine, run: Run) -> list[Note]:
    """List the notes on a run's steps."""
    return await conductor.notes(RunId(run))


@router.post(
    '/runs/{run}/notes',
    tags=NOTES,
    status_code=201,
    response_model=wire(Note),
    responses=problems(404, 413, 415),
)
async def write_note(conductor: Engine, once: IdempotentDep, run: Run, body: NewNote) -> Response:
    """Write a note on a step."""

    async def make(_: RunId) -> Response:
        note = await conductor.write_note(RunId(run), body.text, at=body.at)
        return respond_created(encode_text(note), f'/api/v1/runs/{run}/notes/{note.id}')

    return await once(make)


@router.put(
    '/runs/{run}/notes/{note}', tags=NOTES, response_model=wire(Note), responses=problems(404, 413, 415)
)
async def change_note(conductor: Engine, run: Run, note: NoteId, body: NoteText) -> Note:
    """Change the text of a note."""
    return await conductor.write_note(RunId(run), body.text, note=note)


@router.delete('/runs/{run}/notes/{note}', tags=NOTES, status_code=204, responses=problems(404))
async def delete_note(conductor: Engine, run: Run, note: NoteId) -> None:
    """Delete a note."""
    await conductor.delete_note(RunId(run), note)


@router.delete('/runs/{run}', tags=RETENTION, status_code=204, responses=problems(404))
async def delete(
    conductor: Engine,
    run: Run,
    cancel: Annotated[bool, Query(description='Cancel it first if it has not ended.')] = False,
) -> None:
    """Move a run to the trash."""
    await conductor.delete(RunId(run), cancel=cancel)


@router.post('/runs/{run}/restore', tags=RETENTION, response_model=wire(RunInfo), responses=problems(404))
async def restore(conductor: Engine, run: Run) -> RunInfo:
    """Restore a run from the trash."""
    return await conductor.restore(RunId(run))


@router.delete('/trash/{run}', tags=RETENTION, status_code=204, responses=problems(404))
async def purge(conductor: Engine, run: Run) -> None:
    """Permanently delete a run in the trash, with its files."""
    await conductor.purge(RunId(run))


@router.get('/retention', tags=RETENTION, response_model=wire(Retention))
async def retention(conductor: Engine) -> Retention:
    """Show how long runs are kept, as configured."""
    return conductor.retention


@router.post(
    '/retention/preview', tags=RETENTION, response_model=list_of(ExpiredRun), responses=problems(413, 415)
)
async def preview_cleanup(
    conductor: Engine,
    policy: input_model(Retention) | None = None,  # type: ignore[valid-type]
) -> list[ExpiredRun]:
    """List the runs that a policy (by default the configured one) would delete now."""
    return await conductor.preview_cleanup(policy and to_record(Retention, policy))


@router.post(
    '/retention/clean-up', tags=RETENTION, response_model=wire(CleanupResult), responses=problems(413, 415)
)
async def clean_up(
    conductor: Engine,
    policy: input_model(Retention) | None = None,  # type: ignore[valid-type]
) -> CleanupResult:
    """Apply a policy (by default the configured one): move runs to the trash, and purge old ones."""
    return await conductor.clean_up(policy and to_record(Retention, policy))


@router.get('/storage', tags=RETENTION, response_model=wire(StorageUse), responses=problems(404))
async def disk_usage(
    conductor: Engine,
    run: Annotated[
        list[str] | None, Query(max_length=500, description='Only these runs; all by default.')
    ] = None,
) -> StorageUse:
    """Show how much disk space runs use."""
    if run:
        infos = [await conductor.info(RunId(run_id)) for run_id in run]
    else:
        infos = [info async for info in conductor.iter_runs()]
    usages = await conductor.disk_usage(infos)
    return StorageUse(runs=usages, total=sum(used.total for used in usages.values()))
