"""hemicycle schedule: list, add, show, change, pause, resume, run, backfill and remove schedules."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from engine import InvalidInput
from ui.cli.execution.launch_options import with_launch
from ui.cli.inputs import check_choice, given, parse_time
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.services.opening import find_named, open_services
from ui.cli.services.started_run import (
    NOT_LATER,
    NewName,
    Parameters,
    PatternOption,
    changed_launch,
    format_moment,
    format_tick,
    new_launch,
)
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.services.schedules import (
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
hemicycle schedule change nightly --cron "0 4 * * *" --set task="What is new?"
hemicycle schedule pause nightly
hemicycle schedule run nightly
hemicycle schedule backfill nightly --since 2026-03-01T00:00+01:00 --until 2026-03-08T00:00+01:00
```"""


class Operation(StrEnum):
    """What to do."""

    LIST = 'list'
    ADD = 'add'
    SHOW = 'show'
    CHANGE = 'change'
    PAUSE = 'pause'
    RESUME = 'resume'
    RUN = 'run'
    BACKFILL = 'backfill'
    REMOVE = 'remove'


BY_SERVER = (Operation.RUN, Operation.BACKFILL)
"""Operations that start runs, which a server has to continue."""


@with_launch(*NOT_LATER)
@with_session('patterns', 'as_json', 'database', 'server')
def schedule(  # noqa: PLR0913  (its arguments are the command's)
    operation: Annotated[Operation, typer.Argument(metavar='OPERATION', help='What to do.')] = Operation.LIST,
    name: Annotated[str, typer.Argument(metavar='SCHEDULE', help='Its name or id.', show_default=False)] = '',
    pattern: PatternOption = None,
    sets: Parameters = None,
    cron: Annotated[
        list[str] | None,
        typer.Option(metavar='EXPRESSION', help='A cron expression. Repeatable.', show_default=False),
    ] = None,
    every: Annotated[
        list[float] | None, typer.Option(metavar='SECONDS', help='Interval; repeatable.', show_default=False)
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(help='The time zone of the expressions; by default UTC.', show_default=False),
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option(
            metavar='|'.join(get_args(Overlap)),
            help='What to do if the previous run has not ended; by default `skip`.',
            show_default=False,
        ),
    ] = None,
    catch_up: Annotated[
        float | None,
        typer.Option(
            metavar='SECONDS',
            min=0,
            help='How late a run may start after an outage; by default 3600.',
            show_default=False,
        ),
    ] = None,
    pause_on_failure: Annotated[
        bool | None, typer.Option(help='Pause after a failed run.', show_default=False)
    ] = None,
    note: Annotated[
        str | None, typer.Option(help='A note, such as why it is paused.', show_default=False)
    ] = None,
    new_name: NewName = None,
    since: Annotated[
        str, typer.Option(metavar='MOMENT', help='Start of a backfill.', show_default=False)
    ] = '',
    until: Annotated[str, typer.Option(metavar='MOMENT', help='End of a backfill.', show_default=False)] = '',
    *,
    launch: dict[str, Any],
    session: Session,
) -> None:
    """List, add, show, change, pause, resume, run, backfill or remove schedules; a server runs them.

    `change` leaves what is not given as it is; new times replace all earlier ones.
    """
    if overlap is not None:
        check_choice('--overlap', overlap, get_args(Overlap))
    if operation is not Operation.LIST and not name:
        raise InvalidInput({'SCHEDULE': f'name the schedule to {operation}'})
    record = _Given(
        pattern=pattern,
        sets=sets,
        launch=launch,
        cron=cron,
        every=every,
        zone=zone,
        policy={'overlap': overlap, 'catchup_window': catch_up, 'pause_on_failure': pause_on_failure},
        own={'name': new_name, 'note': note},
    )

    async def work() -> Sequence[Schedule | Tick]:
        async with open_services(session, starts_runs=operation in BY_SERVER) as services:
            schedules = services.schedules
            if operation is Operation.ADD:
                return [await schedules.add(record.schedule(name))]
            if operation is Operation.LIST:
                return await schedules.list()
            schedule = find_named(await schedules.list(), name, 'schedule')
            schedule_id = schedule.id
            if operation is Operation.CHANGE:
                return [await schedules.change(schedule_id, **record.changes(schedule))]
            if operation is Operation.BACKFILL:
                return await schedules.backfill(
                    schedule_id, _moment('--since', since), _moment('--until', until)
                )
            return await _do(schedules, operation, schedule_id, note or '')

    for item in asyncio.run(work()):
        _print(item, session.as_json)


async def _do(
    schedules: Schedules | HttpSchedules, operation: Operation, schedule_id: str, note: str
) -> Sequence[Schedule | Tick]:
    match operation:
        case Operation.PAUSE | Operation.RESUME:
            return [await schedules.change(schedule_id, paused=operation is Operation.PAUSE, note=note)]
        case Operation.RUN:
            return [await schedules.run_now(schedule_id)]
        case Operation.REMOVE:
            await schedules.remove(schedule_id)
            return []
    return [await schedules.get(schedule_id), *await schedules.log(schedule_id, 10)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The values of the options for a schedule; None for those that were not given."""

    pattern: str | None
    sets: list[str] | None
    launch: Mapping[str, Any]
    cron: list[str] | None
    every: list[float] | None
    zone: str | None
    policy: Mapping[str, Any]
    own: Mapping[str, Any]
    """Name and note."""

    def schedule(self, name: str) -> Schedule:
        """Return a new schedule. Raises `InvalidInput`."""
        return Schedule(
            name=name,
            action=new_launch(self.pattern, self.sets, self.launch),
            spec=self._spec(ScheduleSpec()),
            policy=SchedulePolicy(**given(self.policy)),
            note=self.own['note'] or '',
        )

    def changes(self, before: Schedule) -> dict[str, Any]:
        """Return the fields to change. Raises `InvalidInput`."""
        values = given(self.own)
        if self.pattern is not None or self.sets is not None or self.launch:
            values['action'] = changed_launch(before.action, self.pattern, self.sets, self.launch)
        if (self.cron, self.every, self.zone) != (None, None, None):
            values['spec'] = self._spec(before.spec)
        if policy := given(self.policy):
            values['policy'] = replace(before.policy, **policy)
        if not values:
            raise InvalidInput({'change': 'give what to change, such as --cron, --set or --name'})
        return values

    def _spec(self, before: ScheduleSpec) -> ScheduleSpec:
        new = self.cron is not None or self.every is not None
        intervals = tuple(Interval(every=seconds) for seconds in self.every or ())
        return replace(
            before,
            cron=tuple(self.cron or ()) if new else before.cron,
            intervals=intervals if new else before.intervals,
            time_zone=self.zone or before.time_zone,
        )


def _moment(option: str, text: str) -> float:
    return parse_time(option, text, example='2026-03-01T00:00+01:00')


def _print(item: Schedule | Tick, as_json: bool) -> None:
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(item))
        return
    out = console()
    if isinstance(item, Tick):
        line = format_tick(item)
    else:
        state = 'paused' if item.paused else 'active'
        line = f'{item.id}  {state}  {item.name}: {item.action.pattern}. {item.spec.explain()}'
        if item.next_times:
            line += f'. Next: {format_moment(item.next_times[0], item.spec.time_zone)}'
        if item.note:
            line += f' ({item.note})'
    out.print(strip_control(line), markup=False, highlight=False, soft_wrap=True)
