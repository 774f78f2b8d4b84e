"""hemicycle show: one run, as a whole or at one step."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from engine import Grounds, Note, RunInfo, Shape, Transition, View, is_time_bounded, markdown, report_of
from ui.commands.exits import Refused
from ui.commands.options import AsJson, Database, RunName
from ui.commands.run import catalog_of
from ui.commands.session import find, reading, settings_of, storage_of
from ui.commands.showers import json_line
from ui.commands.story import Story
from ui.plain import plain
from ui.settings import Settings, Storage

EPILOG = """Examples:

```
hemicycle show last
hemicycle show 3f9 --at 12
hemicycle show last --report > report.md
hemicycle show 3f9 --json | jq .view.memory
```"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A run, read up to a step."""

    info: RunInfo
    shape: Shape
    view: View
    steps: list[Transition]
    """All up to the step; where a step was named, that one alone."""
    notes: list[Note]
    """Those on these steps."""
    grounds: Grounds
    before: Mapping[str, Any]
    """The fold's document without the step that was named."""


def show(  # noqa: PLR0913  (options)
    context: typer.Context,
    run: RunName = 'last',
    at: Annotated[
        int | None,
        typer.Option(min=1, metavar='STEP', help='The run as it was at this step.', show_default=False),
    ] = None,
    report: Annotated[
        bool, typer.Option('--report', help='The report of a time-bounded run, as Markdown.')
    ] = False,
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Show a run: its states, its steps with the guards that were asked, and what its agents said.

    With `--at`, one step: the states that are active after it, its guards, what it changed in memory, and the
    conversations so far. Nothing is run again, and it works while a server runs.
    """
    found = asyncio.run(_find(storage_of(context), settings_of(database), run, at))
    if report:
        if not is_time_bounded(found.view.memory):
            raise Refused(f'run {found.info.id} has no report: its pattern is {found.info.pattern}')
        made = report_of(found.view.memory)
        if as_json:
            json_line(report=made.model_dump(mode='json'))
        else:
            typer.echo(plain(markdown(made)), nl=False)
        return
    if as_json:
        json_line(
            run=asdict(found.info),
            view=asdict(found.view),
            transitions=[asdict(step) for step in found.steps],
            notes=[asdict(note) for note in found.notes],
        )
        return
    story = Story(found.shape, found.view)
    story.header(found.info)
    for note in found.notes:
        typer.echo(f'note on step {note.seq}: {plain(note.text)}')
    story.states()
    if at is None:
        story.steps(found.steps)
    else:
        story.step(found.steps[0], found.grounds, found.before)
    story.conversations()
    story.memory()


async def _find(storage: Storage, settings: Settings, name: str, at: int | None) -> Found:
    # Only a single step needs the patterns: for what its guards look at.
    async with reading(storage, settings, catalog_of(settings) if at else None) as conductor:
        run = await find(conductor, name)
        view = await conductor.view(run, at)
        return Found(
            info=await conductor.info(run),
            shape=await conductor.shape(run),
            view=view,
            notes=[
                note for note in await conductor.notes(run) if note.seq <= view.seq and at in (None, note.seq)
            ],
            steps=await conductor.transitions(run, after=0 if at is None else at - 1, until=view.seq),
            grounds=await conductor.grounds(run),
            before=(await conductor.fold(run, at - 1)).document if at else {},
        )
