"""The tab of cases: the table with its filters, and the runs of a cell."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from nicegui import ui

from engine.operations.experiments import Answer, Experiment
from ui.app.backend import Backend
from ui.formatting.experiments.table import BY_CASE, DISAGREEMENT, SCORE, SHOWN, CellTable, Show, figure
from ui.formatting.values import count
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, CachedElement, NativeSelect, Text, set_attributes, text_input
from ui.web.pages.experiments.cell_dialog import Picked, show_cell
from ui.web.pages.experiments.cells import CellGrid
from ui.web.routing import compare_path


class CasesPanel:
    """All cases by variant, sorted and filtered; two runs can be chosen and compared."""

    def __init__(self, backend: Backend, experiment: Experiment, table: CellTable) -> None:
        """Draw it, without rows."""
        self._backend, self._experiment, self._table = backend, experiment, table
        self._answer: Answer | None = None
        self._picked: Picked | None = None
        self._sort = ''
        with Box('cells-tools'):
            self._text = text_input('', placeholder='Find a case', aria_label='Find a case', kind='search')
            self._text.props('clearable debounce=200').on_value_change(self._arrange)
            self._show = NativeSelect(SHOWN, value='all', on_change=self._arrange)
            set_attributes(self._show, aria_label='Which cases')
            sorts = {DISAGREEMENT: 'Most disagreement first', BY_CASE: 'In the order of the dataset'}
            sorts |= {f'{SCORE}{name}': f'Best of {name} first' for name in table.variants}
            self._order = NativeSelect(sorts, value=BY_CASE, on_change=self._on_order)
            set_attributes(self._order, aria_label='Order')
            self._scorer = NativeSelect(
                {spec.name: spec.name for spec in experiment.scorers},
                value=table.scorer,
                on_change=self._on_scorer,
            )
            set_attributes(self._scorer, aria_label='Scores by')
            self._scorer.set_visibility(len(experiment.scorers) > 1)
            Box('grow', 'span')
            self._number = Text('span', '', 'muted small num', role='status')
        self._comparing = CachedElement('ghost')
        self._grid = CellGrid(table, label='Cases by variant', on_open=self._open, on_sort=self._on_head)
        self._none = CachedElement('ghost')

    def show(self, experiment: Experiment, changed: Collection[str]) -> None:
        """Show what has changed. Until a person sorts, an ended experiment has its disagreement first."""
        self._experiment = experiment
        default = DISAGREEMENT if experiment.is_over else BY_CASE
        if not self._sort:
            self._sort = default
            if self._order.value == default:
                self._arrange()
            else:
                self._order.set_value(default)
        elif changed:
            self._grid.refresh(changed)
            self._show_number()

    def show_means(self, answer: Answer) -> None:
        """Show the variants' mean scores in the head."""
        self._answer = answer
        self._grid.show_columns(self._columns)

    @property
    def _columns(self) -> list[tuple[str, str, str]]:
        means = {
            summary.variant: scores.mean
            for summary in (self._answer.variants if self._answer else ())
            for scores in summary.scores
            if scores.measure == self._table.scorer and scores.mean is not None
        }
        heads = [
            (f'{SCORE}{name}', name, f'mean {figure(means[name])}' if name in means else '')
            for name in self._table.variants
        ]
        return [(BY_CASE, 'Case', ''), *heads]

    def _arrange(self) -> None:
        show = cast(Show, self._show.value)
        self._grid.arrange(self._sort, show, str(self._text.value or ''), self._columns)
        self._show_number()

    def _show_number(self) -> None:
        all_cases, shown = len(self._table.rows), self._grid.total
        self._number.show(
            count(all_cases, 'case') if shown == all_cases else f'{shown:,} of {count(all_cases, "case")}'
        )
        if self._none.clear_if_changed((bool(shown), bool(all_cases))) and not shown:
            with self._none:
                empty_state('search_off', 'No cases match.' if all_cases else 'No run has started yet.')
        self._grid.set_visibility(bool(shown))

    def _on_order(self) -> None:
        self._sort = self._order.value
        self._arrange()

    def _on_head(self, sort: str) -> None:
        self._order.set_value(sort)

    def _on_scorer(self) -> None:
        self._table.scorer = self._scorer.value
        self._arrange()

    async def _open(self, case: str, variant: str) -> None:
        with self._comparing:
            picked = await show_cell(self._backend, self._experiment, case, variant, self._picked)
        if picked is None:
            return
        if self._picked is not None and picked.run != self._picked.run:
            ui.navigate.to(compare_path(self._picked.run, picked.run))
            return
        self._picked = picked
        self._show_picked()

    def _show_picked(self) -> None:
        self._comparing.clear()
        if self._picked is None:
            return
        with self._comparing, Box('cells-picked', role='status'):
            Text('span', f'Compare {self._picked.words} with…')
            Text('span', 'open another cell and choose a run of it.', 'muted')
            button('Clear', kind='quiet small').on('click', self._unpick)

    def _unpick(self) -> None:
        self._picked = None
        self._show_picked()
