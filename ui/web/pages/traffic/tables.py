"""Tables of all drawn states and edges, sortable; a row selects its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from nicegui import ui
from nicegui.element import Element

from ui.formatting.diagram.traffic import EdgeHeat, StateHeat
from ui.formatting.steps import duration, edge_text, path_text
from ui.formatting.values import percent
from ui.web.components.widgets import Box, Text, set_attributes

T = TypeVar('T')


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of numbers: header, sort key and format."""

    name: str
    value: Callable[[T], Any]
    shown: Callable[[T], str]
    help: str


def _states() -> tuple[Column[StateHeat], ...]:
    def column(name: str, field: str, format_value: Callable[[Any], str], hint: str) -> Column[StateHeat]:
        def value(state: StateHeat) -> float:
            return getattr(state.traffic, field) if state.traffic else -1

        return Column(name, value, lambda state: format_value(value(state)) if state.traffic else '–', hint)

    return (
        Column(
            'Runs',
            lambda state: state.runs,
            _format_runs,
            'Runs that entered it, out of those whose chart has it',
        ),
        Column(
            'Visits',
            lambda state: state.average,
            lambda state: f'{state.average:.1f}' if state.runs else '–',
            'Average over the runs that entered it',
        ),
        column('Max', 'most', '{:,}'.format, 'Most visits by a single run'),
        column('Median', 'median', duration, 'Median time per run, all visits added up'),
        column('90\xa0%', 'p90', duration, '90th percentile of time per run'),
        column('Total', 'seconds', duration, 'Time of all runs together'),
        column('Failed', 'failed', '{:,}'.format, 'Failures there'),
        column('Expired', 'expired', '{:,}'.format, 'Timeouts there'),
        Column(
            'Ended runs',
            lambda state: state.traffic.fell if state.traffic else -1,
            _format_failure_rate,
            'Runs that failed in this state',
        ),
    )


def _format_runs(state: StateHeat) -> str:
    some = 0 < state.runs < state.having
    return f'{state.runs:,}{f" ({percent(state.runs / state.having)})" if some else ""}'


def _format_failure_rate(state: StateHeat) -> str:
    traffic = state.traffic
    if not traffic:
        return '–'
    return f'{traffic.fell:,} ({percent(traffic.fell / traffic.runs)})' if traffic.fell else '0'


EDGES: tuple[Column[EdgeHeat], ...] = (
    Column('Taken', lambda edge: edge.times, lambda edge: f'{edge.times:,}', 'In all runs'),
    Column('Runs', lambda edge: edge.runs, lambda edge: f'{edge.runs:,}', 'Runs that took it'),
    Column(
        'Share of exits',
        lambda edge: edge.share,
        lambda edge: percent(edge.share) if edge.times else '–',
        'Share of all exits from its source state',
    ),
)


class HeatTable(Generic[T]):
    """A table sorted by its headers."""

    def __init__(
        self,
        title: str,
        columns: Sequence[Column[T]],
        *,
        key: Callable[[T], str],
        name: Callable[[T], str],
        on_pick: Callable[[str], None],
    ) -> None:
        """Draw its header; `key` is what `on_pick` gets for a row, `name` its label."""
        self._columns, self._key, self._name, self._on_pick = columns, key, name, on_pick
        self._rows: Sequence[T] = ()
        self._by, self._picked = 0, ''  # 0 is the order of the chart
        self._up = True
        self._buttons: dict[str, Element] = {}
        self._heads: list[Element] = []
        # ARIA roles are explicit: on a narrow screen the block layout would drop the table semantics.
        with Box('table numbers heat-table', 'table', role='table'):
            Text('caption', f'{title}s', 'visually-hidden')
            with Box(tag='thead', role='rowgroup'), Box(tag='tr', role='row'):
                self._draw_head(title, 'In chart order', 0)
                for number, column in enumerate(columns, start=1):
                    self._draw_head(column.name, column.help, number)
            self._body = Box(tag='tbody', role='rowgroup')

    def show(self, rows: Sequence[T], picked: str) -> None:
        """Show these rows in the chosen order."""
        if (rows, picked) == (self._rows, self._picked):
            return
        same = rows == self._rows
        self._rows, self._picked = rows, picked
        if same:
            for key, row_button in self._buttons.items():
                set_attributes(row_button, aria_pressed=str(key == picked).lower())
        else:
            self._draw()

    def _draw_head(self, title: str, hint: str, number: int) -> None:
        with Box(tag='th', scope='col', role='columnheader') as head:
            with Box('heat-sort', 'button', type='button') as sort_button:
                Text('span', title)
                ui.icon('arrow_downward', size='14px')
            set_attributes(sort_button, title=hint)
            sort_button.on('click', partial(self._sort, number))
        self._heads.append(head)

    def _sort(self, number: int) -> None:
        self._up = not self._up if number == self._by and number else not number
        self._by = number
        for place_, head in enumerate(self._heads):
            chosen = place_ == number and number > 0
            set_attributes(head, aria_sort=('ascending' if self._up else 'descending') if chosen else 'none')
        self._draw()

    def _draw(self) -> None:
        rows = list(self._rows)
        if self._by:
            rows.sort(key=self._columns[self._by - 1].value, reverse=not self._up)
        self._body.clear()
        self._buttons.clear()
        with self._body:
            for row in rows:
                self._row(row)

    def _row(self, row: T) -> None:
        key = self._key(row)
        with Box(tag='tr', role='row'):
            with Box(tag='th', scope='row', role='rowheader'):
                with Box('heat-pick', 'button', type='button') as row_button:
                    Text('span', self._name(row))
                set_attributes(
                    row_button, aria_pressed=str(key == self._picked).lower(), title='Show its runs'
                )
                row_button.on('click', lambda: self._on_pick(key))
                self._buttons[key] = row_button
            for column in self._columns:
                Text('td', column.shown(row), 'num', role='cell', data_column=column.name)


def state_table(on_pick: Callable[[str], None]) -> HeatTable[StateHeat]:
    """Draw a row for each state; `on_pick` gets the path of the one clicked."""
    return HeatTable(
        'State',
        _states(),
        key=lambda state: state.path,
        name=lambda state: path_text(state.path),
        on_pick=on_pick,
    )


def edge_table(on_pick: Callable[[str], None]) -> HeatTable[EdgeHeat]:
    """Draw a row for each edge; `on_pick` gets the `real` of the one clicked."""
    return HeatTable(
        'Edge', EDGES, key=lambda edge: edge.real, name=lambda edge: edge_text(edge.name), on_pick=on_pick
    )
