"""The traffic of a pattern: filters, the diagram with heat, the tables, the runs behind them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from nicegui import ui

from engine import RunQuery, Shape, Status, Traffic, union
from ui.door import Door
from ui.panes.tabs import Tabs
from ui.parts import Text, link
from ui.presenters.words import WORDS, count
from ui.runs.filters import FilterBar, Filters, traffic_path
from ui.runs.listing import RunList
from ui.theme import button, notice
from ui.traffic.board import HeatBoard
from ui.traffic.heat import Heat
from ui.traffic.spots import MODES, Mode
from ui.traffic.surveying import Surveying
from ui.traffic.tables import edge_table, state_table

SIZE = 10
"""Runs on a page of the list."""
EVERY = 5.0
"""Seconds between two looks at what the runs did since."""
PATIENCE = 1.0
"""Seconds that the page waits for its numbers before it is delivered without them."""


class TrafficView:
    """All of the page but its head."""

    def __init__(self, door: Door, filters: Filters) -> None:
        """Draw it, still without numbers: `load` fills it."""
        self._door, self._path = door, traffic_path(filters.pattern)
        self._traffic: Traffic | None = None
        self._shape: Shape | None = None
        self._heat: Heat | None = None
        titles = {name: made.title for name, made in door().catalog.patterns.items()}
        mode: Mode = next((mode for mode in MODES if mode == filters.show), 'often')
        with ui.element('div').classes('section heat-page') as self._all:
            self._bar = FilterBar(filters, titles, on_change=self._filter, one=True)
            self._surveying = Surveying(door, on_found=self._found)
            self._summary = Text('p', '', 'heat-summary', role='status')
            self._notes = ui.element('div').classes('ghost')
            with ui.element('div').classes('heat-body') as self._body:
                self._board = HeatBoard(
                    mode, on_pick=self._pick_drawn, on_mode=self._choose, on_fold=self._draw
                )
                with ui.element('section').classes('panel heat-tables').props('aria-label="Numbers"'):
                    tabs = Tabs('Numbers')
                    with tabs.panel('States'):
                        self._states = state_table(self._pick_state)
                    with tabs.panel('Edges'):
                        self._edges = edge_table(self._pick_edge)
            with ui.element('section').classes('section').props('aria-labelledby="behind"'):
                with ui.element('div').classes('section-head'):
                    self._behind = Text('h2', 'The runs', id='behind')
                    self._drop = button('Show all of them', kind='small')
                    self._drop.on('click', lambda: self._pick(edge='', state='', trouble=''))
                self._runs = RunList(door, filters, path=self._path, size=SIZE, bar=self._bar)
        self._body.set_visibility(False)
        self._name_runs()

    async def load(self) -> None:
        """Fill it, and keep it up to date from now on; returns at the latest after `PATIENCE`."""
        task = self._surveying.ask(self._asked)
        await self._runs.load()
        await asyncio.wait({task}, timeout=PATIENCE)
        with self._all:
            ui.timer(EVERY, self._again, immediate=False)

    @property
    def _asked(self) -> RunQuery:
        """The runs that the heat is of: also those that what is picked leaves out."""
        return self._runs.filters.all.query(SIZE)

    def _again(self) -> None:
        if not self._surveying.busy and not self._surveying.stopped:
            self._surveying.ask(self._asked)

    async def _found(self, traffic: Traffic) -> None:
        if traffic == self._traffic:
            return
        self._traffic = traffic
        self._say()
        self._body.set_visibility(bool(traffic.runs))
        if traffic.runs:
            self._shape = union([shape for shape, _ in traffic.shapes])
            await self._draw()

    async def _draw(self) -> None:
        """Lay out what is to be drawn, and show the heat of it."""
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

    def _say(self) -> None:
        traffic = self._traffic
        assert traffic is not None  # for the type checker: it has just been found
        if not traffic.runs:
            self._summary.show('No run matches.')
        else:
            ended = [
                f'{number:,} {WORDS[Status(status)].lower()}' for status, number in traffic.statuses.items()
            ]
            self._summary.show(f'{count(traffic.runs, "run")}: {", ".join(ended)}.')
        self._notes.clear()
        with self._notes:
            if len(traffic.shapes) > 1:
                with notice('info', 'account_tree'):
                    usual = f'The most usual one is that of {traffic.shapes[0][1]:,} runs.'
                    told = f'These runs have {len(traffic.shapes)} different charts: all are drawn as one.'
                    Text('p', f'{told} {usual} A state is counted among the runs whose chart has it.')
            if traffic.unread:
                with notice('fail', 'error'):
                    Text(
                        'p', f'{count(len(traffic.unread), "run")} cannot be read and count for nothing here:'
                    )
                    for run, problem in list(traffic.unread.items())[:5]:
                        with link(f'/runs/{run}'):
                            Text('span', f'{run}: {problem}')

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
        self._move(filters)

    def _choose(self, mode: Mode) -> None:
        self._move(replace(self._runs.filters, show='' if mode == 'often' else mode))

    def _filter(self, filters: Filters) -> None:
        """Follow what was changed in the bar; another pattern is another page."""
        if traffic_path(filters.pattern) != self._path:
            ui.navigate.to(filters.all.address(traffic_path(filters.pattern)))
            return
        self._move(filters)
        self._surveying.ask(self._asked)

    def _move(self, filters: Filters) -> None:
        self._bar.pick(filters)
        self._runs.narrow(filters)
        self._name_runs()
        self._show()

    def _name_runs(self) -> None:
        picked = self._runs.filters.picked
        self._behind.show(f'Runs that {picked}' if picked else 'The runs')
        self._drop.set_visibility(bool(picked))
