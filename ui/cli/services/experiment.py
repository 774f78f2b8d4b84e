"""hemicycle experiment: variants of a workflow on the same cases: run, show, steer, score, export."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.progress import Progress

from engine import Conductor, InvalidInput
from engine.operations import ExperimentResult, result_of
from engine.operations.experiments import (
    SAMPLE,
    AdoptionKind,
    Experiment,
    LaunchDefault,
    read_experiment,
)
from ui.cli.conductors import open_conductor, open_reader
from ui.cli.exit_codes import ExitCode
from ui.cli.history.export import write_export
from ui.cli.output.errors import CommandError
from ui.cli.output.experiment_report import junit_of, result_lines
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.services.opening import find_named
from ui.cli.session import Session, with_session
from ui.formatting.experiments.adoption import adoption_difference
from ui.formatting.experiments.estimate import plan_sentences
from ui.formatting.plain_text import strip_control
from ui.server.grace import exit_cleanly
from ui.web.exports.formats import experiment_file_name

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
hemicycle experiment export "A stricter reviewer" -o stricter.jsonl.gz
hemicycle experiment mark "A stricter reviewer" CELL --value 1 --comment "short and right"
hemicycle experiment adopt "A stricter reviewer" "stricter reviewer" --as version
```

Exit code of `run`, `resume` and `show`: **0** done · **1** scores are below `--fail-under` · **2** bad input,
or refused · **3** cancelled · **4** not over yet · **5** the database cannot be used"""
SECONDS = 0.25
"""Seconds between looks at an experiment."""
RUNNING, UNFINISHED = ('running',), ('running', 'paused', 'scoring')
"""States of experiments that can be paused, and of those that can be cancelled or go on."""
T = TypeVar('T')
Name = Annotated[str, typer.Argument(metavar='EXPERIMENT', help='Its name or id, or the newest of a name.')]
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
            experiment = replace(experiment, after=(await _find(conductor, after)).id)
        if read.cases:
            await conductor.datasets.save(experiment.dataset, read.cases)
        plan = await conductor.experiments.plan(experiment)
        for line in (f'{experiment.name}:', *plan_sentences(plan, experiment)):
            typer.echo(strip_control(line), err=True)
        if dry_run:
            return None
        if not yes:
            await _confirm_start()
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
    """Go on with a paused, failed or interrupted experiment, and show the answer."""

    async def work(conductor: Conductor) -> ExperimentResult:
        stored = await _find(conductor, name, UNFINISHED)
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
    """Start no more runs of an experiment; those under way go on.

    Of several of that name, it is the one that is running.
    """
    _steer(session, name, lambda conductor, stored: conductor.experiments.pause(stored), RUNNING)


@with_session('database', 'server')
def cancel(
    name: Name,
    reason: Annotated[str, typer.Option(help='Why.')] = '',
    *,
    session: Session,
) -> None:
    """Stop an experiment, and cancel its runs that are under way.

    Of several of that name, it is the one that is not over.
    """
    _steer(session, name, lambda conductor, stored: conductor.experiments.cancel(stored, reason), UNFINISHED)


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
    kind: Annotated[
        AdoptionKind,
        typer.Option('--as', help="As settings of the launch form, or as a version of the pattern's chart."),
    ] = 'settings',
    yes: Annotated[bool, typer.Option(help='Do not ask before the chart is changed.')] = False,
    reset: Annotated[
        bool,
        typer.Option(
            '--reset',
            help="Take it back instead: the pattern's own defaults, or the version of the chart before.",
        ),
    ] = False,
    *,
    session: Session,
) -> None:
    """Make a variant the default: what the launch form starts from, or a new version of the chart.

    A version is shown as a difference first; its note names the experiment.
    """
    if not variant and not reset:
        raise InvalidInput({'VARIANT': 'name the variant, or give --reset'})

    async def work(conductor: Conductor) -> None:
        experiments, experiment = conductor.experiments, await _find(conductor, name)
        if reset:
            if kind == 'version':
                adopted = await _find_adopted(conductor, experiment)
                await experiments.reset_default(adopted.pattern, version=adopted.version)
            else:
                await experiments.reset_default(experiment.base.pattern)
            return
        base = ''
        if kind == 'version':
            plan = await experiments.adoption(experiment.id, variant)
            if plan.problems:
                raise InvalidInput(dict(plan.problems))
            for line in (*adoption_difference(plan), *plan.warnings):
                typer.echo(strip_control(line), err=True)
            if not (yes or typer.confirm(f'Change the chart {plan.pattern}?', err=True)):
                return
            base = plan.base
        await experiments.adopt(experiment.id, variant, kind=kind, base=base)

    with_conductor(session, work)


@with_session('database', 'files', 'server')
@exit_cleanly()
def export(
    name: Name,
    output: Annotated[
        str,
        typer.Option(
            '--output',
            '-o',
            metavar='FILE',
            help='The file to write; `-` is standard output. By default in this folder, named after it.',
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Export an experiment as a bundle, for `hemicycle runs import` on another machine.

    It has everything: dataset, runs, those of judges, scores and marks. Keys and other secrets known to this
    machine are removed. One that is under way is exported as far as it is, and is cancelled elsewhere.
    """

    async def work() -> str:
        async with open_reader(session, session.catalog) as conductor:
            stored = await _find(conductor, name)
            content = conductor.experiments.export(stored.id)
            return await write_export(content, output, experiment_file_name(stored))

    if written := asyncio.run(work()):
        typer.echo(written)


async def _confirm_start() -> None:
    """Ask whether to start. Raises `CommandError`: 1 as an exit code says that scores are too low."""
    if not sys.stdin.isatty():
        raise CommandError('it makes runs: confirm with --yes')
    if not await asyncio.to_thread(typer.confirm, 'Start it?', err=True):
        raise CommandError('it was not started')


async def _find_adopted(conductor: Conductor, experiment: Experiment) -> LaunchDefault:
    """Return the variant of an experiment that is the current version of a chart. Raises `InvalidInput`."""
    for item in await conductor.experiments.defaults():
        if item.experiment == experiment.id and item.version and item.current:
            return item
    raise InvalidInput({'--reset': 'no variant of it is the current version of a chart'})


@with_session('database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove an experiment that is over; its runs stay."""

    async def work(conductor: Conductor) -> None:
        stored = find_named(await conductor.experiments.list(), name, 'experiment')
        await conductor.experiments.remove(stored.id)

    with_conductor(session, work)


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


async def _find(conductor: Conductor, name: str, states: Collection[str] = ()) -> Experiment:
    """Return the experiment of a name or id: of several, the only one in these states, or else the newest.

    Raises:
        InvalidInput: there is none, or several are in these states.
    """
    stored = await conductor.experiments.list()
    fitting = [item for item in stored if name in (item.id, item.name) and item.state in states]
    return find_named(fitting, name, 'experiment') if fitting else _newest(stored, name)


def _newest(stored: Sequence[Experiment], name: str) -> Experiment:
    """Return the newest experiment of a name; if there are several, say which it is."""
    named = [item for item in stored if name in (item.id, item.name)]
    if not named:
        return find_named(stored, name, 'experiment')  # which says what there is
    if len(named) > 1:
        words = f'{len(named)} experiments are called {name!r}: this is the newest, {named[0].id}'
        typer.echo(strip_control(words), err=True)
    return named[0]


def find_experiment(session: Session, name: str) -> Experiment:
    """Return the experiment of a file, whose cases are saved, or the newest of a name to be started again.

    Raises:
        InvalidInput, OSError
    """
    file = read_experiment(Path(name)) if Path(name).is_file() else None

    async def work(conductor: Conductor) -> Experiment:
        if file is None:
            return (await _find(conductor, name)).again()
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


def _steer(
    session: Session,
    name: str,
    work: Callable[[Conductor, str], Awaitable[Any]],
    states: Collection[str] = (),
) -> None:
    async def carry_out(conductor: Conductor) -> None:
        await work(conductor, (await _find(conductor, name, states)).id)

    with_conductor(session, carry_out)


def _print_json(record: object) -> None:
    from ui.api.wire import encode

    print_json(**encode(record))
