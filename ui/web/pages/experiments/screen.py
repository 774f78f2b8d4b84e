"""An experiment's page: followed while it runs, then its answer."""

from __future__ import annotations

import math
import time
from contextlib import suppress

from nicegui import ui

from engine import EngineError
from engine.operations.experiments import Answer, Experiment, LaunchDefault, Variant
from ui.app.backend import Backend
from ui.formatting.experiments.table import CellTable
from ui.web.components.debounce import create_page_task
from ui.web.components.tabs import Tabs
from ui.web.components.theme import text_notice
from ui.web.components.widgets import Box, CachedElement
from ui.web.pages.experiments.answer.adopting import adopt, take_back
from ui.web.pages.experiments.answer.verdict import Verdict, draw_agreement, draw_numbers
from ui.web.pages.experiments.cases import CasesPanel
from ui.web.pages.experiments.diagram import PathsPanel
from ui.web.pages.experiments.head import ExperimentHead, Progress
from ui.web.pages.experiments.setup import SetupPanel
from ui.web.pages.experiments.spending import SpendingPanel

POLL_SECONDS = 1.0
ANSWER_REST = 5
"""Minimum rest after working out the answer, in multiples of the time that took."""


class ExperimentScreen:
    """Everything on the page."""

    def __init__(self, backend: Backend, experiment: Experiment) -> None:
        """Draw it without runs; `load` reads them."""
        self._backend, self._experiment = backend, experiment
        self._table = CellTable(
            [variant.name for variant in experiment.variants],
            {spec.name: spec.better for spec in experiment.scorers},
            experiment.repeats,
        )
        self._answer: Answer | None = None
        self._answered_for: tuple[float, str] | None = None
        self._next_answer = 0.0
        self._busy = self._is_answering = False
        self._head = ExperimentHead(backend, experiment, on_change=self.refresh)
        self._problem = CachedElement('ghost')
        self._progress = Progress()
        self._verdict = Verdict(self._adopt, self._take_back)
        with Box('panel experiment-panel', 'section', aria_label='Answer in detail') as self._panel:
            self._tabs = Tabs('Answer, cases, diagram, cost and setup', on_change=self._on_open)
            with self._tabs.panel('Answer'):
                self._numbers = CachedElement('experiment-tab', data_redrawn=True)
            with self._tabs.panel('Cases', 'flat'):
                self._cases = CasesPanel(backend, experiment, self._table)
            with self._tabs.panel('Diagram', 'flat'):
                self._paths = PathsPanel(backend, experiment, self._table.sample_runs)
            with self._tabs.panel('Cost & time'):
                self._spending = SpendingPanel(backend, experiment)
            with self._tabs.panel('Setup'):
                self._setup = SetupPanel(backend, self._table)

    async def load(self) -> None:
        """Read the runs there are, and follow the others."""
        with suppress(EngineError):  # its dataset may have been removed
            cases = await self._backend().datasets.cases(self._experiment.dataset, self._experiment.version)
            self._table.places = {case.id: place for place, case in enumerate(cases)}
        await self.refresh()
        with self._panel:
            ui.timer(POLL_SECONDS, self.refresh, immediate=False)

    async def refresh(self) -> None:
        """Bring the page up to date."""
        if self._busy or self._panel.is_deleted:
            return
        self._busy = True
        try:
            experiments = self._backend().experiments
            experiment = await experiments.get(self._experiment.id)
            page = await experiments.cells(experiment.id, self._table.cursor)
        except EngineError as error:
            self._show_problem(f'The experiment cannot be read: {error}. Retrying every second.')
            return
        finally:
            self._busy = False
        if self._panel.is_deleted:
            return
        if experiment.scorers != self._experiment.scorers:
            ui.navigate.reload()  # it is scored by others, which all tabs name
            return
        self._experiment = experiment
        self._show_problem('')
        changed = self._table.add(page.cells)
        self._head.show(self._experiment)
        self._progress.show(self._experiment, self._table, page.planned)
        self._cases.show(self._experiment, changed)
        stands = (self._table.cursor, experiment.state)  # an answer of a part is another once it is over
        is_due = experiment.is_over or time.monotonic() >= self._next_answer
        if stands != self._answered_for and is_due and not self._is_answering:
            self._answered_for, self._is_answering = stands, True
            create_page_task(self._panel, self._find_answer(), 'answer of an experiment')

    async def _find_answer(self) -> None:
        begun, self._next_answer = time.monotonic(), math.inf
        try:
            await self._show_answer()
        finally:  # what the open tab reads counts, too
            self._next_answer = time.monotonic() + ANSWER_REST * (time.monotonic() - begun)

    async def _show_answer(self) -> None:
        try:
            self._answer = await self._backend().experiments.answer(self._experiment.id)
        except EngineError as error:
            self._show_problem(f'The answer cannot be worked out: {error}. Retrying.')
            self._answered_for = None
            return
        finally:
            self._is_answering = False
        defaults = await self._defaults()
        if not self._panel.is_deleted:
            self._verdict.show(self._experiment, self._answer, defaults)
            self._cases.show_means(self._answer)
            await self._show_tab()

    async def _defaults(self) -> dict[str, LaunchDefault]:
        """Return the variants of this experiment that are defaults of their patterns now, by name."""
        try:
            defaults = await self._backend().experiments.defaults()
        except EngineError:
            return {}
        mine = self._experiment.id
        return {item.variant: item for item in defaults if item.experiment == mine and item.current}

    async def _adopt(self, variant: Variant) -> None:
        if await adopt(self._backend, self._experiment, variant):
            await self._show_defaults()

    async def _take_back(self, default: LaunchDefault) -> None:
        if await take_back(self._backend, default):
            await self._show_defaults()

    async def _show_defaults(self) -> None:
        defaults = await self._defaults()
        if self._answer and not self._panel.is_deleted:
            self._verdict.show(self._experiment, self._answer, defaults)

    async def _show_numbers(self, answer: Answer) -> None:
        try:
            agreements = await self._backend().experiments.agreement(self._experiment.id)
        except EngineError:
            agreements = ()
        if not self._numbers.is_deleted and self._numbers.clear_if_changed((answer, agreements)):
            with self._numbers:
                draw_numbers(self._experiment, answer)
                draw_agreement(agreements)

    def _show_problem(self, problem: str) -> None:
        if self._problem.clear_if_changed(problem) and problem:
            with self._problem:
                text_notice('fail', 'error', problem)

    def _on_open(self) -> None:
        ui.timer(0, self._show_tab, once=True)

    async def _show_tab(self) -> None:
        """Draw what the open tab shows."""
        match self._tabs.shown:
            case 'Answer' if self._answer:
                await self._show_numbers(self._answer)
            case 'Diagram':
                await self._paths.show(self._table.cursor)
            case 'Cost & time' if self._answer:
                self._spending.show(self._answer)
                await self._spending.load(self._table.cursor)
            case 'Setup':
                await self._setup.show(self._experiment)
