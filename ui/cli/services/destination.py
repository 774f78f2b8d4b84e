"""hemicycle destination: who is notified of which events: list, add, change, test and remove."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from engine import InvalidInput
from ui.app.services.notifications import EVENT_TYPES, Destination, OutboxMessage
from ui.app.services.notifications import parse as parse_destination
from ui.app.services.operations import ServiceOperations
from ui.cli.exit_codes import ExitCode
from ui.cli.output.reporters import print_json
from ui.cli.record_options import check_changes, record_options, with_options
from ui.cli.services.message import print_message
from ui.cli.services.opening import find_named, with_services
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle destination add team https://team.example/hook --event run.failed --tag prod
hemicycle destination add ada ada@team.example --channel email --person ada
hemicycle destination list
hemicycle destination test team
hemicycle destination change team --paused
hemicycle destination remove team
```

Exit code: **0** done · **1** the test message was not accepted · **2** bad input, or refused"""
POLL_SECONDS, TEST_SECONDS = 0.1, 20.0
CHANGES = record_options(Destination, changes=True)
Name = Annotated[str, typer.Argument(metavar='DESTINATION', help='Its name or id.')]


@with_session('as_json', 'database', 'server')
def list_destinations(*, session: Session) -> None:
    """List the destinations; secrets are left out."""
    destinations = with_services(session, lambda services: services.notifications.destinations.list())
    for destination in destinations:
        _print(destination, session.as_json)
    if not destinations and not session.as_json:
        typer.echo('nobody is notified: there are no destinations')


@with_session('as_json', 'database', 'server')
def show(name: Name, *, session: Session) -> None:
    """Show a destination; its secret is left out."""
    _print(with_services(session, lambda services: _find(services, name)), session.as_json)


@with_options('values', record_options(Destination, arguments=('name', 'address')))
@with_session('as_json', 'database', 'server')
def add(*, values: dict[str, Any], session: Session) -> None:
    """Add a destination; it is notified of events from now on. The secret of a webhook is printed once."""
    draft = parse_destination(values)
    added = with_services(session, lambda services: services.notifications.destinations.add(draft))
    _print(added, session.as_json, secret=added.secret)


@with_options('values', CHANGES)
@with_session('as_json', 'database', 'server')
def change(destination: Name, *, values: dict[str, Any], session: Session) -> None:
    """Change, pause or resume a destination; what is not given stays as it is."""
    check_changes(values, CHANGES)

    async def work(services: ServiceOperations) -> Destination:
        known = await _find(services, destination)
        changed = parse_destination({**asdict(known), **values})
        changes = {name: getattr(changed, name) for name in values}
        return await services.notifications.destinations.change(known.id, **changes)

    _print(with_services(session, work), session.as_json)


@with_session('database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove a destination; messages that it has not got yet are never sent."""

    async def work(services: ServiceOperations) -> None:
        await services.notifications.destinations.remove((await _find(services, name)).id)

    with_services(session, work)


@with_session('as_json', 'database', 'server')
def test(name: Name, *, session: Session) -> None:
    """Send a test message, and wait until it was accepted or refused."""

    async def work(services: ServiceOperations) -> OutboxMessage:
        notifications = services.notifications
        destination = await _find(services, name)
        message = await notifications.test(destination.id)
        async with asyncio.timeout(TEST_SECONDS):
            while True:
                (now,) = (entry for entry in await notifications.log() if entry.id == message.id)
                if now.state != 'due' or now.attempts:
                    return now
                await asyncio.sleep(POLL_SECONDS)

    try:
        message = with_services(session, work)
    except TimeoutError:
        raise InvalidInput({'DESTINATION': f'has not answered after {TEST_SECONDS:g} s'}) from None
    print_message(message, session.as_json)
    if message.state != 'sent':
        raise typer.Exit(ExitCode.FAILED)


async def _find(services: ServiceOperations, name: str) -> Destination:
    return find_named(await services.notifications.destinations.list(), name, 'destination')


def _print(destination: Destination, as_json: bool, *, secret: str = '') -> None:
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(replace(destination, secret=secret)))
        return
    filters = [
        f'{field} {value}' for field in ('pattern', 'tag', 'person') if (value := getattr(destination, field))
    ]
    facts = [
        f'{destination.channel} {destination.address}',
        'paused' if destination.paused else '',
        destination.problem,
        '' if len(destination.events) == len(EVENT_TYPES) else ', '.join(destination.events),
        *filters,
    ]
    typer.echo(strip_control(f'{destination.id}  {destination.name}: {" · ".join(filter(None, facts))}'))
    if secret:
        typer.echo(f'    secret, shown only now: {secret}')
