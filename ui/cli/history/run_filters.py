"""Options that select runs, derived from `RunQuery`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from engine import InvalidInput, Status
from engine.records import RunQuery
from ui.cli.inputs import check_choice
from ui.cli.record_options import OptionNote, RecordOption, record_options
from ui.formatting.values import day_range, parse_day

FILTERS = 'Which runs'
NOT_OFFERED = frozenset(
    {'seen_by', 'place', 'pins_first', 'sort', 'ascending', 'totals', 'beyond', 'offset', 'limit'}
)


def _statuses(texts: list[str]) -> tuple[Status, ...]:
    for text in texts:
        check_choice('--status', text, list(Status))
    return tuple(map(Status, texts))


def _day(option: str, text: Any) -> str:
    if text and not parse_day(text):
        raise InvalidInput({option: f'must be a date such as 2026-03-04, not {text!r}'})
    return str(text)


NOTES = {
    'text': OptionNote(name='search', panel=FILTERS),
    'pattern': OptionNote(panel=FILTERS),
    'version': OptionNote(panel=FILTERS),
    'status': OptionNote(
        name='status',
        metavar='STATUS',
        hint=f': {", ".join(f"`{each}`" for each in Status)}.',
        panel=FILTERS,
        parse=_statuses,
    ),
    'tag': OptionNote(panel=FILTERS),
    'without_tag': OptionNote(panel=FILTERS),
    'since': OptionNote(
        metavar='DAY', panel=FILTERS, parse=lambda text: day_range(_day('--since', text), '')[0]
    ),
    'until': OptionNote(
        metavar='DAY', panel=FILTERS, parse=lambda text: day_range('', _day('--until', text))[1]
    ),
    'starred': OptionNote(panel=FILTERS),
    'pinned': OptionNote(panel=FILTERS),
    'edges': OptionNote(metavar='A>B', panel=FILTERS, parse=tuple),
    'state': OptionNote(panel=FILTERS),
    'trouble': OptionNote(name='failed', panel=FILTERS),
}


def run_filters(*, without: Collection[str] = ()) -> list[RecordOption]:
    """Return an option for each filter of runs, but for some."""
    return record_options(RunQuery, without={*NOT_OFFERED, *without}, notes=NOTES)


def run_query(values: dict[str, Any], **more: Any) -> RunQuery:
    """Return the query for these filters. Raises `InvalidInput`, naming the option."""
    query = RunQuery(**values, **more)
    names = {'edge': '--edge', 'trouble': '--failed'}
    if problems := query.problems():
        raise InvalidInput(
            {
                names[name]: problem.replace('needs state', 'needs --state')
                for name, problem in problems.items()
            }
        )
    return query
