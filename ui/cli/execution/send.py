"""hemicycle send: answer a waiting run: approvals, choices, seats, and anything else it accepts."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from pydantic_core import to_jsonable_python

from engine import Conductor, EventRefused
from engine.records import ANSWER, RunId
from ui.cli.conductors import claim, find_run, open_reader
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.execution.questions import ask_in_terminal, question_lines
from ui.cli.execution.run import reporter_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.inputs import parse_data
from ui.cli.options import EventValues, RunName
from ui.cli.output.reporters import print_json
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control

EPILOG = f"""Examples:

```
hemicycle send last
hemicycle send last approve
hemicycle send last deny --at working --set reason="not on a Friday"
hemicycle send last answer --set 'content={{"name": "Ada"}}'
hemicycle send last answer --set action=decline
hemicycle send last extend --set tokens=5000
hemicycle send last cancel
hemicycle send last take_seat --set seat=reviewer2
hemicycle send last say --set reviewer=reviewer2 --set text="I ran the tests." --set verdict=APPROVE
```

{CODES}"""


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def send(
    run: RunName = 'last',
    event: Annotated[
        str, typer.Argument(metavar='EVENT', help='What to send; without it, list what the run accepts.')
    ] = '',
    at: Annotated[
        str,
        typer.Option(
            '--at', metavar='STATE', help='The active state it is for. Default: every state that accepts it.'
        ),
    ] = '',
    sets: EventValues = None,
    *,
    session: Session,
) -> None:
    """Send an event to an unfinished run, and show the run until it ends or waits again.

    Use it to approve or deny tool calls (`approve`, `deny`), answer questions of MCP servers
    (`answer`; in a terminal, you are asked for each value), pick candidates, speak in a debate, give a run
    more time or tokens, and cancel it (`cancel`). Refused while another command is executing the run.
    """
    data = parse_data(sets or ())

    async def work() -> ExitCode:
        async with open_reader(session, session.catalog) as conductor:
            run_id = await find_run(conductor, run)
            if not event:
                await _print_accepted(conductor, run_id, session.as_json)
                return ExitCode.DONE
            values = data or await _ask(conductor, run_id, event)
        async with claim(session, run_id, what=event, paused=False) as conductor:
            reporter, after = reporter_for(session), (await conductor.info(run_id)).seq

            async def begin() -> RunId:
                await conductor.send(run_id, event, at=at, data=values)
                return run_id

            return await follow(conductor, begin(), reporter, after=after, ask=prompt_for(reporter))

    raise typer.Exit(asyncio.run(work()))


async def _ask(conductor: Conductor, run: RunId, event: str) -> dict[str, Any]:
    """Ask the person at a terminal for the answer to an open question, if there is one."""
    if event != ANSWER or not sys.stdin.isatty():
        return {}
    open_questions = [accepted.question for accepted in await conductor.accepts(run) if accepted.question]
    return await asyncio.to_thread(ask_in_terminal, open_questions[0]) if open_questions else {}


async def _print_accepted(conductor: Conductor, run: RunId, as_json: bool) -> None:
    info = await conductor.info(run)
    if info.status.ended:
        raise EventRefused(run, 'send', f'it is {info.status}')
    accepted = await conductor.accepts(run)
    for item in accepted:
        if as_json:
            print_json(**to_jsonable_python(asdict(item)))
        else:
            takes = f' ({", ".join(item.takes)})' if item.takes else ''
            typer.echo(strip_control(f'{item.event} --at {item.at}{takes}'))
            if item.help:
                typer.echo(strip_control(f'    {item.help}'))
            for line in question_lines(item.question) if item.question else ():
                typer.echo(f'    {line}')
            for call in item.calls:
                typer.echo(f'    {one_line(call)}')
    if not accepted and not as_json:
        typer.echo('this run accepts nothing now')
