"""hemicycle schedule: list, add, show, pause, resume, run, backfill and remove schedules."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast, get_args
from zoneinfo import ZoneInfo

import typer

from engine import InvalidInput
from ui.cli.inputs import parse_data, parse_time
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.services.opening import find_named, open_services
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.services.schedules import (
    Action,
    Interval,
    Overlap,
    Schedule,
    SchedulePolicy,
    Schedules,
    ScheduleSpec,
    Tick,
)

if TYPE_CHECKING:
    from ui.api.client.schedules import HttpSchedules

EPILOG = """Examples:

```
hemicycle schedule add nightly --pattern pipeline --set task="News?" --cron "30 2 * * *" --zone Europe/Berlin
hemicycle schedule add often --pattern lone --every 900 --overlap buffer_one
hemicycle schedule
hemicycle schedule show nightly
hemicycle schedule pause nightly
hemicycle schedule run nightly
hemicycle schedule backfill nightly --since 2026-03-01T00:00+01:00 --until 2026-03-08T00:00+01:00
```"""


class Operation(StrEnum):
    """What to do."""

    LIST = 'list'
    ADD = 'add'
    SHOW = 'show'
    PAUSE = 'pause'
    RESUME = 'resume'
    RUN = 'run'
    BACKFILL = 'backfill'
    REMOVE = 'remove'


BY_SERVER = (Operation.RUN, Operation.BACKFILL)
"""Operations that start runs, which a server has to continue."""


@with_session('patterns', 'as_json', 'database')
def schedule(  # noqa: PLR0913  (its arguments are the command's)
    operation: Annotated[Operation, typer.Argument(metavar='OPERATION', help='What to do.')] = Operation.LIST,
    name: Annotated[str, typer.Argument(metavar='SCHEDULE', help='Its name or id.', show_default=False)] = '',
    pattern: Annotated[str, typer.Option(help='The pattern to run.', show_default=False)] = '',
    sets: Annotated[
        list[str] | None,
        typer.Option('--set', metavar='NAME=VALUE', help='A parameter; repeatable.', show_default=False),
    ] = None,
    cron: Annotated[
        list[str] | None,
        typer.Option(metavar='EXPRESSION', help='A cron expression. Repeatable.', show_default=False),
    ] = None,
    every: Annotated[
        list[float] | None, typer.Option(metavar='SECONDS', help='Interval; repeatable.', show_default=False)
    ] = None,
    zone: Annotated[str, typer.Option(help='The time zone of the expressions.')] = 'UTC',
    overlap: Annotated[
        str,
        typer.Option(
            metavar='|'.join(get_args(Overlap)), help='What to do if the previous run has not ended.'
        ),
    ] = 'skip',
    catch_up: Annotated[
        float,
        typer.Option(metavar='SECONDS', min=0, help='How late a run may start after an outage.'),
    ] = 3_600.0,
    pause_on_failure: Annotated[
        bool, typer.Option('--pause-on-failure', help='Pause after a failed run.')
    ] = False,
    note: Annotated[str, typer.Option(help='A note, such as why it is paused.', show_default=False)] = '',
    since: Annotated[
        str, typer.Option(metavar='MOMENT', help='Start of a backfill.', show_default=False)
    ] = '',
    until: Annotated[str, typer.Option(metavar='MOMENT', help='End of a backfill.', show_default=False)] = '',
    *,
    session: Session,
) -> None:
    """List, add, show, pause, resume, run, backfill or remove schedules. A server starts their runs."""
    if overlap not in get_args(Overlap):
        raise InvalidInput({'--overlap': f'must be one of {", ".join(get_args(Overlap))}, not {overlap!r}'})
    if operation is not Operation.LIST and not name:
        raise InvalidInput({'SCHEDULE': f'name the schedule to {operation}'})

    async def work() -> Sequence[Schedule | Tick]:
        async with open_services(session, starts_runs=operation in BY_SERVER) as services:
            schedules = services.schedules
            if operation is Operation.ADD:
                given = Schedule(
                    name=name,
                    action=Action(pattern=pattern, parameters=parse_data(sets or ())),
                    spec=ScheduleSpec(
                        cron=tuple(cron or ()),
                        intervals=tuple(Interval(every=one) for one in every or ()),
                        time_zone=zone,
                    ),
                    policy=SchedulePolicy(
                        overlap=cast(Overlap, overlap),
                        catchup_window=catch_up,
                        pause_on_failure=pause_on_failure,
                    ),
                    note=note,
                )
                return [await schedules.add(given)]
            if operation is Operation.LIST:
                return await schedules.list()
            found = find_named(await schedules.list(), name, 'schedule').id
            if operation is Operation.BACKFILL:
                return await schedules.backfill(found, _moment('--since', since), _moment('--until', until))
            return await _do(schedules, operation, found, note)

    for item in asyncio.run(work()):
        _print(item, session.as_json)


async def _do(
    schedules: Schedules | HttpSchedules, operation: Operation, found: str, note: str
) -> Sequence[Schedule | Tick]:
    match operation:
        case Operation.PAUSE | Operation.RESUME:
            return [await schedules.change(found, paused=operation is Operation.PAUSE, note=note)]
        case Operation.RUN:
            return [await schedules.run_now(found)]
        case Operation.REMOVE:
            await schedules.remove(found)
            return []
    return [await schedules.get(found), *await schedules.log(found, 10)]


def _moment(option: str, text: str) -> float:
    return parse_time(option, text, example='2026-03-01T00:00+01:00')


def _print(item: Schedule | Tick, as_json: bool) -> None:
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(item))
        return
    out = console()
    if isinstance(item, Tick):
        outcome = ' '.join(filter(None, [item.run if item.state == 'started' else '', item.reason]))
        line = f'    {_time(item.due, "UTC")}  {item.state:8}  {outcome}'
    else:
        state = 'paused' if item.paused else 'active'
        line = f'{item.id}  {state}  {item.name}: {item.action.pattern}. {item.spec.explain()}'
        if item.next_times:
            line += f'. Next: {_time(item.next_times[0], item.spec.time_zone)}'
        if item.note:
            line += f' ({item.note})'
    out.print(strip_control(line), markup=False, highlight=False, soft_wrap=True)


def _time(moment: float, zone: str) -> str:
    return datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime('%Y-%m-%d %H:%M:%S %Z')
