"""The compare page: two runs on one diagram and side by side, at any row."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element

from engine import Conductor, EngineError
from engine.history import Comparison, Row
from engine.records import RunId, is_within
from ui.app.backend import Backend
from ui.formatting.comparison import FACETS, comparison_notes, row_other, row_text, verdict_sentence
from ui.formatting.values import parse_number
from ui.web.components.assets import ASSETS
from ui.web.components.elements import live_region
from ui.web.components.error_banner import ErrorBanner
from ui.web.components.layout import view_switch
from ui.web.components.tabs import Tabs
from ui.web.components.theme import button, frame, pill
from ui.web.components.widgets import Box, Text, set_attributes, text_link
from ui.web.pages.compare.chart import ComparisonChart
from ui.web.pages.compare.data import FilesPane, MemoryPane
from ui.web.pages.compare.numbers import Numbers
from ui.web.pages.compare.player import KEYS, RowPlayer
from ui.web.pages.compare.side import RowPositions, Side
from ui.web.pages.compare.step import StepPane
from ui.web.pages.compare.transcript import ComparedTranscript
from ui.web.pages.shared import errors
from ui.web.pages.shared.compare_picker import pick_comparison
from ui.web.permission import is_permitted
from ui.web.routing import compare_path, difference_path, experiment_path, serve_page, show_address

POLL_SECONDS = 2.0
"""Minimum seconds between comparisons of unfinished runs; longer if a comparison is slow."""
VIEWS = (('diagram', 'Diagram'), ('agents', 'Details'), ('inspector', 'Steps'))


def register(backend: Backend) -> None:
    """Serve `/compare?a=RUN&b=RUN`; `&at=17` selects a row."""

    @serve_page('/compare')
    async def compare(a: str = '', b: str = '', at: str = '') -> None:
        if not (a and b):
            choose()
            return
        conductor = backend()
        try:
            comparison = await conductor.compare(RunId(a), RunId(b))
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(
            f'{comparison.a.info.title} and {comparison.b.info.title}', wide=True, of_runs=True, keys=KEYS
        ):
            row = parse_number(at)
            await CompareScreen(conductor, comparison).draw(None if row is None else row - 1)


def choose() -> None:
    """Draw the page for an address that does not name two runs."""
    with frame('Compare'), Box('vacant'):
        ui.icon('compare_arrows', size='40px').classes('muted')
        Text('h1', 'Choose two runs')
        Text(
            'p',
            'Select two runs in the list and press Compare, or choose “Compare with…” from a run’s menu.',
            'muted',
        )
        with Box('error-actions'):
            text_link('/runs', 'All runs', 'btn primary')


class CompareScreen:
    """Everything on the page. `self._at` is the index of the selected row."""

    def __init__(self, conductor: Conductor, comparison: Comparison) -> None:
        self._conductor, self._comparison = conductor, comparison
        self._sides = (Side(conductor, 'A', comparison.a), Side(conductor, 'B', comparison.b))
        self._positions = RowPositions(comparison)
        self._at = 0
        self._requested: list[int] = []
        self._seeking = self._refreshing = False
        self._next_refresh = 0.0

    def _charts_path(self) -> str:
        """Return the path of the difference of both charts; '' if they are not two versions of one."""
        a, b = self._comparison.a.info, self._comparison.b.info
        charts = self._conductor.catalog.charts
        known = charts and all(charts.number(info.pattern, info.version) for info in (a, b))
        if not known or a.pattern != b.pattern or a.version == b.version:
            return ''
        return difference_path(a.pattern, a.version, b.version)

    async def draw(self, at: int | None) -> None:
        """Draw the page at a row; None means the point of divergence, or the first row if there is none."""
        comparison = self._comparison
        self._head = CompareHeader(
            comparison, self._choose_other, self._go_to_divergence, self._charts_path()
        )
        self._error_banner = ErrorBanner()
        view_switch(VIEWS)
        with Box('run-grid', data_view='agents'):
            self._chart = ComparisonChart(comparison, self._pick)
            await self._chart.draw()
            with Box('panel middle main-column', 'section', aria_label='Details'):
                self._tabs = Tabs('Step, transcript, memory, files and numbers', on_change=self._on_open)
                with self._tabs.panel('Step'):
                    self._step = StepPane(self._sides)
                with self._tabs.panel('Transcript'):
                    self._transcript = ComparedTranscript(self._sides, self._open_step)
                with self._tabs.panel('Memory'):
                    self._memory = MemoryPane()
                with self._tabs.panel('Files'):
                    self._files = FilesPane(self._sides)
                with self._tabs.panel('Numbers'):
                    self._numbers = Numbers()
            with Box('panel inspector', 'section', aria_label='Steps side by side'):
                with Box('panel-head aligned-head'):
                    Box('aligned-kind', 'span')
                    Text('span', 'A', 'aligned-step')
                    Text('span', 'B', 'aligned-step')
                    Text('b', 'Steps')
                self._aligned = AlignedRows(self.go, label='Steps of A and B side by side')
        self._player = RowPlayer(self._sides, self.go)
        self._announcer = live_region()
        parted = comparison.divergence.row if comparison.divergence else 0
        self._at = max(0, min(parted if at is None else at, len(comparison.rows) - 1))
        self._aligned.show(comparison.rows, self._at)
        await self._show()
        ui.timer(0, self._read, once=True)
        if not self._have_both_ended:
            ui.timer(POLL_SECONDS, self._refresh)

    async def go(self, place: int) -> None:
        """Go to a row. While one is loading, only the latest request is remembered."""
        self._requested = [place]
        if self._seeking:
            return
        self._seeking = True
        try:
            while self._requested:
                self._at = self._requested.pop()
                self._aligned.pick(self._at)
                await self._show()
        finally:
            self._seeking = False
        show_address(compare_path(self._comparison.a.info.id, self._comparison.b.info.id, self._at + 1))

    @property
    def _have_both_ended(self) -> bool:
        return self._comparison.a.view.status.ended and self._comparison.b.view.status.ended

    async def _show(self) -> None:
        rows = self._comparison.rows
        row = rows[self._at] if rows else None
        a, b = self._positions.at(self._at)
        self._player.show(self._comparison, self._at)
        self._head.show_step(a, b)
        try:
            steps = [await side.step(seq) for side, seq in zip(self._sides, (a, b), strict=True)]
            self._chart.show(*steps)
            await self._show_tab()
        except EngineError as error:
            self._error_banner.show('cloud_off', f'Temporarily unavailable: {error}')
            return
        self._error_banner.show()
        if row is not None:
            self._announcer.set_text(f'Row {self._at + 1}: {row_text(row)}')

    async def _show_tab(self) -> None:
        """Load what the open tab shows."""
        rows, positions = self._comparison.rows, self._positions.at(self._at)
        match self._tabs.shown:
            case 'Step':
                row, parted = rows[self._at] if rows else None, self._comparison.divergence
                seqs = (row.a, row.b) if row else (None, None)
                if parted is not None and parted.row == self._at:
                    # The diverging steps may be in different rows.
                    seqs = (parted.a.seq if parted.a else None, parted.b.seq if parted.b else None)
                steps = [await side.step(seq) for side, seq in zip(self._sides, seqs, strict=True)]
                for side, seq in zip(self._sides, seqs, strict=True):
                    await side.explain(seq)
                await self._step.show(
                    row, steps, positions, parting=parted is not None and parted.row == self._at
                )
            case 'Transcript':
                await self._transcript.show(rows, self._at)
            case 'Numbers':
                await self._numbers.show(self._comparison)
            case tab:
                views = [await side.view(seq) for side, seq in zip(self._sides, positions, strict=True)]
                await (self._memory.show(views) if tab == 'Memory' else self._files.show(views))

    async def _open_step(self, place: int) -> None:
        self._tabs.open('Step')
        await self.go(place)

    def _on_open(self) -> None:
        ui.timer(0, self._show_tab, once=True)

    async def _go_to_divergence(self) -> None:
        if self._comparison.divergence is not None:
            await self.go(self._comparison.divergence.row)

    async def _pick(self, path: str) -> None:
        """Go to the next row that enters a state, wrapping around at the end."""
        rows = self._comparison.rows
        hits = [
            n
            for n, row in enumerate(rows)
            if any(is_within(edge.partition('>')[2], path) for edge in (*row.edges, *row.other[1:]))
        ]
        if hits:
            await self.go(next((n for n in hits if n > self._at), hits[0]))

    async def _choose_other(self, name: str) -> None:
        keep = self._comparison.b if name == 'A' else self._comparison.a
        await pick_comparison(self._conductor, keep.info, 'B' if name == 'A' else 'A')

    async def _refresh(self) -> None:
        """Compare again if a run has new steps."""
        if self._refreshing or self._have_both_ended or time.monotonic() < self._next_refresh:
            return
        self._refreshing = True
        try:
            infos = [await self._conductor.info(side.run) for side in self._sides]
            compared_steps = (self._comparison.a.view.seq, self._comparison.b.view.seq)
            if tuple(info.seq for info in infos) == compared_steps:
                return
            begun = time.monotonic()
            comparison = await self._conductor.compare(*(side.run for side in self._sides))
            self._next_refresh = time.monotonic() + 5 * (time.monotonic() - begun)
        except EngineError as error:
            self._error_banner.show('cloud_off', f'Temporarily unavailable: {error}')
            return
        finally:
            self._refreshing = False
        self._replace(comparison)
        await self._show()
        await self._read()

    async def _read(self) -> None:
        """Read the steps of both runs, and draw them as bars of time."""
        try:
            for side in self._sides:
                await side.read()
        except EngineError as error:
            self._error_banner.show('cloud_off', f'Temporarily unavailable: {error}')
        self._player.show(self._comparison, self._at)
        self._player.show_scale(self._comparison)

    def _replace(self, comparison: Comparison) -> None:
        old = self._comparison.rows[self._at] if self._comparison.rows else None
        at_end = self._at >= len(self._comparison.rows) - 1
        self._comparison, self._positions = comparison, RowPositions(comparison)
        for side, tally in zip(self._sides, (comparison.a, comparison.b), strict=True):
            side.stats = tally
        same = [n for n, row in enumerate(comparison.rows) if old and (row.a, row.b) == (old.a, old.b)]
        last = max(0, len(comparison.rows) - 1)
        self._at = last if at_end else next(iter(same), min(self._at, last))
        self._head.show(comparison)
        self._chart.refresh(comparison)
        self._aligned.show(comparison.rows, self._at)


class CompareHeader:
    """The header: names, status and verdict."""

    def __init__(
        self,
        comparison: Comparison,
        choose: Callable[[str], Awaitable[None]],
        go_to_divergence: Callable[[], Awaitable[None]],
        charts: str,
    ) -> None:
        """`choose` replaces run A or B, `go_to_divergence` goes there, `charts` compares their charts."""
        self._pills: list[ui.element] = []
        self._links: list[ui.element] = []
        with Box('run-head compare-head'):
            with Box('run-name'):
                Text('h1', 'Compare two runs')
                with Box('compare-runs'):
                    for name, tally in (('A', comparison.a), ('B', comparison.b)):
                        with Box('compare-run'):
                            Text('span', name, f'side-mark side-{name.lower()}')
                            opened = text_link(
                                f'/runs/{tally.info.id}', tally.info.title or tally.info.id, 'compare-title'
                            )
                            set_attributes(opened, title=tally.info.title)
                            self._links.append(opened)
                            self._pills.append(Box(tag='span'))
                            Text('span', tally.info.pattern, 'chip')
                            Text('span', tally.info.id, 'muted small mono')
                            change = button(
                                '', icon='find_replace', kind='quiet small', label=f'Choose another {name}'
                            )
                            change.on('click', lambda name=name: choose(name))
            with Box('run-controls'):
                self._divergence_button = button('Go to divergence', icon='call_split', kind='primary')
                self._divergence_button.on('click', go_to_divergence)
                if charts:
                    text_link(charts, 'Compare the charts', 'btn', icon='difference')
                if is_permitted('experiments.add'):
                    path = experiment_path(comparison.a.info.id, comparison.b.info.id)
                    text_link(path, 'Make this an experiment', 'btn', icon='balance')
                text_link(
                    compare_path(comparison.b.info.id, comparison.a.info.id),
                    'Swap A and B',
                    'btn',
                    icon='swap_horiz',
                )
        with Box('compare-verdict', role='status'):
            self._verdict = Text('p', '', 'compare-summary')
            self._notes = Text('p', '', 'muted small')
        self.show(comparison)

    def show(self, comparison: Comparison) -> None:
        """Show the statuses of both runs, and the verdict on where they diverged."""
        for place, tally in zip(self._pills, (comparison.a, comparison.b), strict=True):
            place.clear()
            with place:
                pill(tally.view.status, tally.view.error)
        self._verdict.show(verdict_sentence(comparison))
        notes = ' '.join(comparison_notes(comparison))
        self._notes.show(notes)
        self._notes.set_visibility(bool(notes))
        self._divergence_button.set_visibility(comparison.divergence is not None)

    def show_step(self, a: int, b: int) -> None:
        """Point the links of both runs at these steps."""
        for opened, seq in zip(self._links, (a, b), strict=True):
            run = str(opened.props['href']).partition('?')[0]
            set_attributes(opened, href=f'{run}?at={seq}' if seq else run)


class AlignedRows(Element, component=ASSETS / 'viewers' / 'aligned_rows.js'):
    """Rows of steps, one of them selected."""

    def __init__(self, on_pick: Callable[[int], Any], *, label: str) -> None:
        """Start empty; `on_pick` gets the index of the selected row."""
        super().__init__()
        self._props |= {'label': label}
        self.on('pick', lambda event: on_pick(int(event.args)))

    def show(self, rows: Sequence[Row], at: int) -> None:
        """Show these rows, with the one at `at` selected."""
        texts: dict[str, int] = {}
        lines = []
        for row in rows:
            other = row_other(row) if row.other else ''
            places = [texts.setdefault(row_text(row), len(texts)), -1]
            if other:
                places[1] = texts.setdefault(other, len(texts))
            remark = ', '.join(FACETS[facet] for facet in row.facets)
            lines.append([row.kind, row.a, row.b, *places, remark, row.pending])
        self.run_method('show', lines, list(texts), at)

    def pick(self, at: int) -> None:
        """Select another row."""
        self.run_method('pick', at)
