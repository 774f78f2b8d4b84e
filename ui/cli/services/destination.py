"""hemicycle destination: who is notified of which events: list, add, change, test and remove."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from engine import InvalidInput
from ui.cli.exit_codes import ExitCode
from ui.cli.inputs import check_choice, given
from ui.cli.options import group
from ui.cli.output.reporters import print_json
from ui.cli.services.message import print_message
from ui.cli.services.opening import find_named, with_services
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.services.notifications import EVENT_TYPES, Channel, Destination, EventType, OutboxMessage

if TYPE_CHECKING:
    from ui.cli.services.opening import AnyServices

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
destination = group('Manage the destinations of notifications: webhooks, Slack and e-mail.', EPILOG)
Name = Annotated[str, typer.Argument(metavar='DESTINATION', help='Its name or id.', show_default=False)]
ChannelOption = Annotated[
    str | None,
    typer.Option(
        '--channel',
        metavar='|'.join(get_args(Channel)),
        help='A signed webhook, a Slack-compatible webhook, or e-mail. By default `webhook`.',
        show_default=False,
    ),
]
Events = Annotated[
    list[str] | None,
    typer.Option(
        '--event',
        metavar='EVENT',
        help=f'Send this event: {", ".join(EVENT_TYPES)}; by default all. Repeatable.',
        show_default=False,
    ),
]
PatternFilter = Annotated[
    str | None, typer.Option(metavar='PATTERN', help='Only runs of this pattern.', show_default=False)
]
TagFilter = Annotated[
    str | None, typer.Option(metavar='TAG', help='Only runs with this tag.', show_default=False)
]
PersonFilter = Annotated[
    str | None,
    typer.Option(
        metavar='PERSON', help='Only questions that are assigned to this person.', show_default=False
    ),
]
SecretOption = Annotated[
    str | None,
    typer.Option(
        metavar='SECRET',
        help='Signs webhooks: `whsec_` and base64. By default a new one, which is printed once.',
        show_default=False,
    ),
]


@destination.command('list')
@with_session('as_json', 'database', 'server')
def list_destinations(*, session: Session) -> None:
    """List the destinations; secrets are left out."""
    destinations = with_services(session, lambda services: services.notifications.destinations.list())
    for destination in destinations:
        _print(destination, session.as_json)
    if not destinations and not session.as_json:
        typer.echo('nobody is notified: there are no destinations')


@destination.command('show')
@with_session('as_json', 'database', 'server')
def show(name: Name, *, session: Session) -> None:
    """Show a destination; its secret is left out."""
    _print(with_services(session, lambda services: _find(services, name)), session.as_json)


@destination.command('add')
@with_session('as_json', 'database', 'server')
def add(  # noqa: PLR0913  (its arguments are the command's)
    name: Annotated[str, typer.Argument(metavar='NAME', help='What to call it.', show_default=False)],
    address: Annotated[
        str,
        typer.Argument(metavar='ADDRESS', help='A URL, or an e-mail address.', show_default=False),
    ],
    channel: ChannelOption = None,
    events: Events = None,
    pattern: PatternFilter = None,
    tag: TagFilter = None,
    person: PersonFilter = None,
    secret: SecretOption = None,
    paused: Annotated[bool, typer.Option('--paused', help='Send nothing yet.')] = False,
    *,
    session: Session,
) -> None:
    """Add a destination; it is notified of events from now on. The secret of a webhook is printed once."""
    draft = Destination(
        name=name,
        channel=_channel(channel or 'webhook'),
        address=address,
        events=_events(events) if events else EVENT_TYPES,
        pattern=pattern or '',
        tag=tag or '',
        person=person or '',
        secret=secret or '',
        paused=paused,
    )
    added = with_services(session, lambda services: services.notifications.destinations.add(draft))
    _print(added, session.as_json, secret=added.secret)


@destination.command('change')
@with_session('as_json', 'database', 'server')
def change(  # noqa: PLR0913  (its arguments are the command's)
    name: Name,
    new_name: Annotated[
        str | None, typer.Option('--name', metavar='NAME', help='A new name.', show_default=False)
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar='ADDRESS', help='A URL, or an e-mail address.', show_default=False),
    ] = None,
    channel: ChannelOption = None,
    events: Events = None,
    pattern: PatternFilter = None,
    tag: TagFilter = None,
    person: PersonFilter = None,
    secret: SecretOption = None,
    paused: Annotated[
        bool | None, typer.Option('--paused/--no-paused', help='Send nothing for now.', show_default=False)
    ] = None,
    *,
    session: Session,
) -> None:
    """Change, pause or resume a destination; what is not given stays as it is."""
    changes = {
        'name': new_name,
        'address': address,
        'channel': None if channel is None else _channel(channel),
        'events': _events(events) if events else None,
        'pattern': pattern,
        'tag': tag,
        'person': person,
        'secret': secret,
        'paused': paused,
    }
    values = given(changes)
    if not values:
        raise InvalidInput({'change': f'give what to change: {", ".join(f"--{field}" for field in changes)}'})

    async def work(services: AnyServices) -> Destination:
        return await services.notifications.destinations.change((await _find(services, name)).id, **values)

    _print(with_services(session, work), session.as_json)


@destination.command('remove')
@with_session('database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove a destination; messages that it has not got yet are never sent."""

    async def work(services: AnyServices) -> None:
        await services.notifications.destinations.remove((await _find(services, name)).id)

    with_services(session, work)


@destination.command('test')
@with_session('as_json', 'database', 'server')
def test(name: Name, *, session: Session) -> None:
    """Send a test message, and wait until it was accepted or refused."""

    async def work(services: AnyServices) -> OutboxMessage:
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


async def _find(services: AnyServices, name: str) -> Destination:
    return find_named(await services.notifications.destinations.list(), name, 'destination')


def _channel(channel: str) -> Channel:
    check_choice('--channel', channel, get_args(Channel))
    return cast(Channel, channel)


def _events(events: list[str]) -> tuple[EventType, ...]:
    for event in events:
        check_choice('--event', event, EVENT_TYPES)
    return tuple(cast(EventType, event) for event in events)


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
