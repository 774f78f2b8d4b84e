"""The list of runs with its filters, page by page; it follows what happens without being drawn anew."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from nicegui import background_tasks, ui
from nicegui.element import Element

from engine import EngineError, RunId, RunPage, RunQuery
from ui.door import Door
from ui.parts import Text, attach, link
from ui.runs.deeds import Deeds
from ui.runs.filters import FilterBar, Filters, traffic_path
from ui.runs.menu import RunMenu
from ui.runs.row import RowActs, RunRow
from ui.runs.selection import KEYS, BulkBar, Selection
from ui.theme import button, empty, notice

EVERY = 1.0
"""Seconds between two looks at the journal."""
PATIENCE = 1.0
"""Seconds that a page waits for its runs before it is delivered without them."""
REFOCUS = """setTimeout(() => {
    const rows = document.querySelectorAll('#%s .run-link');
    if (document.activeElement === document.body) rows[Math.min(%d, rows.length - 1)]?.focus();
}, 100)"""
"""The row that took the place of one that a person removed has the focus, where nothing else has it."""
TAGS_FROM = 200
"""The newest runs, whose tags are offered."""


class RunList:
    """Runs on a page at `path`, which holds the filters in its address."""

    def __init__(  # noqa: PLR0913  (all but the first two are named)
        self,
        door: Door,
        filters: Filters,
        *,
        path: str,
        size: int,
        trash: bool = False,
        bar: FilterBar | None = None,
    ) -> None:
        """Draw the list, still empty: `load` fills it. With `trash` it is that of the deleted runs.

        With a `bar` that stands elsewhere on the page, `narrow` is told of its changes.
        """
        self._door, self._path, self._size, self._trash = door, path, size, trash
        self.filters = filters
        self._rows: dict[RunId, RunRow] = {}
        self._shown: RunPage | None = None
        self._titles = {name: made.title for name, made in door().catalog.patterns.items()}
        self._looking = asyncio.Lock()
        self._deeds, self._acted = Deeds(door, on_done=self._done), False
        self._menu = RunMenu(door, self._deeds)
        self._acts = RowActs(menu=self._menu.open, tick=self._tick, star=self._star)
        self._selection = Selection(on_change=self._ticked)
        self._bar = bar or FilterBar(filters, self._titles, on_change=self.narrow)
        self._heat = None if bar or trash else self._heat_link()
        self._trouble = ui.element('div').classes('ghost')
        self._said = ''
        self._told = Text('p', 'Loading runs …', 'visually-hidden', role='status')
        with ui.element('div').classes('card runs') as self._card:
            with ui.element('div').classes('skeletons').props('aria-hidden="true"') as self._skeleton:
                for _ in range(3):
                    ui.element('div').classes('skeleton')
            self._list = ui.element('ul').classes('run-list').on('keydown', js_handler=KEYS)
            self._none = ui.element('div').classes('ghost')
        with ui.element('nav').classes('pager').props('aria-label="Pages of runs"') as self._pager:
            self._newer = button('Newer', icon='chevron_left', kind='quiet')
            self._newer.on('click', lambda: self._turn(-1))
            self._range = Text('span', '', 'muted num')
            self._older = button('Older', icon='chevron_right', kind='quiet trailing')
            self._older.on('click', lambda: self._turn(1))
        self._pager.set_visibility(False)
        self._bulk = BulkBar(self._selection, self._deeds.for_deleted if trash else self._deeds.for_several)

    async def load(self) -> None:
        """Fill the list, and keep it up to date from now on; returns at the latest after `PATIENCE`."""
        task = background_tasks.create(self._begin(), name='list runs')
        await asyncio.wait({task}, timeout=PATIENCE)

    async def _begin(self) -> None:
        await self.look()
        if self._card.is_deleted:
            return
        with self._card:
            ui.timer(EVERY, self.look, immediate=False)

    async def _done(self) -> None:
        self._acted = True
        await self.look()

    async def look(self) -> None:
        """Ask the journal once more."""
        if self._looking.locked() or self._card.is_deleted:
            return
        async with self._looking:
            asked = self.filters
            try:
                page = await self._door().runs(asked.query(self._size, trash=self._trash))
                if self._shown is None:
                    newest = await self._door().runs(RunQuery(limit=TAGS_FROM))
                    self._bar.offer_tags(tag for run in newest.runs for tag in run.tags)
            except EngineError as error:
                self._complain(str(error))
                return
        if self._card.is_deleted:  # the page was left meanwhile
            return
        self._complain('')
        if asked is not self.filters:
            await self.look()
        elif not page.runs and page.total and asked.page > 1:  # runs were deleted, or the address is old
            with self._card:
                self.narrow(replace(asked, page=-(-page.total // self._size)))
        else:
            self._show(page)
            await self._weigh(page)

    async def _weigh(self, page: RunPage) -> None:
        weights = await self._door().weigh(page.runs)
        if not self._card.is_deleted:
            for run, row in self._rows.items():
                if run in weights:
                    row.weigh(weights[run])

    def _show(self, page: RunPage) -> None:
        now = self._door().clock.now()
        self._skeleton.set_visibility(False)
        gone = self._rows.keys() - {info.id for info in page.runs}
        if gone and self._acted and self._shown:
            place = next(n for n, info in enumerate(self._shown.runs) if info.id in gone)
            self._list.client.run_javascript(REFOCUS % (self._list.html_id, place))
        self._acted = False
        for run in gone:
            self._rows.pop(run).element.delete()
        with self._list:
            for place, info in enumerate(page.runs):
                row = self._rows.get(info.id)
                if row is None:
                    title = self._titles.get(info.pattern, info.pattern)
                    row = self._rows[info.id] = RunRow(info, title, now, self._acts)
                    row.element.move(target_index=place)
                else:
                    row.show(info, now)
                    if (
                        self._list.default_slot.children.index(row.element) != place
                    ):  # pinned, or not any more
                        row.element.move(target_index=place)
        self._selection.show(page.runs)
        if self._shown is None or (self._shown.total, bool(self._shown.runs)) != (
            page.total,
            bool(page.runs),
        ):
            self._say_none(page)
        self._bar.offer_tags(tag for info in page.runs for tag in info.tags)
        self._say_range(page)
        self._shown = page

    def _say_none(self, page: RunPage) -> None:
        self._none.clear()
        self._bar.show(bool(page.total or self.filters.narrowing))
        if page.runs:
            return
        with self._none:
            if self.filters.narrowing:
                empty('search_off', 'No run matches.')
                with ui.element('div').classes('empty-action'):
                    button('Clear filters').on('click', self._bar.clear)
            elif self._trash:
                empty('delete_outline', 'Nothing is in the trash.')
            else:
                empty('play_circle', 'No runs yet. Run a sample: it takes one click and costs nothing.')
                with ui.element('div').classes('empty-action'), link('/#patterns', 'btn'):
                    Text('span', 'Choose a pattern')

    def _say_range(self, page: RunPage) -> None:
        first = (self.filters.page - 1) * self._size
        self._pager.set_visibility(page.total > self._size)
        self._range.show(f'{first + 1}–{first + len(page.runs)} of {page.total:,}')
        self._told.show(f'{page.total:,} {"run" if page.total == 1 else "runs"}')
        for turn, possible in ((self._newer, first > 0), (self._older, first + len(page.runs) < page.total)):
            turn.props(remove='disabled') if possible else turn.props('disabled')

    async def _star(self, row: RunRow) -> None:
        await self._deeds.star([row.info])

    def _tick(self, row: RunRow, on: bool, reach: bool) -> None:
        self._selection.tick(row.info.id, on, reach=reach)

    def _ticked(self) -> None:
        for run, row in self._rows.items():
            row.tick(run in self._selection)
        self._bulk.show()

    def _complain(self, problem: str) -> None:
        if problem == self._said:
            return
        self._said = problem
        self._trouble.clear()
        if problem:
            self._skeleton.set_visibility(False)
            with self._trouble, notice('fail', 'error'):
                Text(
                    'p',
                    f'The list of runs cannot be read just now: {problem}. It is tried again every second.',
                )

    def _heat_link(self) -> Element:
        """The way to what all runs of the pattern did, where one is chosen."""
        with ui.element('p').classes('small to-traffic'), link('') as found:
            Text('span', 'What these runs did, on one diagram')
        self._lead(found)
        return found

    def _lead(self, found: Element) -> None:
        attach(found, href=self.filters.all.address(traffic_path(self.filters.pattern)))
        found.set_visibility(self.filters.pattern in self._titles)

    async def offer_back(self, run: RunId) -> None:
        """Offer to restore a run that was just deleted elsewhere; the address forgets it."""
        ui.navigate.history.replace(self.filters.address(self._path))
        with suppress(EngineError):  # it was purged meanwhile
            info = await self._door().info(run)
            if info.deleted > 0:
                self._deeds.offer_back([info])

    def narrow(self, filters: Filters) -> None:
        """Show the runs that these filters leave, from their page on."""
        self.filters = filters
        if self._heat:
            self._lead(self._heat)
        ui.navigate.history.replace(filters.address(self._path))
        background_tasks.create(self.look(), name='list runs')

    def _turn(self, by: int) -> None:
        self.narrow(replace(self.filters, page=max(1, self.filters.page + by)))
