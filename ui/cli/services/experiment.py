"""hemicycle experiment: variants of a workflow on the same cases: run, list, show, steer and score."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.progress import Progress

from engine import Conductor, InvalidInput
from engine.operations import ExperimentResult, result_of
from engine.operations.experiments import SAMPLE, Experiment, read_experiment
from ui.cli.conductors import open_conductor
from ui.cli.exit_codes import ExitCode
from ui.cli.output.experiment_report import junit_of, plan_lines, result_lines
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.services.opening import find_named
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import strip_control

EPILOG = """Examples:

```
hemicycle experiment run sample --yes
hemicycle experiment run stricter.yaml --dry-run
hemicycle experiment run stricter.yaml --yes --fail-under 0.8 --junit report.xml
hemicycle experiment run stricter.yaml --after "A stricter reviewer"
hemicycle experiment list
hemicycle experiment show "A stricter reviewer"
hemicycle experiment pause "A stricter reviewer"
hemicycle experiment resume "A stricter reviewer"
hemicycle experiment rescore "A stricter reviewer" --file stricter.yaml
hemicycle experiment mark "A stricter reviewer" CELL --value 1 --comment "short and right"
```

Exit code of `run`, `resume` and `show`: **0** done · **1** scores are below `--fail-under` · **2** bad input,
or refused · **3** cancelled · **4** not over yet · **5** the database cannot be used"""
SECONDS = 0.25
"""Seconds between looks at an experiment."""
T = TypeVar('T')
Name = Annotated[str, typer.Argument(metavar='EXPERIMENT', help='Its name or id.')]
FailUnder = Annotated[
    float | None,
    typer.Option(metavar='SCORE', help='Fail if the mean score of the first scorer is worse than this.'),
]
OfVariant = Annotated[
    str, typer.Option(metavar='NAME', help='The variant that `--fail-under` is about; by default the first.')
]
Junit = Annotated[Path | None, typer.Option(help='Write a JUnit report.')]


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'server')
def run(
    file: Annotated[
        str,
        typer.Argument(metavar='FILE', help='The YAML file of the experiment; `sample` is a shipped one.'),
    ],
    after: Annotated[
        str,
        typer.Option(metavar='EXPERIMENT', help='An earlier one: run only what has changed since.'),
    ] = '',
    dry_run: Annotated[bool, typer.Option(help='Say what would be run, and start nothing.')] = False,
    yes: Annotated[bool, typer.Option(help='Do not ask before it starts.')] = False,
    fail_under: FailUnder = None,
    variant: OfVariant = '',
    junit: Junit = None,
    *,
    session: Session,
) -> None:
    """Run an experiment, and show which variant is better.

    Says first how many runs and model calls there will be. If this is interrupted, a server goes on with it,
    or `hemicycle experiment resume`.
    """
    read = read_experiment(SAMPLE if file == 'sample' else Path(file))
    _check_variant(read.experiment, variant)

    async def work(conductor: Conductor) -> ExperimentResult | None:
        experiment = read.experiment
        if after:
            earlier = find_named(await conductor.experiments.list(), after, 'experiment')
            experiment = replace(experiment, after=earlier.id)
        if read.cases:
            await conductor.datasets.save(experiment.dataset, read.cases)
        plan = await conductor.experiments.plan(experiment)
        for line in plan_lines(experiment, plan):
            typer.echo(strip_control(line), err=True)
        if dry_run or not (yes or typer.confirm('Start it?', err=True)):
            return None
        return await _follow(conductor, await conductor.experiments.add(experiment), session)

    result = with_conductor(session, work)
    if result:
        _end(result, session, fail_under, variant, junit)


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'server')
def resume(
    name: Name,
    fail_under: FailUnder = None,
    variant: OfVariant = '',
    junit: Junit = None,
    *,
    session: Session,
) -> None:
    """Go on with a paused or interrupted experiment, and show the answer."""

    async def work(conductor: Conductor) -> ExperimentResult:
        stored = await _find(conductor, name)
        _check_variant(stored, variant)
        return await _follow(conductor, await conductor.experiments.resume(stored.id), session)

    _end(with_conductor(session, work), session, fail_under, variant, junit)


@with_session('as_json', 'database', 'server')
def list_experiments(*, session: Session) -> None:
    """List the experiments, newest first."""
    stored = with_conductor(session, lambda conductor: conductor.experiments.list())
    for item in stored:
        if session.as_json:
            _print_json(item)
            continue
        names = ', '.join(variant.name for variant in item.variants)
        why = f' ({item.reason})' if item.reason else ''
        typer.echo(strip_control(f'{item.id}  {item.state}{why}  {item.name}: {names}'))
    if not stored and not session.as_json:
        typer.echo('there are no experiments')


@with_session('as_json', 'database', 'server')
def show(
    name: Name,
    fail_under: FailUnder = None,
    variant: OfVariant = '',
    junit: Junit = None,
    *,
    session: Session,
) -> None:
    """Show an experiment: its variants, their scores, and which is better as far as that is clear."""

    async def work(conductor: Conductor) -> ExperimentResult:
        return await result_of(conductor.experiments, await _find(conductor, name))

    result = with_conductor(session, work)
    _check_variant(result.experiment, variant)
    if session.as_json:
        for cell in result.cells:
            _print_json(cell)
    _end(result, session, fail_under, variant, junit)


@with_session('database', 'server')
def pause(name: Name, *, session: Session) -> None:
    """Start no more runs of an experiment; those under way go on."""
    _steer(session, name, lambda conductor, stored: conductor.experiments.pause(stored))


@with_session('database', 'server')
def cancel(
    name: Name,
    reason: Annotated[str, typer.Option(help='Why.')] = '',
    *,
    session: Session,
) -> None:
    """Stop an experiment, and cancel its runs that are under way."""
    _steer(session, name, lambda conductor, stored: conductor.experiments.cancel(stored, reason))


@with_session('patterns', 'pace', 'quiet', 'as_json', 'database', 'server')
def rescore(
    name: Name,
    file: Annotated[
        Path | None, typer.Option(metavar='FILE', help='Take the scorers from this file of an experiment.')
    ] = None,
    *,
    session: Session,
) -> None:
    """Score the runs of an experiment again, perhaps with other scorers; no run is made."""
    scorers = read_experiment(file).experiment.scorers if file else None

    async def work(conductor: Conductor) -> ExperimentResult:
        stored = await _find(conductor, name)
        return await _follow(conductor, await conductor.experiments.rescore(stored.id, scorers), session)

    _end(with_conductor(session, work), session)


@with_session('database', 'server')
def mark(
    name: Name,
    cell: Annotated[
        str, typer.Argument(metavar='CELL', help='The id of the run, as `show --json` lists it.')
    ],
    value: Annotated[
        float | None, typer.Option(min=0, max=1, help='1 is good, or better than the other; 0 is bad.')
    ] = None,
    over: Annotated[str, typer.Option(metavar='CELL', help='The run that it is compared with.')] = '',
    comment: Annotated[str, typer.Option(help='What you think of it.')] = '',
    *,
    session: Session,
) -> None:
    """Say what you think of a run of an experiment, alone or compared with another."""

    def work(conductor: Conductor, stored: str) -> Awaitable[object]:
        return conductor.experiments.mark(stored, cell, over=over, value=value, comment=comment)

    _steer(session, name, work)


@with_session('database', 'server')
def adopt(
    name: Name,
    variant: Annotated[str, typer.Argument(metavar='VARIANT', help='The name of the variant.')] = '',
    reset: Annotated[
        bool, typer.Option('--reset', help="Start from the pattern's own defaults again instead.")
    ] = False,
    *,
    session: Session,
) -> None:
    """Make a variant what the launch form of its pattern starts from."""
    if not variant and not reset:
        raise InvalidInput({'VARIANT': 'name the variant, or give --reset'})

    async def work(conductor: Conductor) -> None:
        experiment = await _find(conductor, name)
        if reset:
            await conductor.experiments.reset_default(experiment.base.pattern)
        else:
            await conductor.experiments.adopt(experiment.id, variant)

    with_conductor(session, work)


@with_session('database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove an experiment that is over; its runs stay."""
    _steer(session, name, lambda conductor, stored: conductor.experiments.remove(stored))


async def _follow(conductor: Conductor, experiment: Experiment, session: Session) -> ExperimentResult:
    """Show the progress of an experiment until it is over or paused, and return its result."""
    operations, cursor, done = conductor.experiments, 0.0, 0
    with Progress(
        console=console(stderr=True), transient=True, disable=session.quiet or session.as_json
    ) as bar:
        task = bar.add_task(strip_control(experiment.name), total=None)
        while True:
            experiment = await operations.get(experiment.id)
            page = await operations.cells(experiment.id, cursor)
            cursor = page.cursor
            scored = [cell for cell in page.cells if cell.state == 'scored']
            done += len(scored)
            bar.update(task, total=page.planned, completed=min(done, page.planned))
            if session.as_json:
                for cell in scored:
                    _print_json(cell)
            if experiment.is_over or experiment.state == 'paused':
                return await result_of(operations, experiment)
            await conductor.clock.sleep(SECONDS)


def _end(
    result: ExperimentResult,
    session: Session,
    fail_under: float | None = None,
    variant: str = '',
    junit: Path | None = None,
) -> None:
    """Print a result, and exit with its code; `fail_under` replaces what the experiment says."""
    experiment = result.experiment
    if fail_under is not None:
        experiment = replace(experiment, fail_under=fail_under)
    if session.as_json:
        _print_json(result.answer)
    else:
        for line in result_lines(result):
            typer.echo(strip_control(line))
    if junit:
        junit.write_bytes(junit_of(result, experiment.fail_under, variant))
    state = experiment.state
    if state != 'done':
        raise typer.Exit(ExitCode.CANCELLED if state == 'cancelled' else ExitCode.UNFINISHED)
    name = variant or experiment.variants[0].name
    (mean,) = (item.scores[0].mean for item in result.answer.variants if item.variant == name)
    if experiment.falls_short(mean):
        raise typer.Exit(ExitCode.FAILED)


def _check_variant(experiment: Experiment, variant: str) -> None:
    names = [item.name for item in experiment.variants]
    if variant and variant not in names:
        raise InvalidInput({'--variant': f'there is no {variant!r}; available: {", ".join(names)}'})


async def _find(conductor: Conductor, name: str) -> Experiment:
    return find_named(await conductor.experiments.list(), name, 'experiment')


def find_experiment(session: Session, name: str) -> Experiment:
    """Return the experiment of a file, whose cases are saved, or the newest of a name to be started again.

    Raises:
        InvalidInput, OSError
    """
    file = read_experiment(Path(name)) if Path(name).is_file() else None

    async def work(conductor: Conductor) -> Experiment:
        if file is None:
            stored = await conductor.experiments.list()
            newest = next((item for item in stored if name in (item.id, item.name)), None)
            return (newest or find_named(stored, name, 'experiment')).again()
        if file.cases:
            await conductor.datasets.save(file.experiment.dataset, file.cases)
        return file.experiment

    return with_conductor(session, work)


def with_conductor(session: Session, work: Callable[[Conductor], Awaitable[T]]) -> T:
    """Return the result of work with a conductor, which is open meanwhile."""

    async def run() -> T:
        async with open_conductor(session) as conductor:
            return await work(conductor)

    return asyncio.run(run())


def _steer(session: Session, name: str, work: Callable[[Conductor, str], Awaitable[Any]]) -> None:
    async def carry_out(conductor: Conductor) -> None:
        await work(conductor, (await _find(conductor, name)).id)

    with_conductor(session, carry_out)


def _print_json(record: object) -> None:
    from ui.api.wire import encode

    print_json(**encode(record))
