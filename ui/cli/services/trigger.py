"""hemicycle trigger: runs that a webhook or a file starts: list, show, add, change and remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from engine import InvalidInput
from ui.app.services.operations import ServiceOperations
from ui.app.services.schedules import Tick, Trigger
from ui.cli.execution.launch_options import with_launch
from ui.cli.inputs import parse_pairs
from ui.cli.output.reporters import print_json
from ui.cli.record_options import OptionNote, check_changes, record_options, with_options
from ui.cli.services.opening import find_named, with_services
from ui.cli.services.started_run import (
    NOT_LATER,
    changed_launch,
    format_tick,
    new_launch,
)
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle trigger add issues --pattern triager --map report=/issue/body
hemicycle trigger add inbox --files "/srv/in/*.txt" --pattern pipeline --map task=/text
hemicycle trigger list
hemicycle trigger show issues
hemicycle trigger change issues --paused
hemicycle trigger remove issues
```"""
MAX_TICKS = 10
Name = Annotated[str, typer.Argument(metavar='TRIGGER', help='Its name or id.')]
NOT_BY_TRIGGER = (*NOT_LATER, 'files')
"""Fields of a launch without an option; `--files` are those that set the trigger off."""
NOTES = {
    'mapping': OptionNote(
        name='map', metavar='NAME=POINTER', parse=lambda texts: dict(parse_pairs('--map', texts))
    ),
    'files': OptionNote(metavar='PATH'),
}
OWN = 'kind', 'action'
"""Fields that follow from other options."""
CHANGES = record_options(Trigger, without=OWN, notes=NOTES, changes=True)


@with_session('patterns', 'as_json', 'database', 'server')
def list_triggers(*, session: Session) -> None:
    """List the triggers; secrets are left out."""
    triggers = with_services(session, lambda services: services.triggers.list())
    for trigger in triggers:
        _print(trigger, session.as_json)
    if not triggers and not session.as_json:
        typer.echo('there are no triggers')


@with_session('patterns', 'as_json', 'database', 'server')
def show(name: Name, *, session: Session) -> None:
    """Show a trigger, and the last ten payloads that set it off."""

    async def work(services: ServiceOperations) -> tuple[Trigger, Sequence[Tick]]:
        trigger = await _find(services, name)
        return trigger, await services.triggers.log(trigger.id, MAX_TICKS)

    trigger, ticks = with_services(session, work)
    _print(trigger, session.as_json)
    for tick in ticks:
        _print(tick, session.as_json)


@with_launch(*NOT_BY_TRIGGER)
@with_options('values', record_options(Trigger, without=OWN, notes=NOTES, arguments=('name',)))
@with_session('patterns', 'as_json', 'database', 'server')
def add(*, values: dict[str, Any], launch: dict[str, Any], session: Session) -> None:
    """Add a trigger: by signed webhooks, whose secret is printed once, or by files with `--files`.

    Files that are there already start no run. A server has to be running for runs to start.
    """
    if 'files' in values and 'secret' in values:
        raise InvalidInput({'--secret': 'signs webhooks; a trigger by files has none'})
    kind: Literal['webhook', 'file'] = 'file' if 'files' in values else 'webhook'
    draft = Trigger(kind=kind, action=new_launch(launch), **values)
    added = with_services(session, lambda services: services.triggers.add(draft))
    _print(added, session.as_json, secret=added.secret)


@with_launch(*NOT_BY_TRIGGER)
@with_options('values', CHANGES)
@with_session('patterns', 'as_json', 'database', 'server')
def change(trigger: Name, *, values: dict[str, Any], launch: dict[str, Any], session: Session) -> None:
    """Change, pause or resume a trigger; what is not given stays as it is.

    `--map` replaces all parameters that were taken from the payload.
    """
    check_changes(values or launch, CHANGES)

    async def work(services: ServiceOperations) -> Trigger:
        known = await _find(services, trigger)
        if known.kind == 'webhook' and 'files' in values:
            raise InvalidInput({'--files': f'{known.name} is set off by webhooks: add another trigger'})
        if launch:
            values['action'] = changed_launch(known.action, launch)
        return await services.triggers.change(known.id, **values)

    _print(with_services(session, work), session.as_json)


@with_session('patterns', 'database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove a trigger; its runs stay."""

    async def work(services: ServiceOperations) -> None:
        await services.triggers.remove((await _find(services, name)).id)

    with_services(session, work)


async def _find(services: ServiceOperations, name: str) -> Trigger:
    return find_named(await services.triggers.list(), name, 'trigger')


def _print(item: Trigger | Tick, as_json: bool, *, secret: str = '') -> None:
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(item if isinstance(item, Tick) else replace(item, secret=secret)))
        return
    if isinstance(item, Tick):
        typer.echo(strip_control(format_tick(item)))
        return
    by = item.files if item.kind == 'file' else f'POST /api/v1/triggers/{item.id}/webhook'
    facts = [f'{name} from {pointer or "the whole payload"}' for name, pointer in item.mapping.items()]
    state = 'paused' if item.paused else 'active'
    line = f'{item.id}  {state}  {item.name}: {item.action.pattern}, by {by}'
    typer.echo(strip_control(' · '.join([line, *facts])))
    if secret:
        typer.echo(f'    secret, shown only now: {secret}')
