"""hemicycle schedule: what the clock starts: list, show, add, change, run, backfill and remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from engine import InvalidInput
from engine.records import Launch
from ui.app.services.operations import ServiceOperations
from ui.app.services.schedules import Interval, Schedule, SchedulePolicy, ScheduleSpec, Tick
from ui.cli.execution.launch_options import with_launch
from ui.cli.inputs import parse_time
from ui.cli.output.reporters import print_json
from ui.cli.record_options import OptionNote, check_changes, record_options, with_options
from ui.cli.services.experiment import find_experiment
from ui.cli.services.opening import find_named, with_services
from ui.cli.services.started_run import (
    NOT_LATER,
    changed_launch,
    format_tick,
    new_launch,
)
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control
from ui.formatting.values import moment_text

EPILOG = """Examples:

```
hemicycle schedule add nightly --pattern pipeline --set task="News?" --cron "30 2 * * *" --zone Europe/Berlin
hemicycle schedule add often --pattern lone --every 900 --overlap buffer_one
hemicycle schedule add regressions --experiment stricter.yaml --cron "0 3 * * *"
hemicycle schedule list
hemicycle schedule show nightly
hemicycle schedule change nightly --cron "0 4 * * *" --set task="What is new?"
hemicycle schedule change nightly --paused --note holidays
hemicycle schedule run nightly
hemicycle schedule backfill nightly --since 2026-03-01T00:00+01:00 --until 2026-03-08T00:00+01:00
```"""
MAX_TICKS = 10
Name = Annotated[str, typer.Argument(metavar='SCHEDULE', help='Its name or id.')]
Starts = Annotated[
    str,
    typer.Option(
        metavar='FILE|EXPERIMENT',
        help='Start this experiment in place of a run: a YAML file, or an earlier one.',
    ),
]
NOTES = {
    'spec.cron': OptionNote(name='cron', metavar='EXPRESSION'),
    'spec.intervals': OptionNote(
        name='every', metavar='SECONDS', parse=lambda texts: [_interval(text) for text in texts]
    ),
    'spec.time_zone': OptionNote(name='zone', metavar='ZONE'),
    'policy.overlap': OptionNote(name='overlap'),
    'policy.catchup_window': OptionNote(name='catch-up', metavar='SECONDS'),
    'policy.pause_on_failure': OptionNote(name='pause-on-failure'),
}
OWN = 'action', 'experiment', 'spec.start', 'spec.end'
"""Fields without an option of their own name and kind: the action has those of a launch."""
CHANGES = record_options(Schedule, without=OWN, notes=NOTES, changes=True)


@with_session('patterns', 'as_json', 'database', 'server')
def list_schedules(*, session: Session) -> None:
    """List the schedules with their next times."""
    schedules = with_services(session, lambda services: services.schedules.list())
    for item in schedules:
        _print(item, session.as_json)
    if not schedules and not session.as_json:
        typer.echo('there are no schedules')


@with_session('patterns', 'as_json', 'database', 'server')
def show(name: Name, *, session: Session) -> None:
    """Show a schedule, and the outcome of its last ten due times."""

    async def work(services: ServiceOperations) -> Sequence[Schedule | Tick]:
        known = await _find(services, name)
        return [known, *await services.schedules.log(known.id, MAX_TICKS)]

    for item in with_services(session, work):
        _print(item, session.as_json)


@with_launch(*NOT_LATER)
@with_options('values', record_options(Schedule, without=OWN, notes=NOTES, arguments=('name',)))
@with_session('patterns', 'as_json', 'database', 'server')
def add(experiment: Starts = '', *, values: dict[str, Any], launch: dict[str, Any], session: Session) -> None:
    """Add a schedule of a run or an experiment, starting now."""
    _check_starts(experiment, launch)
    times, policy = values.pop('spec', {}), values.pop('policy', {})
    draft = Schedule(
        action=None if experiment else new_launch(launch),
        experiment=find_experiment(session, experiment) if experiment else None,
        spec=changed_times(ScheduleSpec(), times),
        policy=SchedulePolicy(**policy),
        **values,
    )
    _print(with_services(session, lambda services: services.schedules.add(draft)), session.as_json)


@with_launch(*NOT_LATER)
@with_options('values', CHANGES)
@with_session('patterns', 'as_json', 'database', 'server')
def change(
    schedule: Name,
    experiment: Starts = '',
    *,
    values: dict[str, Any],
    launch: dict[str, Any],
    session: Session,
) -> None:
    """Change, pause or resume a schedule; what is not given stays as it is.

    New times replace all earlier ones.
    """
    _check_starts(experiment, launch)
    if experiment:
        values |= {'action': None, 'experiment': find_experiment(session, experiment)}
    check_changes(values or launch, CHANGES)

    async def work(services: ServiceOperations) -> Schedule:
        known = await _find(services, schedule)
        if launch:
            before = known.action or Launch(pattern='')
            values['action'], values['experiment'] = changed_launch(before, launch), None
        if 'spec' in values:
            values['spec'] = changed_times(known.spec, values['spec'])
        if 'policy' in values:
            values['policy'] = replace(known.policy, **values['policy'])
        if 'paused' in values:  # A note says why it is paused: it does not outlast that.
            values.setdefault('note', '')
        return await services.schedules.change(known.id, **values)

    _print(with_services(session, work), session.as_json)


@with_session('patterns', 'as_json', 'database', 'server')
def run(name: Name, *, session: Session) -> None:
    """Start a run of a schedule now, even if another is running; a server continues it."""

    async def work(services: ServiceOperations) -> Tick:
        return await services.schedules.run_now((await _find(services, name)).id)

    _print(with_services(session, work, starts_runs=True), session.as_json)


@with_session('patterns', 'as_json', 'database', 'server')
def backfill(
    name: Name,
    since: Annotated[str, typer.Option(metavar='MOMENT', help='Start of the span.')],
    until: Annotated[str, typer.Option(metavar='MOMENT', help='End of the span.')],
    *,
    session: Session,
) -> None:
    """Start a run for each time in a span that has none yet; a server continues them."""
    span = _moment('--since', since), _moment('--until', until)

    async def work(services: ServiceOperations) -> Sequence[Tick]:
        return await services.schedules.backfill((await _find(services, name)).id, *span)

    for tick in with_services(session, work, starts_runs=True):
        _print(tick, session.as_json)


@with_session('patterns', 'database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove a schedule; its runs stay."""

    async def work(services: ServiceOperations) -> None:
        await services.schedules.remove((await _find(services, name)).id)

    with_services(session, work)


def changed_times(before: ScheduleSpec, values: dict[str, Any]) -> ScheduleSpec:
    """Return due times with changes; new expressions or intervals replace all of both."""
    if 'cron' in values or 'intervals' in values:
        before = replace(before, cron=(), intervals=())
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return replace(before, **given)


def _interval(text: str) -> Interval:
    try:
        return Interval(every=float(text))
    except ValueError:
        raise InvalidInput({'--every': f'must be a number of seconds, not {text!r}'}) from None


def _check_starts(experiment: str, launch: dict[str, Any]) -> None:
    if experiment and launch:
        raise InvalidInput({'--experiment': 'is started in place of a run: give no options of a run'})


async def _find(services: ServiceOperations, name: str) -> Schedule:
    return find_named(await services.schedules.list(), name, 'schedule')


def _moment(option: str, text: str) -> float:
    return parse_time(option, text, example='2026-03-01T00:00+01:00')


def _print(item: Schedule | Tick, as_json: bool) -> None:
    if as_json:
        from ui.api.wire import encode

        print_json(**encode(item))
        return
    if isinstance(item, Tick):
        typer.echo(strip_control(format_tick(item)))
        return
    state = 'paused' if item.paused else 'active'
    line = f'{item.id}  {state}  {item.name}: {_what(item)}. {item.spec.explain()}'
    if item.next_times:
        line += f'. Next: {moment_text(item.next_times[0], item.spec.time_zone)}'
    if item.note:
        line += f' ({item.note})'
    if item.problem:
        line += f'. It cannot start: {item.problem}'
    typer.echo(strip_control(line))


def _what(item: Schedule) -> str:
    return f'experiment {item.experiment.name}' if item.experiment else item.pattern
