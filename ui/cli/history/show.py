"""hemicycle show: one run, as a whole or at one step."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from engine import Transition
from engine.patterns import build_report, is_time_bounded, render_report
from engine.records import Note, RunInfo, Shape, View
from engine.runtime import GuardExplanations
from ui.cli.options import AsJson, Database, RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import SIMULATED, print_json
from ui.cli.output.run_report import RunReport
from ui.cli.session import find_run, load_catalog, open_reader, settings_of, storage_of
from ui.formatting.safe_text import strip_control
from ui.settings import Settings, Storage

EPILOG = """Examples:

```
hemicycle show last
hemicycle show 3f9 --at 12
hemicycle show last --report > report.md
hemicycle show 3f9 --json | jq .view.memory
```"""

AtStep = Annotated[
    int | None,
    typer.Option(min=1, metavar='STEP', help='The run as it was at this step.', show_default=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRun:
    """A run, read up to a step."""

    info: RunInfo
    shape: Shape
    view: View
    steps: list[Transition]
    """All steps up to the requested one, or only that one if `--at` is given."""
    notes: list[Note]
    """The notes on these steps."""
    explanations: GuardExplanations
    before: Mapping[str, Any]
    """The fold's document before the requested step."""


def show(  # noqa: PLR0913  (options)
    context: typer.Context,
    run: RunName = 'last',
    at: AtStep = None,
    report: Annotated[
        bool, typer.Option('--report', help='The report of a time-bounded run, as Markdown.')
    ] = False,
    as_json: AsJson = False,
    database: Database = '',
) -> None:
    """Show a run: its states, its steps with the guards evaluated, and what its agents said.

    With `--at`, one step: the states that are active after it, its guards, what it changed in memory, and the
    conversations so far. Nothing is run again, and it works while a server is running.
    """
    found = asyncio.run(_find(storage_of(context), settings_of(database), run, at))
    if report:
        if not is_time_bounded(found.view.memory):
            raise CommandError(f'run {found.info.id} has no report: its pattern is {found.info.pattern}')
        made = build_report(found.view.memory, status=found.view.status, error=found.view.error)
        if as_json:
            print_json(report=made.model_dump(mode='json'))
        else:
            typer.echo(strip_control(render_report(made)), nl=False)
            if 'simulated' in found.view.origins:
                typer.echo(SIMULATED, err=True)
        return
    if as_json:
        print_json(
            run=asdict(found.info),
            view=asdict(found.view),
            transitions=[asdict(step) for step in found.steps],
            notes=[asdict(note) for note in found.notes],
        )
        return
    story = RunReport(found.shape, found.view)
    story.header(found.info)
    for note in found.notes:
        typer.echo(f'note on step {note.seq}: {strip_control(note.text)}')
    story.states()
    if at is None:
        story.steps(found.steps)
    else:
        story.step(found.steps[0], found.explanations, found.before)
    story.comparison()
    story.conversations()
    story.memory()


async def _find(storage: Storage, settings: Settings, name: str, at: int | None) -> LoadedRun:
    # Only a single step needs the patterns, for the values its guards read.
    async with open_reader(storage, settings, load_catalog(settings) if at else None) as conductor:
        run = await find_run(conductor, name)
        view = await conductor.view(run, at)
        return LoadedRun(
            info=await conductor.info(run),
            shape=await conductor.shape(run),
            view=view,
            notes=[
                note for note in await conductor.notes(run) if note.seq <= view.seq and at in (None, note.seq)
            ],
            steps=await conductor.transitions(run, after=0 if at is None else at - 1, until=view.seq),
            explanations=await conductor.explain_guards(run),
            before=(await conductor.fold(run, at - 1)).document if at else {},
        )
