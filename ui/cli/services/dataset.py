"""hemicycle dataset: the cases of experiments: import, list, show, export and remove."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from engine import Conductor, InvalidInput
from engine.operations.experiments import Case, DatasetInfo, export_csv, export_json_lines, import_cases
from ui.cli.output.reporters import print_json
from ui.cli.services.experiment import with_conductor
from ui.cli.session import Session, with_session
from ui.formatting.plain_text import one_line, strip_control
from ui.formatting.values import count

EPILOG = """Examples:

```
hemicycle dataset import sums.csv --pattern pipeline
hemicycle dataset import sums.csv --name "Sums of a bakery" --column question=task --column answer=expectation
hemicycle dataset list
hemicycle dataset show sums
hemicycle dataset export sums sums.jsonl
hemicycle dataset remove sums
```"""
Name = Annotated[str, typer.Argument(metavar='DATASET', help='Its name or id.')]
Version = Annotated[str, typer.Option(help='The beginning of the id of a version; by default the newest.')]
SHOWN = 10
OWN = ('id', 'split', 'tags', 'source', 'expectation', 'parameters', 'files')
"""What a column may be read as, besides a parameter."""


@with_session('patterns', 'as_json', 'database', 'server')
def import_file(
    file: Annotated[Path, typer.Argument(metavar='FILE', help='CSV, TSV or JSON lines.')],
    name: Annotated[str, typer.Option(help='The dataset; by default called like the file.')] = '',
    pattern: Annotated[
        str, typer.Option(help='The pattern whose parameters the columns are: it says their types.')
    ] = '',
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar='COLUMN=FIELD',
            help='What a column is: a parameter, `expectation`, `id`, `split` or `tags`; empty leaves it out.'
            ' Repeatable.',
        ),
    ] = None,
    note: Annotated[str, typer.Option(help='What is new about this version.')] = '',
    dry_run: Annotated[bool, typer.Option(help='Show the first cases, and save nothing.')] = False,
    *,
    session: Session,
) -> None:
    """Save the cases of a file as a version of a dataset; all of them, or none if a row is wrong."""
    columns = dict(map(_column, column or ()))
    kind = session.catalog.pattern(pattern) if pattern else None
    with file.open('rb') as opened:
        read = import_cases(opened, pattern=kind, columns=columns, preview=SHOWN if dry_run else 0)
    cases = read.require()
    if dry_run:
        typer.echo(strip_control(', '.join(f'{of} → {to or "left out"}' for of, to in read.columns.items())))
        _print_cases(cases, session)
        return

    async def work(conductor: Conductor) -> DatasetInfo:
        return await conductor.datasets.save(name or file.stem, cases, note=note)

    _print(with_conductor(session, work), session)


@with_session('as_json', 'database', 'server')
def list_datasets(*, session: Session) -> None:
    """List the datasets with their newest versions."""
    stored = with_conductor(session, lambda conductor: conductor.datasets.list())
    for item in stored:
        _print(item, session)
    if not stored and not session.as_json:
        typer.echo('there are no datasets')


@with_session('as_json', 'database', 'server')
def show(name: Name, version: Version = '', *, session: Session) -> None:
    """Show a dataset: its versions, and the first ten cases of one; with `--json`, all of them."""

    async def work(conductor: Conductor) -> tuple[DatasetInfo, Sequence[Case]]:
        stored = await conductor.datasets.get(name)
        return stored, await conductor.datasets.cases(stored.id, version)

    stored, cases = with_conductor(session, work)
    if not session.as_json:
        for item in stored.versions:
            note = f': {item.note}' if item.note else ''
            typer.echo(strip_control(f'{item.id}  {count(item.cases, "case")}{note}'))
    _print_cases(cases, session)


@with_session('database', 'server')
def export(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar='FILE', help='CSV if it ends in `.csv`, or JSON lines.')],
    version: Version = '',
    *,
    session: Session,
) -> None:
    """Write the cases of a dataset to a file, from which the same cases can be imported."""
    cases = with_conductor(session, lambda conductor: conductor.datasets.cases(name, version))
    lines = export_csv(cases) if file.suffix.lower() == '.csv' else export_json_lines(cases)
    with file.open('w', encoding='utf-8', newline='') as opened:
        opened.writelines(lines)


@with_session('database', 'server')
def remove(name: Name, *, session: Session) -> None:
    """Remove a dataset with all its versions; experiments keep their results."""

    async def work(conductor: Conductor) -> None:
        await conductor.datasets.remove((await conductor.datasets.get(name)).id)

    with_conductor(session, work)


def _column(text: str) -> tuple[str, str]:
    name, sign, field = text.partition('=')
    if not sign or not name:
        raise InvalidInput({'--column': f'must be COLUMN=FIELD, such as question=task, not {text!r}'})
    known = not field or field in OWN or '.' in field
    return name, field if known else f'parameters.{field}'


def _print(item: DatasetInfo, session: Session) -> None:
    if session.as_json:
        from ui.api.wire import encode

        print_json(**encode(item))
        return
    newest = item.version()
    versions = f' in {count(len(item.versions), "version")}'
    line = f'{item.id}  {item.name}: {count(newest.cases, "case")} ({newest.id}){versions}'
    typer.echo(strip_control(line))


def _print_cases(cases: Sequence[Case], session: Session) -> None:
    if session.as_json:
        for line in export_json_lines(cases):
            typer.echo(line, nl=False)
        return
    for case in cases[:SHOWN]:
        expected = '' if case.expectation is None else f' → {one_line(str(case.expectation))}'
        given = ', '.join(f'{name}={value}' for name, value in case.parameters.items())
        files = f' [{", ".join(case.files)}]' if case.files else ''
        typer.echo(one_line(f'{case.id}: {given}{files}', 160) + expected)
    if len(cases) > SHOWN:
        typer.echo(f'and {count(len(cases) - SHOWN, "more")}')
