"""The traffic page: many runs of a pattern on one diagram, with the runs behind each element."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from fastapi import Request
from nicegui import ui

from engine import Status
from engine.history import merge_shapes
from engine.records import RunQuery, Shape, Traffic
from ui.app.backend import Backend
from ui.formatting.diagram.traffic import Heat, fork_note
from ui.formatting.values import STATUS_TEXT, count
from ui.web.components.tabs import Tabs
from ui.web.components.theme import button, empty_state, frame, notice, page_head, text_notice
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.shared import errors
from ui.web.pages.shared.run_list.filters import FilterBar, Filters
from ui.web.pages.shared.run_list.listing import RunList
from ui.web.pages.traffic.heatmap import Heatmap
from ui.web.pages.traffic.heatmap_badges import MODES, Mode
from ui.web.pages.traffic.loader import TrafficLoader
from ui.web.pages.traffic.tables import edge_table, state_table
from ui.web.routing import serve_page, traffic_path

SIZE = 10
"""Page size of the list."""
POLL_SECONDS = 5.0
"""Seconds between updates."""
MAX_FIRST_WAIT = 1.0
"""Maximum seconds that the page waits for its numbers."""


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/patterns/{pattern}/traffic')
    async def traffic(request: Request, pattern: str) -> None:
        pattern_class = backend().catalog.patterns.get(pattern)
        runs = await backend().runs(RunQuery(pattern=pattern, limit=1))
        if pattern_class is None and not runs.runs:
            errors.unknown_pattern(backend, pattern)
            return
        title = pattern_class.title if pattern_class else (await backend().shape(runs.runs[0].id)).title
        with frame(f'Traffic of {title}', here='/runs', of_runs=True):
            page_head(
                f'Traffic of {title}',
                'Many runs on one diagram. Select a state or an edge to see its runs.',
                back=(f'/launch/{pattern}', f'Configure {title}') if pattern_class else ('/', 'All patterns'),
            )
            if runs.runs:
                filters = replace(Filters.from_query(request.query_params), pattern=pattern)
                await TrafficView(backend, filters).load()
            else:
                _no_run(pattern)


def _no_run(pattern: str) -> None:
    with Box('card'):
        empty_state('insights', 'No runs of this pattern yet.')
        with Box('empty-action'):
            text_link('/', 'Run sample', 'btn primary')
            text_link(f'/launch/{pattern}', 'Configure…', 'btn')


class TrafficView:
    """The page below its header."""

    def __init__(self, backend: Backend, filters: Filters) -> None:
        """Draw it without numbers; `load` fills it."""
        self._backend, self._path = backend, traffic_path(filters.pattern)
        self._traffic: Traffic | None = None
        self._shape: Shape | None = None
        self._heat: Heat | None = None
        titles = {name: pattern.title for name, pattern in backend().catalog.patterns.items()}
        mode: Mode = next((mode for mode in MODES if mode == filters.show), 'often')
        with Box('section heat-page') as self._all:
            self._bar = FilterBar(filters, titles, on_change=self._filter, single=True)
            self._surveying = TrafficLoader(backend, on_found=self._on_found)
            self._summary = Text('p', '', 'heat-summary', role='status')
            self._notes = Box('ghost')
            with Box('heat-body') as self._body:
                self._board = Heatmap(
                    mode, on_pick=self._pick_drawn, on_mode=self._choose, on_fold=self._draw
                )
                with Box('panel heat-tables', 'section', aria_label='Numbers'):
                    tabs = Tabs('Numbers')
                    with tabs.panel('States'):
                        self._states = state_table(self._pick_state)
                    with tabs.panel('Edges'):
                        self._edges = edge_table(self._pick_edge)
            with Box('section', 'section', aria_labelledby='behind'):
                with Box('section-head'):
                    self._runs_title = Text('h2', 'Matching runs', id='behind')
                    self._drop = button('Show all runs', kind='small')
                    self._drop.on('click', lambda: self._pick(edge='', state='', trouble=''))
                self._runs = RunList(backend, filters, path=self._path, size=SIZE, bar=self._bar)
        self._body.set_visibility(False)
        self._name_runs()

    async def load(self) -> None:
        """Fill it and keep it up to date; return after `MAX_FIRST_WAIT` at the latest."""
        task = self._surveying.load(self._traffic_query)
        await self._runs.load()
        await asyncio.wait({task}, timeout=MAX_FIRST_WAIT)
        with self._all:
            ui.timer(POLL_SECONDS, self._reload, immediate=False)

    @property
    def _traffic_query(self) -> RunQuery:
        """The query of the heatmap, without the selection."""
        return self._runs.filters.all.query(SIZE)

    def _reload(self) -> None:
        if not self._surveying.is_busy and not self._surveying.stopped:
            self._surveying.load(self._traffic_query)

    async def _on_found(self, traffic: Traffic) -> None:
        if traffic == self._traffic:
            return
        self._traffic = traffic
        self._bar.set_versions(traffic.versions, self._backend().catalog)
        self._show_summary()
        self._body.set_visibility(bool(traffic.runs))
        if traffic.runs:
            self._shape = merge_shapes([shape for shape, _ in traffic.shapes])
            await self._draw()

    async def _draw(self) -> None:
        """Lay out the chart, and show its heat."""
        if self._shape is None or self._traffic is None:
            return
        await self._board.draw(self._shape)
        self._heat = Heat.of(self._traffic, self._shape, self._board.folded)
        self._show()

    def _show(self) -> None:
        if self._heat is None:
            return
        filters = self._runs.filters
        picked = next((edge.name for edge in self._heat.edges if edge.real == filters.edge), filters.state)
        self._board.show(self._heat, picked)
        self._states.show(self._heat.states, filters.state)
        self._edges.show(self._heat.edges, filters.edge)

    def _show_summary(self) -> None:
        traffic = self._traffic
        assert traffic is not None  # for the type checker: it has just been found
        if not traffic.runs:
            self._summary.show('No runs match.')
        else:
            ended = [
                f'{number:,} {STATUS_TEXT[Status(status)].lower()}'
                for status, number in traffic.statuses.items()
            ]
            self._summary.show(f'{count(traffic.runs, "run")}: {", ".join(ended)}.')
        self._notes.clear()
        with self._notes:
            if traffic.forks:
                text_notice('info', 'call_split', f'{fork_note(traffic)}.')
            if len(traffic.shapes) > 1:
                with notice('info', 'account_tree'):
                    usual = f'The most common one has {traffic.shapes[0][1]:,} runs.'
                    sentence = f'These runs have {len(traffic.shapes)} different charts, merged into one.'
                    Text('p', f'{sentence} {usual} States count only runs whose chart has them.')
            if traffic.unread:
                with notice('fail', 'error'):
                    Text('p', f'{count(len(traffic.unread), "run")} cannot be read and are not counted:')
                    for run, problem in list(traffic.unread.items())[:5]:
                        text_link(f'/runs/{run}', f'{run}: {problem}')

    def _pick_drawn(self, name: str) -> None:
        edges = self._heat.edges if self._heat else ()
        real = next((edge.real for edge in edges if edge.name == name), '')
        if real:
            self._pick_edge(real)
        else:
            self._pick_state(name)

    def _pick_state(self, path: str) -> None:
        filters = self._runs.filters
        same = filters.state == path and not filters.edge
        trouble = '1' if self._board.mode == 'fails' else ''
        self._pick(edge='', state='' if same else path, trouble='' if same else trouble)

    def _pick_edge(self, name: str) -> None:
        self._pick(edge='' if self._runs.filters.edge == name else name, state='', trouble='')

    def _pick(self, *, edge: str, state: str, trouble: str) -> None:
        filters = replace(self._runs.filters, edge=edge, state=state, trouble=trouble, page=1)
        self._navigate(filters)

    def _choose(self, mode: Mode) -> None:
        self._navigate(replace(self._runs.filters, show='' if mode == 'often' else mode))

    def _filter(self, filters: Filters) -> None:
        """Apply changed filters; another pattern has its own page."""
        if traffic_path(filters.pattern) != self._path:
            ui.navigate.to(filters.all.address(traffic_path(filters.pattern)))
            return
        self._navigate(filters)
        self._surveying.load(self._traffic_query)

    def _navigate(self, filters: Filters) -> None:
        self._bar.set_filters(filters)
        self._runs.apply_filters(filters)
        self._name_runs()
        self._show()

    def _name_runs(self) -> None:
        picked = self._runs.filters.picked
        self._runs_title.show(f'Runs that {picked}' if picked else 'Matching runs')
        self._drop.set_visibility(bool(picked))
