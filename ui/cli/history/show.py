"""hemicycle show: one run, as a whole or at one step."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from engine import Conductor
from engine.history import report_of
from engine.records import RunInfo, View
from ui.cli.conductors import find_run, open_reader
from ui.cli.options import RunName
from ui.cli.output.errors import CommandError
from ui.cli.output.reporters import print_json
from ui.cli.output.run_report import RunReport
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import origin_note

EPILOG = """Examples:

```
hemicycle show last
hemicycle show 3f9 --at 12
hemicycle show last --report > report.md
hemicycle show 3f9 --json | jq .view.memory
```"""

AtStep = Annotated[
    int | None,
    typer.Option(min=1, metavar='STEP', help='The run as it was at this step.'),
]


@with_session('as_json', 'database', 'server')
def show(
    run: RunName = 'last',
    at: AtStep = None,
    report: Annotated[bool, typer.Option('--report', help='The report of the run, as Markdown.')] = False,
    *,
    session: Session,
) -> None:
    """Show a run: its states, its steps with the guards evaluated, and what its agents said.

    With `--at`, one step: the states that are active after it, its guards, what it changed in memory, and the
    conversations so far. Nothing is run again, and it works while a server is running.
    """

    async def work() -> None:
        # Only these need the patterns: a single step, for the values its guards read, and the report.
        catalog = session.catalog if at or report else None
        async with open_reader(session, catalog) as conductor:
            run_id = await find_run(conductor, run)
            info, view = await conductor.info(run_id), await conductor.view(run_id, at)
            if report:
                await _print_report(conductor, info, view, as_json=session.as_json)
                return
            known_notes = [note for note in await conductor.notes(run_id) if note.seq <= view.seq]
            notes = [note for note in known_notes if at in (None, note.seq)]
            steps = await conductor.transitions(run_id, after=at - 1 if at else 0, until=view.seq)
            if session.as_json:
                print_json(
                    run=asdict(info),
                    view=asdict(view),
                    transitions=[asdict(step) for step in steps],
                    notes=[asdict(note) for note in notes],
                )
                return
            story = RunReport(await conductor.shape(run_id), view)
            story.header(info)
            for note in notes:
                typer.echo(f'note on step {note.seq}: {strip_control(note.text)}')
            story.states()
            if at is None:
                story.steps(steps)
            else:
                before = await conductor.fold(run_id, at - 1)
                story.step(steps[0], await conductor.explain_guards(run_id), before.document)
            story.comparison()
            story.conversations()
            story.memory()

    asyncio.run(work())


async def _print_report(conductor: Conductor, info: RunInfo, view: View, *, as_json: bool) -> None:
    report = report_of(conductor.catalog, await conductor.shape(info.id), view)
    if not report.text:
        raise CommandError(f'run {info.id} has no report: its pattern is {info.pattern}')
    if as_json:
        print_json(report=report.text if report.data is None else report.data)
        return
    typer.echo(strip_control(report.text), nl=False)
    if note := origin_note(view):
        typer.echo(note, err=True)
