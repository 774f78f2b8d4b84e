"""A case as cells of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.operations.experiments import Case
from ui.formatting.files import files_text
from ui.formatting.steps import short_json
from ui.web.components.widgets import Box, Text, text_link

MAX_VALUE = 160
"""Maximum number of characters shown of a value."""
MAX_COLUMNS = 4
"""Maximum number of parameters with a column of their own."""


def columns_of(cases: Iterable[Case]) -> list[str]:
    """Return the parameters that get a column, and '' for that of the files if there are any."""
    listed = list(cases)
    names = list(dict.fromkeys(name for case in listed for name in case.parameters))[:MAX_COLUMNS]
    return [*names, ''] if any(case.files for case in listed) else names


def titles_of(columns: Sequence[str]) -> list[str]:
    """Return the titles of all columns."""
    return ['Case', *(name.replace('_', ' ') or 'Files' for name in columns), 'Expected', 'Split and tags']


def draw_case(case: Case, columns: Sequence[str]) -> None:
    """Draw the cells of a case in the current row."""
    with Box(tag='th', scope='row'):
        Text('span', case.id, dir='auto')
        if case.source:
            text_link(f'/runs/{case.source}', 'from a run', 'small')
    for name in columns:
        value = case.parameters.get(name)
        shown = '' if value is None else short_json(value, MAX_VALUE)
        Text('td', shown if name else files_text(case.files), dir='auto')
    expected = case.expectation
    Text('td', '–' if expected is None else short_json(expected, MAX_VALUE), dir='auto')
    with Box(tag='td'), Box('chips'):
        for text in filter(None, (case.split, *case.tags)):
            Text('span', text, 'chip')
