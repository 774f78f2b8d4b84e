"""hemicycle inbox: the questions of all runs: list, show, answer, assign and snooze them."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Annotated, Any

import typer

from engine import InvalidInput
from engine.records import ANSWER, RunId
from ui.app.services.inbox import InboxItem
from ui.app.services.operations import ServiceOperations
from ui.cli.conductors import claim
from ui.cli.execution.follow import follow
from ui.cli.execution.prompt import prompt_for
from ui.cli.execution.questions import ask_in_terminal, question_lines
from ui.cli.execution.run import reporter_for
from ui.cli.exit_codes import CODES, ExitCode
from ui.cli.inputs import check_choice, parse_data, parse_time
from ui.cli.options import EventValues
from ui.cli.output.reporters import print_json
from ui.cli.services.opening import open_services, services_of, with_services
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import moment_text

EPILOG = f"""Examples:

```
hemicycle inbox list
hemicycle inbox list --assignee ada --json
hemicycle inbox show 3f9
hemicycle inbox answer 3f9 approve
hemicycle inbox answer 3f9 deny --set reason="not on a Friday"
hemicycle inbox assign 3f9 ada
hemicycle inbox snooze 3f9 --hours 4
```

{CODES}"""
HOUR = 3_600.0
QuestionName = Annotated[
    str,
    typer.Argument(
        metavar='QUESTION',
        help="The question's id, a unique prefix of it (such as its run's id), or `last`.",
        show_default=False,
    ),
]


@with_session('patterns', 'as_json', 'database', 'server')
def list_questions(
    assignee: Annotated[str, typer.Option(metavar='PERSON', help='Only those assigned to this person.')] = '',
    run: Annotated[str, typer.Option(metavar='RUN', help='Only those of this run, by its id.')] = '',
    snoozed: Annotated[bool, typer.Option('--snoozed', help='Include snoozed ones.')] = False,
    *,
    session: Session,
) -> None:
    """List the open questions of all runs, oldest first."""
    page = with_services(
        session, lambda services: services.inbox.list(assignee=assignee, run=run, snoozed=snoozed)
    )
    for item in page.items:
        _print(item, session.as_json)
    if not page.items and not session.as_json:
        typer.echo('no question is open')
    if page.snoozed and not session.as_json:
        typer.echo(f'{page.snoozed} more snoozed: --snoozed lists them')


@with_session('patterns', 'as_json', 'database', 'server')
def show(question: QuestionName = 'last', *, session: Session) -> None:
    """Show a question: what is asked, what the agent said, and how to answer."""
    item = with_services(session, lambda services: _find(services, question))
    _print(item, session.as_json, whole=True)


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'synchronous', 'server')
def answer(
    question: QuestionName,
    event: Annotated[str, typer.Argument(metavar='EVENT', help="One of the question's events.")],
    sets: EventValues = None,
    digest: Annotated[
        str,
        typer.Option(
            metavar='DIGEST',
            help='Refuse if the question has changed since it had this digest, as `--json` shows it.',
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Answer a question, and show its run until it ends or waits again.

    A question counts once: if somebody else has answered it, the error says when and how. `extend` takes
    `seconds`; a question of an MCP server takes `answer`, and in a terminal you are asked for each value.
    """
    data = _numbers(parse_data(sets or ()))

    async def work() -> ExitCode:
        async with open_services(session) as services:
            item = await _find(services, question)
        ask = item.ask
        check_choice('EVENT', event, ask.events)
        values = data
        if event == ANSWER and ask.question and not data and sys.stdin.isatty():
            values = await asyncio.to_thread(ask_in_terminal, ask.question)
        async with claim(session, ask.run, what=event, paused=False) as conductor:
            reporter, after = reporter_for(session), (await conductor.info(ask.run)).seq
            services = services_of(conductor)

            async def begin() -> RunId:
                await services.inbox.answer(ask.id, event, values, digest=digest or ask.digest)
                return ask.run

            return await follow(conductor, begin(), reporter, after=after, ask=prompt_for(reporter))

    raise typer.Exit(asyncio.run(work()))


@with_session('patterns', 'as_json', 'database', 'server')
def assign(
    question: QuestionName,
    person: Annotated[str, typer.Argument(metavar='PERSON', help='Who is to answer it.')] = '',
    off: Annotated[bool, typer.Option('--off', help='Assign it to nobody.')] = False,
    *,
    session: Session,
) -> None:
    """Assign a question to a person, and notify them."""
    if off == bool(person.strip()):
        raise InvalidInput({'PERSON': 'name who is to answer, or give --off'})

    async def work(services: ServiceOperations) -> InboxItem:
        item = await _find(services, question)
        return await services.inbox.assign(item.ask.id, person)

    _print(with_services(session, work), session.as_json)


@with_session('patterns', 'as_json', 'database', 'server')
def snooze(
    question: QuestionName,
    hours: Annotated[float, typer.Option(min=0, help='For how long.')] = 1,
    until: Annotated[str, typer.Option(metavar='MOMENT', help='Until when, instead.')] = '',
    off: Annotated[bool, typer.Option('--off', help='List it again now.')] = False,
    *,
    session: Session,
) -> None:
    """Leave a question out of the list for a while."""
    moment = parse_time('--until', until, example='2026-03-01T09:00') if until else time.time() + hours * HOUR

    async def work(services: ServiceOperations) -> InboxItem:
        item = await _find(services, question)
        return await services.inbox.snooze(item.ask.id, 0.0 if off else moment)

    _print(with_services(session, work), session.as_json)


async def _find(services: ServiceOperations, name: str) -> InboxItem:
    """Return an open question by its id, a prefix of it, or `last`.

    Raises:
        InvalidInput: none is open, or several match.
        QuestionClosed: it has been answered.
    """
    items = (await services.inbox.list(snoozed=True)).items
    matches = [item for item in items if item.ask.id == name] or [
        item for item in items if name and item.ask.id.startswith(name)
    ]
    if name == 'last':
        matches = list(items[-1:])
    if len(matches) == 1:
        return matches[0]
    if not matches and name.count('.') > 1:
        return await services.inbox.find(name)
    listed = ', '.join(item.ask.id for item in matches or items) or 'none'
    problem = f'{len(matches)} begin with {name!r}' if matches else f'there is no open question {name!r}'
    raise InvalidInput({'QUESTION': f'{problem}; open: {listed}'})


def _numbers(data: dict[str, Any]) -> dict[str, Any]:
    """Return an event's data, with the seconds of an `extend` as a number."""
    try:
        return {name: float(value) if name == 'seconds' else value for name, value in data.items()}
    except ValueError:
        raise InvalidInput({'seconds': f'must be a number of seconds, not {data["seconds"]!r}'}) from None


def _print(item: InboxItem, as_json: bool, *, whole: bool = False) -> None:
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(item))
        return
    ask = item.ask
    facts = [
        f'step {ask.step}',
        f'since {moment_text(ask.since)}',
        f'answers: {", ".join(ask.events)}',
        f'assigned to {item.assignee}' if item.assignee else '',
        f'snoozed until {moment_text(item.snoozed_until)}' if item.snoozed_until > time.time() else '',
    ]
    typer.echo(strip_control(f'{ask.id}  {one_line(item.title, 100)}: {one_line(ask.text, 300)}'))
    typer.echo(strip_control(f'    {" · ".join(filter(None, facts))}'))
    for call in ask.calls:
        typer.echo(f'    {one_line(f"{call.name} {call.arguments}", 10_000 if whole else 200)}')
    if whole and ask.question:
        for line in question_lines(ask.question):
            typer.echo(f'    {line}')
    if whole and ask.said:
        typer.echo(strip_control(ask.said))
