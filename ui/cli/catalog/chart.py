"""hemicycle chart: charts that are files: list, show, check, save, and their versions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from engine import Conductor, InvalidInput
from engine.charts.library import ChartInfo, ChartVersion
from engine.errors import UnknownPattern
from engine.operations import ChartCheck, Charting
from ui.app.colours import FAILED
from ui.cli.catalog.rehearse import finding_line
from ui.cli.catalog.saving import open_connections
from ui.cli.exit_codes import ExitCode
from ui.cli.output.reporters import print_json
from ui.cli.output.step_text import console
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import moment_text

EPILOG = """Examples:

```
hemicycle chart check two-writers.chart.yaml
hemicycle chart save two-writers.chart.yaml --note "a judge decides"
hemicycle chart list
hemicycle chart versions two-writers
hemicycle chart show two-writers --version 2 > two-writers.chart.yaml
hemicycle chart restore two-writers 2
hemicycle chart remove two-writers
```

Exit code: **0** done · **1** something is wrong with the chart · **2** bad input, or refused"""
SUFFIXES = ('.chart.yaml', '.chart.json')
T = TypeVar('T')
Name = Annotated[str, typer.Argument(metavar='NAME', help='The name of a chart, as `list` shows it.')]
File = Annotated[
    Path, typer.Argument(metavar='FILE', help='A file called NAME.chart.yaml or NAME.chart.json.')
]


@with_session('patterns', 'as_json', 'server')
def list_charts(*, session: Session) -> None:
    """List the charts that are files, and what is wrong with them."""
    infos = _ask(session, lambda charts: charts.list())
    if session.as_json:
        for info in infos:
            print_json(**asdict(info))
    elif infos:
        table = _table('chart', 'version', 'saved', 'by', 'title')
        for info in infos:
            table.add_row(*_row(info))
        console().print(table, soft_wrap=False)
        for fault in (fault for info in infos for fault in info.faults):
            console().print(Text(strip_control(f'{fault.path}:{fault.line}: {fault.problem}'), style=FAILED))
    else:
        typer.echo('there are no charts yet: write one, and save it with `hemicycle chart save`')


@with_session('patterns', 'server')
def show(
    name: Name,
    *,
    version: Annotated[
        str, typer.Option(metavar='VERSION', help='One of its versions, or its number.', show_default=False)
    ] = '',
    session: Session,
) -> None:
    """Print the text of a chart, or of one of its versions."""
    typer.echo(_ask(session, lambda charts: charts.get(name, version)).text, nl=False)


@with_session('patterns', 'as_json', 'server')
def check(file: File, *, session: Session) -> None:
    """Check a file as a chart, without saving it: what is wrong by line, and what a rehearsal finds."""
    text, name = _read(file), _name_of(file)
    checked = _ask(session, lambda charts: charts.check(text, name))
    if session.as_json:
        print_json(**asdict(checked))
    else:
        _print_check(file, checked)
    wrong = checked.problems or [each for each in checked.findings if each.level == 'error']
    raise typer.Exit(ExitCode.FAILED if wrong else ExitCode.DONE)


@with_session('patterns', 'as_json', 'server')
def save(
    file: File,
    note: Annotated[str, typer.Option(help='What has changed, for people.')] = '',
    base: Annotated[
        str,
        typer.Option(
            metavar='VERSION',
            help='Refuse to save if another version is current by now.',
            show_default=False,
        ),
    ] = '',
    *,
    session: Session,
) -> None:
    """Save a file as the newest version of its chart, which new runs have from then on."""
    text, name = _read(file), _name_of(file)

    async def work(charts: Charting) -> ChartVersion:
        return await charts.save(name, text, base=base or await _current(charts, name), note=note)

    _print_saved(session, name, _ask(session, work))


@with_session('patterns', 'as_json', 'server')
def versions(name: Name, *, session: Session) -> None:
    """List the versions of a chart, the newest first, also if it was removed."""
    listed = _ask(session, lambda charts: charts.versions(name))
    if session.as_json:
        for version in listed:
            print_json(**asdict(version))
        return
    table = _table('number', 'version', 'saved', 'by', 'note')
    for version in listed:
        current = ' current' if version.current else ''
        table.add_row(
            f'{version.number}{current}',
            version.version,
            moment_text(version.saved),
            one_line(version.author),
            one_line(version.note, 200),
        )
    console().print(table, soft_wrap=False)


@with_session('patterns', 'as_json', 'server')
def restore(
    name: Name,
    version: Annotated[str, typer.Argument(metavar='VERSION', help='The version, or its number.')],
    *,
    session: Session,
) -> None:
    """Make an earlier version of a chart current again, also if the chart was removed."""
    _print_saved(session, name, _ask(session, lambda charts: charts.restore(name, version)))


@with_session('patterns', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove a chart; its versions stay, and its runs go on."""
    _ask(session, lambda charts: charts.remove(name))
    typer.echo(f'removed {name}: `hemicycle chart restore {name} VERSION` brings it back')


def _ask(session: Session, work: Callable[[Charting], Awaitable[T]]) -> T:
    async def ask() -> T:
        conductor: Conductor
        async with open_connections(session) as conductor:
            return await work(conductor.charts)

    return asyncio.run(ask())


async def _current(charts: Charting, name: str) -> str:
    """Return the version in a chart's file; '' if it has none."""
    try:
        return (await charts.get(name)).version
    except UnknownPattern:
        return ''


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode('utf-8')
    except OSError as error:
        raise InvalidInput({'FILE': f'{file} cannot be read: {error.strerror}'}) from None
    except UnicodeDecodeError:
        raise InvalidInput({'FILE': f'{file} is not UTF-8 text'}) from None


def _name_of(file: Path) -> str:
    """Return the name of the chart in a file of this name."""
    for suffix in SUFFIXES:
        if file.name.endswith(suffix):
            return file.name.removesuffix(suffix)
    raise InvalidInput({'FILE': f'must be called NAME{SUFFIXES[0]} or NAME{SUFFIXES[1]}, not {file.name}'})


def _row(info: ChartInfo) -> tuple[str, ...]:
    version = info.version
    return (
        info.name,
        'removed' if info.removed else str(version.number) if version else '-',
        moment_text(version.saved) if version else '',
        one_line(version.author) if version else '',
        one_line(info.title, 100) + (f'  ({info.folder})' if info.folder else ''),
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style='bold')
    for column in columns:
        table.add_column(column, no_wrap=True, overflow='ellipsis')
    return table


def _print_check(file: Path, checked: ChartCheck) -> None:
    out = console()
    for problem in checked.problems:
        out.print(Text(strip_control(f'{file}:{problem.line}: {problem.problem}'), style=FAILED))
    for finding in checked.findings:
        out.print(finding_line(finding))
    if not checked.problems:
        out.print(f'{file} can be saved.')


def _print_saved(session: Session, name: str, version: ChartVersion) -> None:
    if session.as_json:
        print_json(name=name, **asdict(version))
    else:
        typer.echo(f'{name}: version {version.number} ({version.version}) is current')
