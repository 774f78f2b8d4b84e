"""Annotations, notes, the trash and retention."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field, StrictBool

from engine.journal import Retention
from engine.records import MAX_NOTE, MAX_NUMBER, MAX_TAGS, MAX_TITLE, Note, RunId, RunInfo
from ui.api.dependencies import ChangesBody, Engine, RequestBody, Run
from ui.api.idempotency import IdempotentDep, respond_created
from ui.api.problems import problems
from ui.api.records import StorageUse
from ui.api.wire import encode_text, wire

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


@router.get('/retention', tags=RETENTION, response_model=wire(Retention))
async def retention(conductor: Engine) -> Retention:
    """Show how long runs are kept, as configured."""
    return conductor.retention


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
