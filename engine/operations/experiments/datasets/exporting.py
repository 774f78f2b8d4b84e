"""Export of datasets: as a table or as JSON lines, from which the same cases are read again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from engine.errors import InvalidInput
from engine.operations.experiments.datasets.cells import escape_formula
from engine.operations.experiments.datasets.columns import EXPECTATION, FILES, JSON_SUFFIX, OWN, PARAMETERS
from engine.operations.experiments.datasets.records import Case

BYTE_ORDER_MARK = '\ufeff'
"""Tells spreadsheets that the text is UTF-8."""


def export_json_lines(cases: Sequence[Case]) -> Iterator[str]:
    """Yield each case as a line of JSON."""
    for case in cases:
        record = {
            'id': case.id,
            'parameters': dict(case.parameters),
            'files': dict(case.files),
            'expectation': case.expectation,
            'tags': list(case.tags),
            'split': case.split,
            'source': case.source,
        }
        given = {name: value for name, value in record.items() if value or name in ('id', 'parameters')}
        if case.expectation is not None:
            given['expectation'] = case.expectation
        yield f'{json.dumps(given, ensure_ascii=False, allow_nan=False)}\n'


def export_csv(cases: Sequence[Case]) -> Iterator[str]:
    """Yield a header and a row for each case; see `escape_formula`.

    Columns that hold anything but text end in `:json`. A byte order mark comes first.

    Raises:
        InvalidInput: a cell is too long; names the case and the column.
    """
    columns = list(_columns(cases))
    yield BYTE_ORDER_MARK + _row([escape_formula(header) for header, _ in columns])
    for place, case in enumerate(cases):
        cells = []
        for header, values in columns:
            cell = escape_formula(values[place])
            if len(cell) > csv.field_size_limit():
                limit = f'is longer than {csv.field_size_limit():,} characters: export JSON lines'
                raise InvalidInput({f'cases.{case.id}.{header}': limit})
            cells.append(cell)
        yield _row(cells)


def _row(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _columns(cases: Sequence[Case]) -> Iterator[tuple[str, list[str]]]:
    yield 'id', [case.id for case in cases]
    for name in dict.fromkeys(name for case in cases for name in case.parameters):
        own = name in OWN or name.startswith((PARAMETERS, EXPECTATION, FILES))
        header = f'{PARAMETERS}{name}' if own else name
        yield _column(header, [case.parameters.get(name, MISSING) for case in cases])
    for path in dict.fromkeys(path for case in cases for path in case.files):
        yield _column(f'{FILES}{path}', [case.files.get(path, MISSING) for case in cases])
    expectations = [MISSING if case.expectation is None else case.expectation for case in cases]
    tags = [list(case.tags) if case.tags else MISSING for case in cases]
    if any(item is not MISSING for item in expectations):
        yield _column('expectation', expectations)
    if any(case.tags for case in cases):
        if any(',' in tag for case in cases for tag in case.tags):
            yield _column('tags', tags)
        else:
            yield 'tags', [', '.join(case.tags) for case in cases]
    for name in ('split', 'source'):
        if any(values := [getattr(case, name) for case in cases]):
            yield name, values


MISSING: Any = object()


def _column(name: str, values: Sequence[Any]) -> tuple[str, list[str]]:
    """Return a column's header and its cells: text if all values are, or else JSON."""
    present = [value for value in values if value is not MISSING]
    if all(isinstance(value, str) and value for value in present) and not name.endswith(JSON_SUFFIX):
        return name, ['' if value is MISSING else value for value in values]
    cells = [
        '' if value is MISSING else json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values
    ]
    return name + JSON_SUFFIX, cells
