"""hemicycle show: one run, as a whole or at one step."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from engine.patterns import build_report, is_time_bounded, render_report
from engine.records import RunInfo, View
from ui.cli.options import AsJson, Database, RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import SIMULATED, print_json
from ui.cli.output.run_report import RunReport
from ui.cli.session import find_run, load_catalog, open_reader, settings_of, storage_of
from ui.formatting.safe_text import strip_control

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
    settings = settings_of(database)

    async def work() -> None:
        # Only a single step needs the patterns, for the values its guards read.
        catalog = load_catalog(settings) if at else None
        async with open_reader(storage_of(context), settings, catalog) as conductor:
            found = await find_run(conductor, run)
            info, view = await conductor.info(found), await conductor.view(found, at)
            if report:
                _print_report(info, view, as_json)
                return
            known = [note for note in await conductor.notes(found) if note.seq <= view.seq]
            notes = [note for note in known if at in (None, note.seq)]
            steps = await conductor.transitions(found, after=at - 1 if at else 0, until=view.seq)
            if as_json:
                print_json(
                    run=asdict(info),
                    view=asdict(view),
                    transitions=[asdict(step) for step in steps],
                    notes=[asdict(note) for note in notes],
                )
                return
            story = RunReport(await conductor.shape(found), view)
            story.header(info)
            for note in notes:
                typer.echo(f'note on step {note.seq}: {strip_control(note.text)}')
            story.states()
            if at is None:
                story.steps(steps)
            else:
                before = await conductor.fold(found, at - 1)
                story.step(steps[0], await conductor.explain_guards(found), before.document)
            story.comparison()
            story.conversations()
            story.memory()

    asyncio.run(work())


def _print_report(info: RunInfo, view: View, as_json: bool) -> None:
    if not is_time_bounded(view.memory):
        raise CommandError(f'run {info.id} has no report: its pattern is {info.pattern}')
    made = build_report(view.memory, status=view.status, error=view.error)
    if as_json:
        print_json(report=made.model_dump(mode='json'))
        return
    typer.echo(strip_control(render_report(made)), nl=False)
    if 'simulated' in view.origins:
        typer.echo(SIMULATED, err=True)
