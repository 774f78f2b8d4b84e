"""The screen of one run: hands its panes each moment, follows the run, and moves through its steps."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nicegui import ui

from engine import Conductor, Status
from engine.records import RunInfo, Shape, View
from ui.app.presence import Viewer
from ui.formatting.values import parse_number
from ui.web.components.debounce import STEPPING, Debouncer
from ui.web.components.dialogs import notify_errors
from ui.web.components.elements import Splitters
from ui.web.components.error_banner import ErrorBanner
from ui.web.components.layout import view_switch
from ui.web.components.widgets import Box
from ui.web.pages.run import panes as listed
from ui.web.pages.run.debugger.debugger import Debugger
from ui.web.pages.run.header.face_switch import face_of
from ui.web.pages.run.inspector.inspector import Inspector
from ui.web.pages.run.pane import Moment, RunPage
from ui.web.pages.run.panels.tabs import RunTabs
from ui.web.pages.shared.run.context import RunContext
from ui.web.pages.shared.run.transition_reasons import GuardReasons
from ui.web.permission import is_permitted
from ui.web.replay.live import Follower, Updates
from ui.web.replay.reader import HistoryReader, RunAt
from ui.web.routing import show_address

LISTEN = """addEventListener('popstate', () =>
    emitEvent('went', location.pathname.slice(path_prefix.length) + location.search))"""


class Screen:
    """Everything on a run's page. `self._at` is the step that is shown; None means the present."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape, viewer: Viewer) -> None:
        self._conductor, self._info = conductor, info
        self.follower = Follower(conductor, info, shape)
        self._debugger = Debugger(conductor, info.id, shape)
        self._reasons = GuardReasons(conductor, info.id)
        context = RunContext(
            conductor=conductor,
            run=info.id,
            shape=shape,
            history=self.follower.index.history,
            send=self._send,
            debug_controller=self._debugger.controller,
            reasons=self._reasons,
            info=info,
        )
        self._page = RunPage(
            context=context,
            follower=self.follower,
            debugger=self._debugger,
            viewer=viewer,
            seek=self.seek,
            address=self._address_of,
            show_address=self._show_address,
            kinds=listed.PANES,
        )
        self._at: int | None = None
        self._reader = HistoryReader(conductor, info.id, shape)
        self._requested: list[tuple[int | None, bool]] = []
        self._seeking = False
        self._runs_elsewhere = False
        """Whether the banner says that another process runs it."""
        self._history_shown = False
        """Whether the panes have been drawn with the complete history."""

    async def draw(self, at: int | None, tab: str = '', query: Mapping[str, str] | None = None) -> None:
        """Draw the page at step `at`, with `tab` open and the parameters of the address in `query`."""
        page = self._page
        self._at, page.query = at, query or {}
        page.draw('head')
        self._address, self._error_banner = Address(self._on_navigate), ErrorBanner()
        view_switch()
        with Box('run-grid', data_view='agents') as page.grid:
            Splitters(storage_key='run').show(3, 1)
            page.draw('column')
        page.draw('foot')
        self._tabs, self._inspector = page.find(RunTabs), page.find(Inspector)
        self._pane_updates = Debouncer(self._show_panes, page.grid)
        self._step_updates = Debouncer(self._show_step, page.grid, pace=STEPPING)
        await self._reasons.load()
        self._runs_elsewhere = await self._error_banner.check_owner(self._conductor, self._info.id)
        page.show_face(face_of(page.query))
        with self._address.suspend():
            await self._show_recorded(self._info.seq if at is None else at, at)
            self._tabs.open(tab)
            self._inspector.open(page.query.get('inspect', ''))
        if at is not None or 'face' in page.query:  # which is kept, so that the address need not say it
            self._show_address()
        for pane in page.panes:
            await pane.load()
        ui.timer(0, self._look_when_due)  # timers come last: the first one sends the page as drawn so far
        ui.timer(1.0, self._tick)

    async def seek(self, at: int | None, *, add_history: bool = True) -> None:
        """Go to a step (None is the present). While one is loading, only the latest request is remembered.

        With `add_history` it gets an entry in the browser's history, so that the back button undoes it.
        """
        self._requested = [(at, add_history)]
        if self._seeking:
            return
        self._seeking = True
        try:
            while self._requested:
                target, add_history = self._requested.pop()
                if target is not None and self._status.ended and target >= self.follower.head:
                    target = None
                await notify_errors(self._go(target, add_history=add_history))
        finally:
            self._seeking = False

    @property
    def _status(self) -> Status:
        """The run's status now."""
        projection = self.follower.fold.projection
        return projection.status if projection.seq else self._info.status

    async def _go(self, at: int | None, *, add_history: bool) -> None:
        if add_history:
            self._address.show(self._address_of(at), add_history=True)
        if at is None and self.follower.last is not None:
            await self._show(self.follower.newest, None)
        else:
            await self._show_recorded(self.follower.head if at is None else at, at)

    def _address_of(self, at: int | None) -> str:
        return self._tabs.address(at, self._inspector.tab)

    async def _on_navigate(self, end: str, at: int | None, inspected: str) -> None:
        """Follow the browser's back button."""
        with self._address.suspend():
            self._tabs.open(end)
            self._inspector.open(inspected)
        if at != self._at:
            await self.seek(at if at is None else min(at, self.follower.head), add_history=False)

    def _show_address(self, *, add_history: bool = False) -> None:
        self._address.show(self._address_of(self._at), add_history=add_history)

    async def _show_recorded(self, seq: int, at: int | None) -> None:
        """Show step `seq` from the journal, as the past or, with `at` None, as the present."""
        await self._show(await self._reader.at(seq), at)

    async def _show(self, run: RunAt, at: int | None) -> None:
        view, self._at = run.fold.view, at
        self._page.viewer.move(at)
        self._reasons.show(run.step, run.before)
        self._page.moment = Moment(
            view=view,
            newest=self._newest(view),
            step=run.step,
            at=at,
            since=self._seconds_since_previous(view.seq),
            may_control=self._may_control,
        )
        if at is None:
            self._debugger.update(self.follower, [run.step] if run.step else [], run.fold)
        self._follow()
        if at is None:
            await self._show_step()
            await self._show_panes()
        else:
            await self._step_updates.request()
            await self._pane_updates.request()

    def _follow(self) -> None:
        for pane in self._page.panes:
            pane.follow(self._page.moment)

    async def _show_step(self) -> None:
        for pane in self._page.panes:
            pane.show_step(self._page.moment)
        self._tick()

    async def _show_panes(self) -> None:
        moment = self._page.moment
        for pane in self._page.panes:
            pane.show(moment)
            pane.show_newest(moment)
        self._tick()
        if not moment.live or self._address.last:
            self._show_address()
        for pane in self._page.panes:
            await pane.complete(moment)

    def _newest(self, view: View) -> View:
        if self.follower.fold.projection.seq:
            return self.follower.fold.view
        return replace(view, status=self._info.status, error=self._info.error)  # not followed yet

    async def _look_when_due(self) -> None:
        await self.follower.pace.wait()
        await self._apply_updates()

    async def _apply_updates(self) -> None:
        for pane in self._page.panes:
            pane.look()
        updates = self.follower.collect_updates()
        self.follower.pace.record_refresh(has_updates=updates is not None)
        if self.follower.problem:
            self._error_banner.warn(self.follower.problem, can_control=self._may_control)
        if updates is None:
            return
        if updates.outage is not None:
            self._error_banner.warn(updates.outage, can_control=self._may_control)
        if self._runs_elsewhere and self._status.ended:
            self._runs_elsewhere = False
            self._error_banner.clear()
        self._debugger.update(self.follower, updates.steps)
        await (self._show_updates(updates) if self._at is None else self._show_newest())

    async def _show_updates(self, updates: Updates) -> None:
        """Show what is new, as the present."""
        panes = self._page.panes
        if updates.steps:
            for pane in panes:
                pane.add_steps(updates.steps)
            await self._show(self.follower.newest, None)
        elif self.follower.head != self._page.moment.view.seq:
            await self._show_recorded(self.follower.head, None)  # it continued while the page was drawn
        elif updates.indexed:
            await self._show_history()
        for pane in panes:
            pane.stream(updates.text)

    async def _show_newest(self) -> None:
        """Show how the run goes on while the page stays in the past."""
        moment = self._page.moment
        newest = self._newest(moment.view)
        self._page.moment = moment = replace(moment, newest=newest, may_control=self._may_control)
        for pane in self._page.panes:
            pane.show_newest(moment)
        await self._show_history()

    async def _show_history(self) -> None:
        """Show what is now known of the history around the moment."""
        self._follow()
        if self.follower.has_caught_up and not self._history_shown:
            self._history_shown = True
            await self._show_panes()

    @property
    def _may_control(self) -> bool:
        return self._conductor.can_control(self._info.id) and is_permitted('send')

    def _seconds_since_previous(self, seq: int) -> float | None:
        times = self.follower.index.times
        return times[seq - 1] - times[seq - 2] if 2 <= seq <= len(times) else None

    def _tick(self) -> None:
        moment = self._page.moment
        now = time.time() if moment.live else moment.view.time
        for pane in self._page.panes:
            pane.tick(moment, now)

    async def _send(self, name: str, at: str, data: dict[str, Any]) -> None:
        await notify_errors(self._conductor.send(self._info.id, name, at=at, data=data))


class Address:
    """Keeps the browser's address in sync with the page, and follows the back button.

    Args:
        go: called with the last part of the path, the step and the inspector's tab after the browser
            has navigated to another address.
    """

    def __init__(self, go: Callable[[str, int | None, str], Awaitable[None]]) -> None:
        self._go = go
        self._suspended = False
        self.last = ''
        """The current address, last set by the page or by the browser."""
        ui.on('went', lambda event: self._on_navigate(str(event.args)))
        ui.run_javascript(LISTEN)

    def show(self, address: str, *, add_history: bool) -> None:
        """Show an address: as a new entry of the browser's history, or instead of the current one."""
        if address != self.last and not self._suspended:
            self.last = address
            show_address(address, add_history=add_history)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Suspend changes of the address while the page moves to one: no state in between may be reloaded."""
        self._suspended = True
        try:
            yield
        finally:
            self._suspended = False

    async def _on_navigate(self, address: str) -> None:
        self.last = address
        await self._go(*parse_address(address))


def parse_address(address: str) -> tuple[str, int | None, str]:
    """Return the last part of the path, the step (None if there is none), and the inspector's tab."""
    parts = urlsplit(address)
    query = parse_qs(parts.query)
    at = parse_number(query.get('at', [''])[0])
    return parts.path.rpartition('/')[2], at, query.get('inspect', [''])[0]
