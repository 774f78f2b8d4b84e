"""The latest results: what came out of the newest runs, in small."""

from __future__ import annotations

import asyncio
import contextlib

from nicegui import ui

from engine import EngineError, Status
from engine.operations.experiments import TAG
from engine.records import RunInfo, RunQuery
from ui.app.backend import Backend
from ui.formatting.results.blocks import Result
from ui.formatting.results.digest import digest
from ui.formatting.results.result import read_result
from ui.formatting.steps import duration, origin_text, replies_text
from ui.formatting.values import ago, as_sentence, exact
from ui.web.components.theme import button, empty_state, pill, section_head, text_notice
from ui.web.components.widgets import Box, CachedElement, Text, draw_changes, text_link
from ui.web.exports.importer import ImportDialog
from ui.web.pages.shared.run.result_blocks import draw_block

POLL_SECONDS = 1.0
MAX_FIRST_WAIT = 0.5
"""Seconds; cards that grow later would move what is below them."""
ENDED = RunQuery(status=(Status.DONE, Status.FAILED), without_tag=TAG, limit=4, pins_first=True)

Card = tuple[str, str, Status, str, bool, bool]
"""What a card is redrawn for: the run's id, title, status, error, pin, and whether its result is known."""


class LatestResults:
    """The newest runs that came to a result, pinned ones first, each as a card that leads to the run."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._drawn: dict[str, tuple[Card, ui.element]] = {}
        self._infos: dict[str, RunInfo] = {}
        self._results: dict[str, Result] = {}
        self._times: dict[str, Text] = {}
        self._titles = {name: pattern.title for name, pattern in backend().catalog.patterns.items()}
        with Box('section', 'section', aria_labelledby='results'):
            with section_head('Latest results', 'results'):
                ImportDialog(backend).on_done = self._poll
                text_link('/runs', 'All runs', 'small')
            self._notice = CachedElement('ghost')
            self._list = Box('results-small', 'ul')
        self.element: ui.element = self._list
        """The list, for a link that skips to it."""

    async def load(self) -> None:
        """Load the cards and start polling; results that take long are read once the page is shown."""
        await self._poll()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MAX_FIRST_WAIT):
                await self._read_results()
        ui.timer(POLL_SECONDS, self._refresh, immediate=False)

    async def _refresh(self) -> None:
        await self._poll()
        await self._read_results()

    async def _poll(self) -> None:
        try:
            runs = (await self._backend().runs(ENDED)).runs
            is_new = not runs and not (await self._backend().runs(RunQuery(limit=1))).runs
        except EngineError as error:
            self._show_notice(f'Runs cannot be loaded: {error}. Retrying every second.')
            return
        if self._list.is_deleted:
            return
        self._infos = {str(info.id): info for info in runs}
        self._show_notice('' if runs else 'new' if is_new else 'none')
        self._show()

    def _show(self) -> None:
        cards = {
            run: (run, info.title or run, info.status, info.error, info.pinned, run in self._results)
            for run, info in self._infos.items()
        }
        draw_changes(self._list, self._drawn, cards, self._draw)
        self._list.set_visibility(bool(cards))
        now = self._backend().clock.now()
        for run, info in self._infos.items():
            self._times[run].show(ago(info.updated, now))

    async def _read_results(self) -> None:
        """Read what came out of the runs whose cards do not say it yet."""
        for run in self._results.keys() - self._infos.keys():
            del self._results[run]
        for run, info in list(self._infos.items()):
            if run not in self._results:
                try:
                    shape, view = await self._backend().shape(info.id), await self._backend().view(info.id)
                except EngineError:
                    continue  # deleted meanwhile, or unreadable: its page says why
                self._results[run] = digest(read_result(shape, view))
        if not self._list.is_deleted:
            self._show()

    def _draw(self, card: Card) -> ui.element:
        run, title, status, error, pinned, _ = card
        info, result = self._infos[run], self._results.get(run, Result())
        with Box('card result-small', 'li') as element:
            with Box('result-small-head'):
                text_link(f'/runs/{run}', title, 'result-small-title')
                pill(status, error)
            with Box('result-small-facts muted small'):
                facts = (
                    self._titles.get(info.pattern, info.pattern),
                    'pinned' if pinned else '',
                    replies_text(info),
                    origin_text(info),
                    duration(info.updated - info.created),
                )
                Text('span', ' · '.join(filter(None, facts)))
                self._times[run] = Text('time', '', 'num', title=exact(info.updated))
            if outcome := as_sentence(error) or result.headline:
                Text('p', outcome, 'result-small-outcome', dir='auto')
            for block in result.main:
                draw_block(block, None)
        return element

    def _show_notice(self, notice: str) -> None:
        if not self._notice.clear_if_changed(notice) or not notice:
            return
        with self._notice:
            if notice == 'new':
                with Box('card'):
                    empty_state('play_circle', 'No runs yet. Run a sample with one click, for free.')
                    with Box('empty-action'):
                        button('Choose a pattern').on('click', js_handler=TO_PATTERNS)
            elif notice == 'none':
                Text('p', 'A result appears here when a run ends.', 'muted')
            else:
                text_notice('fail', 'error', notice)


TO_PATTERNS = "() => document.getElementById('patterns').scrollIntoView()"
