"""The list of runs with its filters and pages, updated in place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from nicegui import ui
from nicegui.element import Element

from engine import EngineError
from engine.records import RunId, RunInfo, RunPage, RunQuery
from ui.app.backend import Backend
from ui.app.services.inbox import wait_texts
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button, empty_state, text_notice
from ui.web.components.widgets import Box, CachedElement, Text, set_attributes, text_link
from ui.web.pages.shared.run_list.actions import RunActions
from ui.web.pages.shared.run_list.filters import FilterBar, Filters
from ui.web.pages.shared.run_list.list_head import ListHead
from ui.web.pages.shared.run_list.row import RowActions, RunMenu, RunRow
from ui.web.pages.shared.run_list.selection import KEYS, BulkBar, Selection
from ui.web.routing import show_address, traffic_path

POLL_SECONDS = 1.0
"""Seconds between queries of the journal."""
MAX_FIRST_WAIT = 1.0
"""Maximum seconds that a page waits for its runs."""
REFOCUS = """setTimeout(() => {
    const rows = document.querySelectorAll('#%s .run-link');
    const free = document.activeElement.matches('body, .q-layout, main, section');
    if (free) rows[Math.min(%d, rows.length - 1)]?.focus();
}, 100)"""
"""Focus the row that was acted on, or its replacement, unless something else has the focus."""
TAGS_FROM = 200
"""Number of newest runs whose tags are offered."""


class RunList:
    """A list of runs on the page at `path`, whose address holds the filters."""

    def __init__(  # noqa: PLR0913  (all but the first two are named)
        self,
        backend: Backend,
        filters: Filters,
        *,
        path: str,
        size: int,
        trash: bool = False,
        bar: FilterBar | None = None,
    ) -> None:
        """Draw the list, empty until `load`. With `trash` it lists deleted runs.

        If the `bar` is elsewhere on the page, its owner calls `narrow` when it changes.
        """
        self._backend, self._path, self._size, self._trash = backend, path, size, trash
        self.filters = filters
        self._rows: dict[RunId, RunRow] = {}
        self._shown: RunPage | None = None
        self._titles = {name: pattern.title for name, pattern in backend().catalog.patterns.items()}
        self._refresh_lock = asyncio.Lock()
        self._actions, self._acted = RunActions(backend, on_done=self._after_action), set[RunId]()
        self._menu = RunMenu(backend, self._actions)
        self._row_actions = RowActions(menu=self._menu.open, tick=self._tick, star=self._star)
        self._selection = Selection(on_change=self._on_tick)
        self._bar = bar or FilterBar(filters, self._titles, on_change=self.apply_filters)
        self._traffic_link = None if bar or trash else self._draw_traffic_link()
        self._problem = CachedElement('ghost')
        self._announcement = Text('p', 'Loading runs…', 'visually-hidden', role='status')
        with Box('card runs') as self._card:
            with Box('run-top'):
                self._head = ListHead(filters, self._on_sort, self._card)
                self._bulk = BulkBar(
                    self._selection, self._actions.for_deleted if trash else self._actions.for_several
                )
            with Box('skeletons', aria_hidden='true') as self._skeleton:
                for _ in range(3):
                    Box('skeleton')
            self.rows = Box('run-list', role='grid', aria_label='Runs')
            self.rows.on('keydown', js_handler=KEYS)
            self._none = Box('ghost')
        with Box('pager', 'nav', aria_label='Pages of runs') as self._pager:
            self._newer = button('Previous', icon='chevron_left', kind='quiet')
            self._newer.on('click', lambda: self._turn_page(-1))
            self._range = Text('span', '', 'muted num')
            self._older = button('Next', icon='chevron_right', kind='quiet trailing')
            self._older.on('click', lambda: self._turn_page(1))
        self._pager.set_visibility(False)

    async def load(self) -> None:
        """Fill the list and keep it up to date; return after `MAX_FIRST_WAIT` at the latest."""
        task = create_page_task(self._card, self._start_polling(), 'list runs')
        await asyncio.wait({task}, timeout=MAX_FIRST_WAIT)

    async def _start_polling(self) -> None:
        await self.refresh()
        if self._card.is_deleted:
            return
        with self._card:
            ui.timer(POLL_SECONDS, self.refresh, immediate=False)

    async def _after_action(self, runs: Iterable[RunInfo]) -> None:
        self._acted = {info.id for info in runs}
        await self.refresh()

    async def refresh(self) -> None:
        """Query the journal again."""
        if self._refresh_lock.locked() or self._card.is_deleted:
            return
        async with self._refresh_lock:
            filters = self.filters
            try:
                page = await self._backend().runs(filters.query(self._size, trash=self._trash))
                if self._shown is None:
                    newest = await self._backend().runs(RunQuery(limit=TAGS_FROM))
                    self._bar.set_tags(tag for run in newest.runs for tag in run.tags)
            except EngineError as error:
                self._show_problem(str(error))
                return
        if self._card.is_deleted:  # the page was closed meanwhile
            return
        self._show_problem('')
        if filters is not self.filters:
            await self.refresh()
        elif not page.runs and page.total and filters.page > 1:
            # Runs were deleted, or the address is outdated.
            with self._card:
                self.apply_filters(replace(filters, page=-(-page.total // self._size)))
        else:
            self._show(page)
            await self._show_sizes(page)

    async def _show_sizes(self, page: RunPage) -> None:
        weights = await self._backend().disk_usage(page.runs)
        if not self._card.is_deleted:
            for run, row in self._rows.items():
                if run in weights:
                    row.show_size(weights[run])

    def _show(self, page: RunPage) -> None:
        now = self._backend().clock.now()
        self._skeleton.set_visibility(False)
        removed = self._rows.keys() - {info.id for info in page.runs}
        if self._acted and self._shown:
            listed = self._shown.runs if removed & self._acted else page.runs
            for place in [n for n, info in enumerate(listed) if info.id in self._acted][:1]:
                self.rows.client.run_javascript(REFOCUS % (self.rows.html_id, place))
        self._acted = set()
        for run in removed:
            self._rows.pop(run).element.delete()
        with self.rows:
            for place, info in enumerate(page.runs):
                row = self._rows.get(info.id)
                if row is None:
                    title = self._titles.get(info.pattern, info.pattern)
                    row = self._rows[info.id] = RunRow(
                        info, title, wait_texts(self._backend().catalog, info.pattern), now, self._row_actions
                    )
                    row.element.move(target_index=place)
                else:
                    row.show(info, now)
                    if self.rows.default_slot.children.index(row.element) != place:  # pinned or unpinned
                        row.element.move(target_index=place)
        self._selection.show(page.runs)
        if self._shown is None or (self._shown.total, bool(self._shown.runs)) != (
            page.total,
            bool(page.runs),
        ):
            self._show_empty(page)
        self._bar.set_tags(tag for info in page.runs for tag in info.tags)
        versions = {info.version for info in page.runs if info.pattern == self.filters.pattern}
        self._bar.set_versions(versions, self._backend().catalog)
        self._head.show_totals(page)
        self._show_range(page)
        self._shown = page

    def _show_empty(self, page: RunPage) -> None:
        self._none.clear()
        self._bar.show(bool(page.total or self.filters.narrowing))
        self._head.element.set_visibility(bool(page.runs))
        if page.runs:
            return
        with self._none:
            if self.filters.narrowing:
                empty_state('search_off', 'No runs match.')
                with Box('empty-action'):
                    button('Clear filters').on('click', self._bar.clear)
            elif self._trash:
                empty_state('delete_outline', 'The trash is empty.')
            else:
                empty_state('play_circle', 'No runs yet. Run a sample with one click, for free.')
                with Box('empty-action'):
                    text_link('/#patterns', 'Choose a pattern', 'btn')

    def _show_range(self, page: RunPage) -> None:
        first = (self.filters.page - 1) * self._size
        self._pager.set_visibility(page.total > self._size)
        self._range.show(f'{first + 1}–{first + len(page.runs)} of {page.total:,}')
        self._announcement.show(f'{page.total:,} {"run" if page.total == 1 else "runs"}')
        for turn, possible in ((self._newer, first > 0), (self._older, first + len(page.runs) < page.total)):
            turn.props(remove='disabled') if possible else turn.props('disabled')

    async def _star(self, row: RunRow) -> None:
        await self._actions.star([row.info])

    def _tick(self, row: RunRow, on: bool, reach: bool) -> None:
        self._selection.tick(row.info.id, on, reach=reach)

    def _on_tick(self) -> None:
        for run, row in self._rows.items():
            row.set_ticked(run in self._selection)
        self._bulk.show()
        self._head.element.set_visibility(not self._selection.runs)

    def _show_problem(self, problem: str) -> None:
        if self._problem.clear_if_changed(problem) and problem:
            self._skeleton.set_visibility(False)
            with self._problem:
                text_notice('fail', 'error', f'Runs cannot be loaded: {problem}. Retrying every second.')

    def _draw_traffic_link(self) -> Element:
        """Link to the traffic of the pattern, if one is chosen."""
        with Box('small to-traffic', 'p'):
            anchor = text_link('', 'Traffic: these runs on one diagram')
        self._link_traffic(anchor)
        return anchor

    def _link_traffic(self, anchor: Element) -> None:
        set_attributes(anchor, href=self.filters.all.address(traffic_path(self.filters.pattern)))
        anchor.set_visibility(self.filters.pattern in self._titles)

    async def offer_restore(self, run: RunId) -> None:
        """Offer to restore a run that was just deleted on another page, and clean the address."""
        show_address(self.filters.address(self._path))
        with suppress(EngineError):  # it was purged meanwhile
            info = await self._backend().info(run)
            if info.deleted > 0:
                self._actions.offer_restore([info])

    def apply_filters(self, filters: Filters) -> None:
        """Show the runs that match these filters."""
        self.filters = filters
        if self._traffic_link:
            self._link_traffic(self._traffic_link)
        show_address(filters.address(self._path))
        create_page_task(self._card, self.refresh(), 'list runs')

    def _on_sort(self, filters: Filters) -> None:
        self.apply_filters(replace(self.filters, sort=filters.sort, up=filters.up, page=1))
        self._bar.set_filters(self.filters)

    def _turn_page(self, by: int) -> None:
        self.apply_filters(replace(self.filters, page=max(1, self.filters.page + by)))
