"""hemicycle destination message: lists what was sent or is due, and sends it again."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from engine import InvalidInput
from ui.app.services.notifications import OutboxMessage
from ui.app.services.operations import ServiceOperations
from ui.cli.output.reporters import print_json
from ui.cli.services.opening import with_services
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import count, moment_text

EPILOG = """Examples:

```
hemicycle destination message list --state failed
hemicycle destination message list --run 3f9a2b --json
hemicycle destination message resend msg_81c0
```"""
MAX_SEARCHED = 1_000


@with_session('as_json', 'database', 'server')
def list_messages(
    state: Annotated[
        Literal['due', 'sent', 'failed'] | None,
        typer.Option(help='Only those that are due, sent or given up.'),
    ] = None,
    run: Annotated[str, typer.Option(metavar='RUN', help='Only those about this run, by its id.')] = '',
    limit: Annotated[int, typer.Option(min=1, max=MAX_SEARCHED, help='Maximum number of messages.')] = 20,
    *,
    session: Session,
) -> None:
    """List notifications with their delivery attempts, latest first."""
    messages = with_services(
        session, lambda services: services.notifications.log(state=state or '', run=run, limit=limit)
    )
    for message in messages:
        print_message(message, session.as_json)
    if not messages and not session.as_json:
        typer.echo('no messages match' if state or run else 'there are no messages')


@with_session('as_json', 'database', 'server')
def resend(
    name: Annotated[
        str,
        typer.Argument(metavar='MESSAGE', help='Its id, or a unique prefix of it.'),
    ],
    *,
    session: Session,
) -> None:
    """Send a notification again; it keeps its id, by which receivers recognize it."""

    async def work(services: ServiceOperations) -> OutboxMessage:
        notifications = services.notifications
        ids = [message.id for message in await notifications.log(limit=MAX_SEARCHED)]
        matches = [id_ for id_ in ids if id_ == name] or [id_ for id_ in ids if id_.startswith(name)]
        if len(matches) > 1:
            raise InvalidInput({'MESSAGE': f'{len(matches)} begin with {name!r}: give more of the id'})
        return await notifications.resend(matches[0] if matches else name)

    print_message(with_services(session, work), session.as_json)


def print_message(message: OutboxMessage, as_json: bool) -> None:
    """Print a notification with its last attempt."""
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(message))
        return
    last = message.attempts[-1] if message.attempts else None
    facts = [
        moment_text(message.created),
        message.event,
        f'run {message.run}' if message.run else '',
        count(len(message.attempts), 'attempt') if message.attempts else '',
        f'status {last.status}' if last and last.status else '',
        last.error if last else '',
    ]
    typer.echo(strip_control(f'{message.id}  {message.state:6}  {one_line(message.text, 200)}'))
    typer.echo(strip_control(f'    {" · ".join(filter(None, facts))}'))
