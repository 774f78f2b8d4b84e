"""The editor below its header: text and diagram side by side, and below what checking came to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.charts import chart_schema
from engine.operations.rehearsal import Finding, Means, rehearse
from ui.app.backend import Backend
from ui.web.components.debounce import Debouncer, Pace, create_page_task
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text
from ui.web.pages.charts.checking import Checked, TextProblem, check_chart, edges_named
from ui.web.pages.charts.editor.changes import Changes
from ui.web.pages.charts.editor.chart import ChartPanel
from ui.web.pages.charts.editor.completion import Completion
from ui.web.pages.charts.editor.opening import Opened
from ui.web.pages.charts.editor.results import Results
from ui.web.pages.charts.editor.text import ChartText
from ui.web.pages.shared.rehearsal import rehearsal_layer

PACE = Pace(min_interval=0.3, max_wait=0.6, rest_factor=2)
"""How soon a change of the text is checked and drawn."""
BELOW = """(event) => {
    const { left, bottom } = event.currentTarget.getBoundingClientRect();
    emit({ x: left, y: bottom });
}"""
"""Handler of a click in the browser: reports the place below the button."""
QUIET_SECONDS = 0.8
"""Seconds without a change before a chart is rehearsed."""


class EditorView:
    """Text, diagram and results; what is typed is checked, drawn and rehearsed."""

    def __init__(self, backend: Backend, opened: Opened, *, on_change: Callable[[], object]) -> None:
        """Draw it; `load` checks the text. `on_change` is called after each change of it."""
        self._backend, self._name, self._on_change = backend, opened.name, on_change
        name, text, readonly = opened.name, opened.text, bool(opened.readonly)
        self.checked = Checked(text=text)
        self._valid = self.checked
        self._here: tuple[list[str], list[str]] = ([], [])
        self._rehearsing: asyncio.Task[None] | None = None
        with Box('editor') as self._page:
            with Box('panel editor-text', 'section', aria_labelledby='text'):
                with Box('panel-head'):
                    Text('h2', 'Text', id='text')
                    self._state = Text('span', '', 'muted small', role='status')
                    Box('grow', 'span')
                    if not readonly:
                        self._undo = button(
                            '', icon='undo', kind='quiet small editor-wide', label='Undo (Ctrl Z)'
                        )
                        self._redo = button(
                            '', icon='redo', kind='quiet small editor-wide', label='Redo (Ctrl Y)'
                        )
                self.text = ChartText(text, label=f'Text of {name}', readonly=readonly)
            self._chart = ChartPanel(
                name,
                on_state=self._pick_state,
                on_edge=self._pick_edge,
                on_menu=None if readonly else self._open_menu,
            )
            self._results = Results(on_line=self.text.go, on_finding=self._point_to, unsaid=opened.unsaid)
        self._changes = Changes(self.text, lambda: self._valid, lambda: self._chart.folded)
        self._debouncer = Debouncer(self._check, self._page, PACE)
        self.text.on_line(self._light_line)
        if not readonly:
            self._make_writable()

    def _make_writable(self) -> None:
        self._undo.on('click', self.text.undo)
        self._redo.on('click', self.text.redo)
        self._show_history(False, False)
        self.text.on_history(self._show_history)
        self.text.on_text(self._on_text)
        self.text.on_late(lambda: self._state.show('That came too late: the text had changed. Try again.'))
        completion = Completion(chart_schema(), sorted(self._backend().catalog.tools))
        self.text.on_complete(lambda line, before: completion.complete(self.text.text, line, before))
        with self._chart.tools:
            more = button('Change', icon='edit', kind='small editor-wide', aria_haspopup='menu')
            more.on('click', lambda event: self._open_menu_here(event.args), js_handler=BELOW)

    def _open_menu(self, target: Mapping[str, Any]) -> None:
        if not self.text.is_narrow:
            self._changes.open_menu(target)

    def _open_menu_here(self, place: Mapping[str, Any]) -> None:
        """Open the menu of what the cursor is in, for people who use no mouse."""
        states, edges = self._here
        kind, name = ('state', states[0]) if states else ('edge', edges[0]) if edges else ('', '')
        self._changes.open_menu({**place, 'kind': kind, 'name': name}, whole=True)

    def _show_history(self, undo: bool, redo: bool) -> None:
        for control, usable in ((self._undo, undo), (self._redo, redo)):
            control.props(remove='disabled') if usable else control.props('disabled')

    async def load(self) -> None:
        """Check and draw the text."""
        await self._check()

    def _on_text(self) -> None:
        self._on_change()
        create_page_task(self._page, self._request_check(), 'check a chart')

    async def _request_check(self) -> None:
        with self._page:
            await self._debouncer.request()

    async def _check(self) -> None:
        text = self.text.text
        checked = await asyncio.to_thread(check_chart, text, self._name)
        if text != self.text.text or self._page.is_deleted:
            return  # it was changed meanwhile, which has requested the next check
        self.checked = checked
        self._chart.mark_stale(checked.pattern is None)
        self.show_problems(checked.problems)
        if checked.pattern is None or checked.shape is None:
            return
        self._valid = checked
        self._rehearse()
        await self._chart.show(checked.shape)

    def show_problems(self, problems: Sequence[TextProblem]) -> None:
        """Mark problems in the text, and list them."""
        self.text.show_problems(problems)
        self._results.show_problems(problems)

    def _rehearse(self) -> None:
        """Rehearse the chart once nobody types, one rehearsal at a time."""
        if self._rehearsing is None or self._rehearsing.done():
            self._rehearsing = create_page_task(self._page, self._catch_up(), 'rehearse a chart')

    async def _catch_up(self) -> None:
        rehearsed = None
        while rehearsed is not self._valid and not self._page.is_deleted:
            text = self.text.text
            await asyncio.sleep(QUIET_SECONDS)
            if self.text.text == text:
                rehearsed = self._valid
                await self._show_rehearsal(rehearsed)

    async def _show_rehearsal(self, checked: Checked) -> None:
        if checked.pattern is None:
            return
        catalog = self._backend().catalog
        means = Means(chosen={}, models=catalog.registry, tools=catalog.tools)
        workflow = checked.pattern.sample({})
        rehearsal = await asyncio.to_thread(rehearse, workflow, seconds=0.0, means=means)
        if checked is not self.checked or self._page.is_deleted:
            return
        self._results.show_rehearsal(rehearsal)
        self._chart.overlay(rehearsal_layer(rehearsal, self._chart.folded))
        places = checked.places
        self.text.show_problems(
            [
                TextProblem(line=line, text=finding.text, level='warning')
                for finding in rehearsal.findings
                if (line := places.line_of_finding(finding))
            ]
        )

    def _light_line(self, line: int) -> None:
        states, edges = self._valid.places.at(line) if self.checked is self._valid else ([], [])
        self._here = (states, edges)
        self._chart.light(states, edges)

    def _pick_state(self, path: str) -> None:
        self._show_place(self._valid.places.line_of_state(path), [path], [])

    def _pick_edge(self, name: str) -> None:
        shape = self._valid.shape
        edges = edges_named(shape, name) if shape else []
        lines = [line for edge in edges if (line := self._valid.places.line_of_edge(edge))]
        self._show_place(min(lines, default=0), [], [name])

    def _point_to(self, finding: Finding) -> None:
        ends = finding.edge.partition(': ')[2].replace(' → ', '>')
        line = self._valid.places.line_of_finding(finding)
        self._show_place(line, [] if ends else [finding.state], [ends] if ends else [])

    def _show_place(self, line: int, states: list[str], edges: list[str]) -> None:
        self._chart.light(states, edges)
        if line and self.checked is self._valid:
            self.text.go(line)
