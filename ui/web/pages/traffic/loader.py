"""Loads the traffic of many runs, with progress that can be stopped and resumed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from engine import EngineError
from engine.records import RunQuery, Traffic
from ui.app.backend import Backend
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text

PROGRESS_DELAY = 0.3
"""Seconds before progress is shown."""


class TrafficLoader:
    """Loads traffic, one query at a time: a newer one replaces the current one."""

    def __init__(self, backend: Backend, *, on_found: Callable[[Traffic], Awaitable[None]]) -> None:
        """Draw nothing yet; `on_found` gets each result."""
        self._backend, self._on_found = backend, on_found
        self._task: asyncio.Task[None] | None = None
        self._query = RunQuery()
        self._begun = 0.0
        self.stopped = False
        """Whether a person has stopped loading."""
        with Box('ghost') as self._place:
            with Box('card traffic-progress', role='status') as self._box:
                self._words = Text('p', '')
                self._bar = Box(tag='progress')
                self._stop = button('Stop', kind='small')
                self._on = button('Continue', kind='small', icon='play_arrow')
            self._problem = Box('ghost')
        self._stop.on('click', self.stop)
        self._on.on('click', lambda: self.load(self._query))
        self._box.set_visibility(False)

    @property
    def is_busy(self) -> bool:
        """Whether a query is in progress."""
        return self._task is not None and not self._task.done()

    def load(self, query: RunQuery) -> asyncio.Task[None]:
        """Load the traffic of the runs of `query`, replacing any earlier query."""
        if self._task is not None:
            self._task.cancel()
        self.stopped = False
        self._query, self._begun = query, asyncio.get_running_loop().time()
        self._task = create_page_task(self._place, self._load(query), 'survey runs')
        return self._task

    def stop(self) -> None:
        """Stop loading; progress is kept."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._words.show(f'{self._words.text} Stopped; progress is kept.')
        self.stopped = True
        self._stop.set_visibility(False)
        self._on.set_visibility(True)

    async def _load(self, query: RunQuery) -> None:
        try:
            traffic = await self._backend().traffic(query, self._show_progress)
        except EngineError as error:
            self._show_problem(f'Traffic cannot be loaded: {error}.')
            return
        self._box.set_visibility(False)
        self._show_problem('')
        await self._on_found(traffic)

    def _show_progress(self, done: int, of: int) -> None:
        self._words.show(f'{done:,} of {of:,} runs read.')
        self._bar.props(f'value={done} max={of} aria-label="Runs read"')
        self._stop.set_visibility(True)
        self._on.set_visibility(False)
        self._box.set_visibility(asyncio.get_running_loop().time() - self._begun > PROGRESS_DELAY)

    def _show_problem(self, problem: str) -> None:
        self._problem.clear()
        if problem:
            self._box.set_visibility(False)
            with self._problem:
                text_notice('fail', 'error', problem)
