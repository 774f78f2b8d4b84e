"""Rows of a table: of CSV with any delimiter, or of JSON lines. One row is in memory at a time."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO

from engine.errors import InvalidInput
from engine.operations.experiments.datasets.cells import unescape_formula
from engine.operations.experiments.datasets.columns import read_json
from engine.operations.experiments.datasets.records import TableProblem
from engine.operations.experiments.datasets.text import DAMAGE, MAX_LINE, Lines
from engine.records.jsonable import refuse_nul

DELIMITERS = (',', ';', '\t', '|')
EXCEL_HINT = re.compile(r'sep=(.)[\r\n]*')
"""The first line that Excel writes and reads: it names the delimiter."""
JSON_LINE = re.compile(r'\s*\{')
JSON_ARRAY = re.compile(r'\s*\[\s*(\{|$)')
MAX_COLUMNS = 1_000
HINT_OF_CSV_ERROR = {
    'unexpected end of data': 'a cell begins with a quotation mark and does not end with one',
    'field larger than field limit': (
        f'a cell has more than {csv.field_size_limit():,} characters, or begins with a quotation mark and'
        ' does not end with one; use JSON lines for longer texts'
    ),
    "expected after '": (
        'text follows a closing quotation mark: write each quotation mark inside a quoted cell twice'
    ),
}
DAMAGED = 'has bytes that are no text in the encoding of the file: replace them'
FATAL = ('unexpected end of data', 'field larger than field limit')
"""Errors after which rows can no longer be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row: what its columns hold."""

    number: int
    """The line at which it begins, from 1."""
    values: Mapping[str, Any]
    """Text, or from JSON lines any value. Empty cells are left out."""


@dataclass(slots=True)
class Table:
    """A file with rows. Reading its rows fills in the rest.

    Raises:
        ValueError: it is not text.
    """

    lines: Lines
    json: bool
    delimiter: str = ''
    columns: dict[str, None] = field(default_factory=dict)
    """Those with a name, in order."""

    @classmethod
    def open(cls, file: BinaryIO, delimiter: str = '') -> Table:
        """Look at a file's first lines; the file must be seekable. Raises `ValueError`, `InvalidInput`."""
        if delimiter and delimiter not in DELIMITERS:
            raise InvalidInput({'delimiter': f'must be one of {" ".join(map(repr, DELIMITERS))}'})
        lines = Lines(file)
        first = list(islice(lines, 20))
        lines.restart()
        beginning = next((line for line in first if line.strip()), '')
        is_json = bool(JSON_LINE.match(beginning) or JSON_ARRAY.match(beginning))
        hint = EXCEL_HINT.fullmatch(first[0]) if first else None
        chosen = '' if is_json else delimiter or (hint[1] if hint else _delimiter_of(first))
        return cls(lines, is_json, chosen)

    def rows(self) -> Iterator[Row | TableProblem]:
        """Yield the rows, and what is wrong with those that cannot be read."""
        yield from self._json_rows() if self.json else self._csv_rows()

    def _csv_rows(self) -> Iterator[Row | TableProblem]:
        reader = csv.reader(self.lines, delimiter=self.delimiter, strict=True)
        names: list[str] | None = None
        while True:
            number = self.lines.number + 1
            try:
                cells = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                hint = next(
                    (text for key, text in HINT_OF_CSV_ERROR.items() if key in str(error)), str(error)
                )
                yield TableProblem(row=number, text=hint)
                if names is None or any(key in str(error) for key in FATAL):
                    return
                continue
            if self.lines.too_long:
                number = max(number, self.lines.too_long[-1] + 1)
            yield from self._skipped()
            if not any(cells) or (number == 1 and EXCEL_HINT.fullmatch(self.delimiter.join(cells))):
                continue
            if names is None:
                names = [unescape_formula(cell.strip()) for cell in cells]
                problems = list(_header_problems(number, names))
                yield from problems
                if problems:
                    return
                self.columns = dict.fromkeys(filter(None, names))
            else:
                yield _row_of(number, names, cells)
        yield from self._skipped()

    def _skipped(self) -> Iterator[TableProblem]:
        while self.lines.too_long:
            yield TableProblem(
                row=self.lines.too_long.pop(0),
                text=f'is longer than {MAX_LINE:,} characters, and was skipped',
            )

    def _json_rows(self) -> Iterator[Row | TableProblem]:
        for line in self.lines:
            yield from self._skipped()
            if not line.strip():
                continue
            number = self.lines.number
            if DAMAGE in line:
                yield TableProblem(row=number, text=DAMAGED)
                continue
            try:
                value = read_json(line)
            except ValueError as error:
                if number == 1 and JSON_ARRAY.match(line):
                    yield TableProblem(
                        row=1, text='begins a JSON list: write one object in each line, without commas'
                    )
                    return
                yield TableProblem(row=number, text=str(error))
                continue
            if not isinstance(value, dict):
                yield TableProblem(row=number, text='must be a JSON object, such as {"task": "..."}')
                continue
            self.columns |= dict.fromkeys(islice(value, MAX_COLUMNS + 1))
            if len(self.columns) > MAX_COLUMNS:
                yield TableProblem(
                    row=number, text=f'has names beyond the {MAX_COLUMNS:,} of all rows together'
                )
                return
            yield _checked(Row(number=number, values={k: v for k, v in value.items() if v is not None}))
        yield from self._skipped()


def _delimiter_of(lines: list[str]) -> str:
    """Return the delimiter that splits the first lines into the most columns of the same number."""
    header = next((number for number, line in enumerate(lines) if line.strip()), 0)

    def rank(delimiter: str) -> tuple[int, int]:
        try:
            rows = list(csv.reader(lines[header:], delimiter=delimiter))
        except csv.Error:
            return 0, 0
        width = len(rows[0]) if rows else 0
        return (width if width > 1 else 0), sum(len(row) == width for row in rows)

    return max(DELIMITERS, key=rank)


def _header_problems(number: int, names: list[str]) -> Iterator[TableProblem]:
    if len(names) > MAX_COLUMNS:
        yield TableProblem(row=number, text=f'has {len(names):,} columns; {MAX_COLUMNS:,} at most')
    for name, count in Counter(filter(None, names)).items():
        if count > 1:
            places = [str(place) for place, other in enumerate(names, 1) if other == name]
            yield TableProblem(
                row=number,
                column=name,
                text=f'names columns {" and ".join(places)}: each needs a name of its own',
            )
        if '\0' in name or DAMAGE in name:
            yield TableProblem(row=number, column=name, text='is not readable as a name')


def _row_of(number: int, names: list[str], cells: list[str]) -> Row | TableProblem:
    extra = [
        place for place, cell in enumerate(cells, 1) if cell and (place > len(names) or not names[place - 1])
    ]
    if len(cells) < len(names) and any(names[len(cells) :]):
        return TableProblem(row=number, text=f'has {len(cells)} of {len(names)} cells')
    if extra and extra[0] > len(names):
        return TableProblem(
            row=number,
            text=f'has {extra[-1]} cells for {len(names)} columns: put quotation marks around a cell'
            ' that holds the delimiter',
        )
    if extra:
        return TableProblem(
            row=number, text=f'has something in column {extra[0]}, which the header does not name'
        )
    values = {name: unescape_formula(cell) for name, cell in zip(names, cells, strict=False) if name and cell}
    damaged = next((name for name, cell in values.items() if DAMAGE in cell), '')
    if damaged:
        return TableProblem(row=number, column=damaged, text=DAMAGED)
    return _checked(Row(number=number, values=values))


def _checked(row: Row) -> Row | TableProblem:
    try:
        refuse_nul(row.values)
    except InvalidInput as error:
        column, text = next(iter(error.problems.items()))
        return TableProblem(row=row.number, column=column, text=text)
    return row
