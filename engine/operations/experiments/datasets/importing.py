"""Import of datasets: cases from a table, and what is wrong with it, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from engine.errors import InvalidInput
from engine.operations.experiments.datasets.columns import (
    EXPECTATION,
    FILES,
    JSON_SUFFIX,
    PARAMETERS,
    check_target,
    read_json,
    read_text,
    schemas_of,
    target_of,
)
from engine.operations.experiments.datasets.records import (
    MAX_CASES,
    MAX_PROBLEMS,
    Case,
    ImportedCases,
    TableProblem,
)
from engine.operations.experiments.datasets.tables import Row, Table
from engine.operations.experiments.records import MAX_CASE
from engine.records import RunId, clip
from engine.records.launch import check_files
from engine.statechart.pattern import Pattern


def import_cases(
    file: BinaryIO,
    *,
    pattern: type[Pattern] | None = None,
    columns: Mapping[str, str] | None = None,
    delimiter: str = '',
    preview: int = 0,
) -> ImportedCases:
    """Read cases from CSV or JSON lines, whichever it is. Takes seconds for large files: call it in a thread.

    Args:
        file: seekable; it stays open.
        pattern: whose parameters they are: their types decide how cells are read. Without it, cells are text.
        columns: what to read columns as, where their names do not say it; see `ImportedCases.columns`. Parts
            of objects in JSON lines are named like `input.task`.
        delimiter: what separates cells, if not what the first lines say.
        preview: read only so many cases; by default all, up to `MAX_CASES`.

    Raises:
        InvalidInput: names the argument.
    """
    try:
        table = Table.open(file, delimiter)
    except ValueError as error:
        problem = TableProblem(row=0, text=f'cannot be read: {error}')
        return ImportedCases(cases=(), problems=(problem,), columns={}, encoding='', delimiter='')
    reader = _Reader(table, pattern, columns or {})
    cases: list[Case] = []
    problems: list[TableProblem] = []
    for item in reader.read():
        if isinstance(item, TableProblem):
            problems.append(item)
        elif len(cases) == MAX_CASES:
            problems.append(TableProblem(row=0, text=f'has more than {MAX_CASES:,} cases: split it'))
            break
        else:
            cases.append(item)
        if len(problems) >= MAX_PROBLEMS or 0 < preview == len(cases):
            break
    if not cases and not problems:
        text = 'has a header, and no rows below it' if table.columns else 'is empty'
        problems.append(TableProblem(row=0, text=text))
    table.lines.close()
    encoding = table.lines.encoding.removesuffix('-sig')
    return ImportedCases(
        cases=tuple(cases),
        problems=tuple(problems),
        columns=reader.targets,
        encoding=encoding,
        delimiter=table.delimiter,
    )


class _Reader:
    """Reads the cases of a table."""

    def __init__(self, table: Table, pattern: type[Pattern] | None, columns: Mapping[str, str]) -> None:
        self._table, self._pattern, self._columns = table, pattern, columns
        self._types = schemas_of(pattern.Parameters) if pattern else None
        self.targets: dict[str, str] = {}
        self._ids: dict[str, int] = {}

    def read(self) -> Iterator[Case | TableProblem]:
        """Yield the cases, and what is wrong."""
        for item in self._table.rows():
            if isinstance(item, TableProblem):
                yield item
                continue
            values = self._pick(item)
            problems = list(self._name_columns(item, values))
            yield from problems
            if problems and not self._table.json:
                return
            if not problems:
                yield from self._read_row(item, values)
        if not self.targets:  # There is no row; the header may be wrong all the same.
            yield from self._name_columns(None, dict.fromkeys(self._table.columns))

    def _pick(self, row: Row) -> dict[str, Any]:
        """Return what a row holds by column, parts of objects that are named too."""
        values = dict(row.values)
        for column in self._columns:
            head, *path = column.split('.')
            if column in row.values or head not in row.values or not self._table.json:
                continue
            part = row.values[head]
            for name in path:
                part = part.get(name) if isinstance(part, dict) else None
            values.pop(head, None)
            if part is not None:
                values[column] = part
        return values

    def _name_columns(self, row: Row | None, values: Mapping[str, Any]) -> Iterator[TableProblem]:
        """Say what the columns are read as that were not seen before."""
        number = row.number if row and self._table.json else 1
        columns = values if self._table.json else self._table.columns
        if not self.targets and not self._table.json:
            for column in self._columns.keys() - self._table.columns.keys():
                known = ', '.join(self._table.columns)
                yield TableProblem(
                    row=number, column=column, text=f'there is no such column; there are: {known}'
                )
        for column in columns:
            if column in self.targets:
                continue
            target = self._columns.get(column, target_of(column, self._types))
            if problem := check_target(target, self._types):
                yield TableProblem(row=number, column=column, text=problem)
                continue
            twin = next((name for name, other in self.targets.items() if other == target and target), '')
            if twin and not self._table.json:
                yield TableProblem(row=number, column=column, text=f'is read as {target}, and so is {twin!r}')
            self.targets[column] = target

    def _read_row(self, row: Row, values: Mapping[str, Any]) -> Iterator[Case | TableProblem]:
        collected = _Collected()
        problems = []
        for column, value in values.items():
            if target := self.targets[column]:
                try:
                    collected.add(target, column, self._value(column, target, value))
                except ValueError as error:
                    problems.append(TableProblem(row=row.number, column=column, text=str(error)))
        parameters, own, parts = collected.parameters, collected.own, collected.parts
        wrong = {f'{PARAMETERS}{name}': text for name, text in self._wrong_parameters(parameters).items()}
        for place, text in (wrong | _wrong_files(collected.files)).items():
            column = collected.origins.get(place, place.removeprefix(PARAMETERS))
            if not any(problem.column == column for problem in problems):
                problems.append(TableProblem(row=row.number, column=column, text=text))
        if parts and own.get('expectation') is not None:
            problems.append(
                TableProblem(
                    row=row.number, column='expectation', text='is given whole, and in parts: choose one'
                )
            )
        case = Case(
            id=own.get('id') or str(len(self._ids) + 1),
            parameters=parameters,
            files={} if problems else check_files(collected.files),
            expectation=parts or own.get('expectation'),
            tags=own.get('tags', ()),
            split=own.get('split', ''),
            source=RunId(own.get('source', '')),
        )
        first = self._ids.setdefault(case.id, row.number)
        if first != row.number:
            problems.append(
                TableProblem(
                    row=row.number, column='id', text=f'{clip(case.id, 40)!r} is the id of row {first}, too'
                )
            )
        if problems:
            yield from problems
        else:
            yield case

    def _value(self, column: str, target: str, value: Any) -> Any:
        """Return a value as its target needs it. Raises `ValueError`."""
        is_text = isinstance(value, str) and not self._table.json
        if is_text and column.endswith(JSON_SUFFIX):
            value, is_text = read_json(value), False
        if target == 'tags':
            return _tags(value)
        if target in ('id', 'split', 'source'):
            return _line(value)
        if target in ('parameters', 'files'):
            return _named(read_json(value) if is_text else value, NAMED[target])
        if is_text and target.startswith(PARAMETERS) and self._types is not None:
            types = self._types[target.removeprefix(PARAMETERS)]
            return read_text(value, types, decimal_comma=self._table.delimiter == ';')
        return value

    def _wrong_parameters(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        if self._pattern is None or not parameters:
            return {}
        try:
            self._pattern.sample(parameters)
        except InvalidInput as error:
            return error.problems
        return {}


@dataclass(slots=True)
class _Collected:
    """What the cells of a row give."""

    parameters: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    """Parts of what is expected, by name."""
    own: dict[str, Any] = field(default_factory=dict)
    """What else a case has, by the names of its fields."""
    origins: dict[str, str] = field(default_factory=dict)
    """The column that gave a parameter or a file: `parameters.task`."""

    def add(self, target: str, column: str, value: Any) -> None:
        """Add what a column is read as."""
        groups = {PARAMETERS: self.parameters, FILES: self.files, EXPECTATION: self.parts}
        head, dot, name = target.partition('.')
        if dot:
            groups[f'{head}.'][name], self.origins[target] = value, column
        elif target in ('parameters', 'files'):
            groups[f'{target}.'].update(value)
            self.origins |= {f'{target}.{key}': column for key in value}
        else:
            self.own[target] = value


def _wrong_files(files: Mapping[str, Any]) -> dict[str, str]:
    try:
        check_files(files)
    except InvalidInput as error:
        return error.problems
    return {}


NAMED = {'parameters': 'values by the names of parameters', 'files': 'contents by the paths of files'}


def _named(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f'must be a JSON object: {what}')
    return value


def _tags(value: Any) -> tuple[str, ...]:
    tags = value.split(',') if isinstance(value, str) else value
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError('must be tags separated by commas, or a JSON list of texts')
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def _line(value: Any) -> str:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ''
    if not text.strip() or len(text) > MAX_CASE:
        raise ValueError(f'must be a text of 1 to {MAX_CASE} characters')
    return text.strip()
