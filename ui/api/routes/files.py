"""The files of agents: at a step, as archives, and what changed between two moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from engine.records import RunId
from engine.workspace import FileChange, FileVersion
from ui.api.dependencies import At, Engine, Run, contents, list_of
from ui.api.problems import problems
from ui.web.downloads import HARMLESS, zip_download

router = APIRouter(prefix='/runs/{run}', tags=['Files'])
DIGEST = '^[0-9a-f]{64}$'
Digest = Annotated[str, Path(pattern=DIGEST, description='The digest of a snapshot or of a file.')]
Before = Annotated[
    str, Query(pattern=f'{DIGEST}|^$', description='The earlier snapshot; empty for an empty folder.')
]
After = Annotated[
    str, Query(pattern=f'{DIGEST}|^$', description='The later snapshot; empty for an empty folder.')
]
BYTES, ZIP = contents('application/octet-stream'), contents('application/zip')


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """An agent's folder at a step."""

    agent: str
    snapshot: str
    """The digest of its snapshot."""
    files: tuple[FileVersion, ...]


@router.get('/files', response_model=list_of(Folder), responses=problems(404))
async def list_files(conductor: Engine, run: Run, at: At = None) -> list[Folder]:
    """List the files of each agent at a step."""
    view = await conductor.view(RunId(run), at)
    return [
        Folder(
            agent=agent,
            snapshot=snapshot,
            files=tuple(await conductor.workspaces.files(view.run, snapshot)),
        )
        for agent, snapshot in view.files.items()
    ]


@router.get('/snapshots/{digest}', response_model=list_of(FileVersion), responses=problems(404))
async def list_snapshot(conductor: Engine, run: Run, digest: Digest) -> list[FileVersion]:
    """List the files of a snapshot."""
    info = await conductor.info(RunId(run))
    return await conductor.workspaces.files(info.id, digest)


@router.get('/contents/{digest}', response_class=Response, responses=problems(404) | BYTES)
async def get_content(conductor: Engine, run: Run, digest: Digest) -> Response:
    """Get the content of a file, or a long artifact."""
    info = await conductor.info(RunId(run))
    content = await conductor.workspaces.content(info.id, digest)
    return Response(content, media_type='application/octet-stream', headers=HARMLESS)


@router.get('/snapshots/{digest}/archive', response_class=Response, responses=problems(404) | ZIP)
async def get_archive(conductor: Engine, run: Run, digest: Digest) -> Response:
    """Get all files of a snapshot as a ZIP file."""
    info = await conductor.info(RunId(run))
    return await zip_download(conductor, info.id, digest)


@router.get('/changes', response_model=list_of(FileChange), responses=problems(404))
async def list_changes(
    conductor: Engine,
    run: Run,
    before: Before = '',
    after: After = '',
    other: Annotated[
        str, Query(max_length=100, description='The run that `after` belongs to, if it is another one.')
    ] = '',
) -> list[FileChange]:
    """List the files that differ between two snapshots, each with a unified diff."""
    info = await conductor.info(RunId(run))
    other_run = (await conductor.info(RunId(other))).id if other else None
    return await conductor.workspaces.diff(info.id, before, after, other=other_run)
