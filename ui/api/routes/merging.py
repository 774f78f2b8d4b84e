"""What a run's agents made: what can be merged, previewed, put together, tested, merged and sent back."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from engine import Conductor
from engine.errors import JournalConflict, WorkspaceError
from engine.history import RESULT, Mergeable, Pick
from engine.records import RunId, RunInfo
from engine.workspace import MergePreview, Resolution, SuiteResult
from ui.api.dependencies import Engine, Run
from ui.api.idempotency import OneTime
from ui.api.problems import Refusal, problems
from ui.api.routes.files import DIGEST
from ui.api.routes.launch import PLACE, report
from ui.api.wire import input_model, to_record, wire

router = APIRouter(prefix='/runs/{run}/merging', tags=['Merging'])
REFUSES = problems(404, 409, 413, 415)
MOST_FILES = 10_000
T = TypeVar('T')
Path = Annotated[str, StringConstraints(max_length=4_096)]
Name = Annotated[str, StringConstraints(max_length=200)]
Start = Annotated[str, StringConstraints(pattern=f'{DIGEST}|^$')]
End = Annotated[str, StringConstraints(pattern=DIGEST)]


class WorkSource(BaseModel):
    """Whose work is meant."""

    model_config = ConfigDict(extra='forbid')

    agent: Name = Field('', description='The agent; by default the one whose work is the best.')
    result: tuple[Start, End] | None = Field(
        None, description=f'The two snapshots of `{RESULT}`, as `compose` gave them: then its work is meant.'
    )


class Composed(BaseModel):
    """What a result is put together from."""

    model_config = ConfigDict(extra='forbid')

    picks: list[input_model(Pick)] = Field(min_length=1, max_length=MOST_FILES)  # type: ignore[valid-type]


class PreviewRequest(WorkSource):
    """A merge to work out."""

    into: Name = Field('', description='The branch; by default the one that is checked out.')
    resolutions: dict[Path, input_model(Resolution)] = Field(  # type: ignore[valid-type]
        default_factory=dict, description='Of files in conflict, by path.'
    )
    only: list[Path] = Field(
        default_factory=list, max_length=MOST_FILES, description='Take these files only.'
    )


class MergeRequest(PreviewRequest):
    """A merge to carry out, as it was previewed."""

    into: Name = Field(min_length=1, description='The branch, as previewed.')
    onto: Name = Field(description='The commit that it is put onto, as previewed: refused if it has moved.')
    message: str = Field('', max_length=20_000, description="The commit's message; one is made by default.")


class SentBack(BaseModel):
    """A message to an agent about its work."""

    model_config = ConfigDict(extra='forbid')

    agent: Name
    text: str = Field(min_length=1, max_length=100_000)


@router.get('', response_model=wire(Mergeable), responses=problems(404))
async def mergeable(conductor: Engine, run: Run) -> Mergeable:
    """Show what of a run can be merged, and into what."""
    return await conductor.merging.mergeable(RunId(run))


@router.post('/compose', response_model=wire(Mergeable), responses=REFUSES)
async def compose(conductor: Engine, run: Run, wanted: Composed) -> Mergeable:
    """Put a result together from several agents' files, or from some of their changes."""
    found = await conductor.merging.mergeable(RunId(run))
    return await _refusing(conductor.merging.compose(found, [to_record(Pick, one) for one in wanted.picks]))


@router.post('/test', response_model=wire(SuiteResult), responses=REFUSES)
async def test_work(conductor: Engine, run: Run, wanted: WorkSource) -> SuiteResult:
    """Run the run's tests on a copy of an agent's work."""
    found = await _find(conductor, run, wanted)
    return await _refusing(conductor.merging.test(found, wanted.agent or found.best))


@router.post('/preview', response_model=wire(MergePreview), responses=REFUSES)
async def preview_merge(conductor: Engine, run: Run, wanted: PreviewRequest) -> MergePreview:
    """Work out a merge: its files, conflicts and patch; nothing is changed."""
    return await _preview(conductor, await _find(conductor, run, wanted), wanted)


@router.post('/merge', responses=REFUSES)
async def merge(conductor: Engine, run: Run, wanted: MergeRequest) -> dict[str, str]:
    """Merge as previewed: one commit on the branch, whose id is answered."""
    found = await _find(conductor, run, wanted)
    previewed = MergePreview(  # all that counts of it: the branch, and where it was
        branch=wanted.into, onto=wanted.onto, is_new=False, checked_out='', paths=(), conflicts=(), patch=''
    )
    made = conductor.merging.merge(
        found, previewed, wanted.agent, message=wanted.message, **_merge_options(wanted)
    )
    return {'commit': await _refusing(made)}


@router.post('/send-back', status_code=201, response_model=wire(RunInfo), responses=REFUSES)
async def send_back(conductor: Engine, once: OneTime, run: Run, wanted: SentBack) -> Response:
    """Fork a run from an agent's last turn, with a message to it as what it is asked next."""

    async def respond(new: RunId) -> Response:
        with suppress(JournalConflict):  # This server died after it had started the run.
            await conductor.merging.send_back(RunId(run), wanted.agent, wanted.text, new=new)
        return await report(conductor, new)

    return await once(respond, place=PLACE)


async def _find(conductor: Conductor, run: str, wanted: WorkSource) -> Mergeable:
    found = await conductor.merging.mergeable(RunId(run))
    if wanted.result is None:
        return found
    return replace(found, folders={**found.folders, RESULT: wanted.result}, best=RESULT)


async def _preview(conductor: Conductor, found: Mergeable, wanted: PreviewRequest) -> MergePreview:
    return await _refusing(
        conductor.merging.preview(found, wanted.agent, wanted.into, **_merge_options(wanted))
    )


def _merge_options(wanted: PreviewRequest) -> dict[str, Any]:
    given = {path: to_record(Resolution, one) for path, one in wanted.resolutions.items()}
    return {'resolutions': given, 'only': wanted.only}


async def _refusing(work: Awaitable[T]) -> T:
    """The result of work in a repository; what stands in its way is a conflict, not a missing file."""
    try:
        return await work
    except WorkspaceError as error:
        raise Refusal(409, 'cannot-merge', str(error)) from None
