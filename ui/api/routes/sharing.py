"""Exports and imports of runs and experiments, streamed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field, StrictBool

from engine.history import Imported
from engine.records import RunId
from ui.api.dependencies import Engine, RequestBody, Run, contents, list_of, to_run_ids
from ui.api.problems import problems
from ui.api.routes.uploads import FILE, received
from ui.web.downloads import complete_download
from ui.web.exports.formats import FORMATS, FormatName, experiment_file_name, file_name, stream_export

router = APIRouter(tags=['Sharing'])
MAX_BYTES = 1 << 30
"""Maximum size of an imported file."""
EXPORTED = contents(*(form.media.partition(';')[0] for form in FORMATS.values()))


class ExportRequest(RequestBody):
    """The runs to export as one bundle."""

    runs: list[str] = Field(min_length=1, max_length=1_000)
    compressed: StrictBool = True


@router.get('/runs/{run}/export/{form}', response_class=Response, responses=problems(404) | EXPORTED)
async def export_run(conductor: Engine, run: Run, form: Annotated[FormatName, Path()]) -> Response:
    """Export a run: an offline page, a bundle (with its fork tree), a transcript, or a regression test."""
    info = await conductor.info(RunId(run))
    content = stream_export(conductor, info.id, form)
    return await complete_download(content, FORMATS[form].media, file_name(info, form))


@router.post(
    '/exports',
    response_class=Response,
    responses=problems(404, 413, 415) | contents(FORMATS['bundle'].media),
)
async def export_bundle(conductor: Engine, body: ExportRequest) -> Response:
    """Export several runs as one bundle."""
    content = conductor.export_bundle(to_run_ids(body.runs), compressed=body.compressed)
    end = 'jsonl.gz' if body.compressed else 'jsonl'
    return await complete_download(content, FORMATS['bundle'].media, f'hemicycle.{end}')


@router.get(
    '/experiments/{experiment}/export',
    response_class=Response,
    responses=problems(404) | contents(FORMATS['bundle'].media),
)
async def export_experiment(
    conductor: Engine, experiment: Annotated[str, Path(max_length=200)], *, compressed: bool = True
) -> Response:
    """Export an experiment as a bundle: dataset, scores, marks, and the runs that you may see."""
    stored = await conductor.experiments.get(experiment)
    content = conductor.experiments.export(stored.id, compressed=compressed)
    return await complete_download(content, FORMATS['bundle'].media, experiment_file_name(stored))


@router.post(
    '/imports',
    response_model=list_of(Imported),
    responses=problems(413, 429),
    openapi_extra=dict(FILE),
    max_body_size=MAX_BYTES,
)
async def import_bundle(conductor: Engine, request: Request) -> list[Imported]:
    """Import a bundle, sent as the body: all or none. Safe to repeat: what is known is kept.

    With the runs of an experiment come the experiment itself and its dataset; it is not started. The body
    may also be OpenTelemetry traces as OTLP/JSON: each becomes a run, drawn from its spans.
    """
    async with received(request) as file:
        return await conductor.import_bundle(file)
