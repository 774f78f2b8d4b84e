"""The screen of one run: draws a view, follows the run, and moves through its steps and addresses."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nicegui import ui

from engine import Conductor
from engine.records import RunInfo, Shape, View
from ui.components.debounce import STEPPING, Debouncer
from ui.components.dialogs import notify_errors
from ui.components.elements import Splitters, live_region
from ui.components.error_banner import ErrorBanner
from ui.components.layout import diagram_switch, view_switch
from ui.components.tabs import Tabs
from ui.components.widgets import set_class
from ui.formatting.steps import clock_end, headline
from ui.formatting.values import parse_number
from ui.pages.run.agents.agents import AgentPanes
from ui.pages.run.agents.transcript import Transcript
from ui.pages.run.debugger.debugger import Debugger
from ui.pages.run.diagram.chart import ChartPane
from ui.pages.run.header.approval_bar import ApprovalBar
from ui.pages.run.header.budget import BudgetBars
from ui.pages.run.header.header import Header, StatusStrip
from ui.pages.run.header.run_menu import RunMenu
from ui.pages.run.header.stop_banner import StopBanner
from ui.pages.run.inspector.inspector import Inspector
from ui.pages.run.inspector.notes import StepNotes
from ui.pages.run.panel import PanelSetup
from ui.pages.run.panels.artifacts import Artifacts
from ui.pages.run.panels.files import Files
from ui.pages.run.panels.pattern_tabs import AGENTS, TAB_TITLES, PatternTabs
from ui.pages.run.player.player import Player
from ui.pages.shared.run.context import RunContext
from ui.pages.shared.run.transition_reasons import GuardReasons
from ui.replay.live import Follower
from ui.replay.reader import HistoryReader, RunAt
from ui.web.permission import is_permitted
from ui.web.presence import Viewer
from ui.web.routing import show_address

LISTEN = """addEventListener('popstate', () =>
    emitEvent('went', location.pathname.slice(path_prefix.length) + location.search))"""


class Screen:
    """Everything on a run's page. `self._at` is the step that is shown; None means the present."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape, viewer: Viewer) -> None:
        self._viewer = viewer
        self._conductor, self._info, self._shape = conductor, info, shape
        self.follower = Follower(conductor, info, shape)
        self._at: int | None = None
        self._view: View | None = None
        self._reader = HistoryReader(conductor, info.id, shape)
        self._reasons = GuardReasons(conductor, info.id)
        self._requested: list[tuple[int | None, bool]] = []
        self._seeking = False
        self._runs_elsewhere = False
        """Whether the banner says that another process runs it."""
        self._history_shown = False
        """Whether the panes have been drawn with the complete history."""

    async def draw(self, at: int | None, tab: str = '', query: Mapping[str, str] | None = None) -> None:
        """Draw the page at step `at`, with `tab` open and the parameters of the address in `query`."""
        self._at = at
        self._debugger = Debugger(self._conductor, self._info.id, self._shape)
        context = RunContext(
            conductor=self._conductor,
            run=self._info.id,
            shape=self._shape,
            history=self.follower.index.history,
            send=self._send,
            debug_controller=self._debugger.controller,
            reasons=self._reasons,
            info=self._info,
        )
        self._header = Header(context, self._on_control)
        self._menu = RunMenu(self._conductor, self._info, self._header.title.show)
        self._approval_bar = ApprovalBar(context, self._reveal_question)
        self._budgets = BudgetBars(self._conductor, self._info.id)
        self._status_strip = StatusStrip(self._conductor, self._info, self._shape)
        self._stop_banner = StopBanner(self._conductor, self._info, self._shape)
        setup = PanelSetup(
            context=context,
            follower=self.follower,
            seek=self.seek,
            query=query or {},
            show_address=self._show_address,
        )
        self._address, self._error_banner = Address(self._on_navigate), ErrorBanner()
        view_switch()
        with ui.element('div').classes('run-grid').props('data-view="agents"') as self._grid:
            Splitters(storage_key='run').show(3, 1)
            self._chart = ChartPane(
                context, self.follower, self.seek, self._enlarge_diagram, self._debugger.context_menu
            )
            with ui.element('section').classes('panel middle').props('aria-label="Agents"'):
                tabs = Tabs('Agents, transcript, files and more', on_change=lambda: self._on_open(tabs.shown))
                self._tabs = tabs
                with tabs.aside:
                    diagram_switch(self._hide_diagram)
                with tabs.panel(AGENTS):
                    self._agents = AgentPanes(context, self.seek)
                self._panels = PatternTabs(setup, tabs)
                self._panels.draw(wide=True)
                with tabs.panel('Transcript'):
                    self._transcript = Transcript(self._conductor, self._info.id, self._shape)
                with tabs.panel('Files'):
                    self._files = Files(context, self.seek)
                self._panels.draw(wide=False)
                self._artifacts = Artifacts(context, tabs)
            self._inspector = Inspector(context, self._follow_change, self._debugger, self._show_address)
            self._debugger.on_reveal(self._chart.shrink, self._inspector.open_breakpoints)
        self._player = Player(self.follower, self.seek, self._chart.preload, self._viewer)
        self._notes = StepNotes(context, self._inspector.below, self._player.show_notes)
        self._pane_updates = Debouncer(self._show_panes, self._grid)
        self._step_updates = Debouncer(self._show_step, self._grid, pace=STEPPING)
        self._announcer = live_region()
        await self._reasons.load()
        self._runs_elsewhere = await self._error_banner.check_owner(self._conductor, self._info.id)
        with self._address.suspend():
            await self._show_recorded(self._info.seq if at is None else at, at)
            if TAB_TITLES.get(tab) in tabs.titles:
                tabs.open(TAB_TITLES[tab])
            self._inspector.open((query or {}).get('inspect', ''))
        if at is not None:
            self._show_address()
        await self._notes.load()
        self._header.title.track_size()  # timers come last: the first one sends the page as drawn so far
        ui.timer(0, self._look_when_due)
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
                if target is not None and not self._is_live and target >= self.follower.head:
                    target = None
                await notify_errors(self._go(target, add_history=add_history))
        finally:
            self._seeking = False

    @property
    def _is_live(self) -> bool:
        """Whether the run may still continue."""
        projection = self.follower.fold.projection
        return not (projection.status if projection.seq else self._info.status).ended

    async def _go(self, at: int | None, *, add_history: bool) -> None:
        if add_history:
            self._address.show(self._address_of(at), add_history=True)
        if at is None and self.follower.last is not None:
            await self._show_newest()
        elif at is None:
            await self._show_recorded(self.follower.head, None)
        else:
            if self._at is None:
                self._agents.clear_streams()
            await self._show_recorded(at, at)

    def _address_of(self, at: int | None) -> str:
        return self._panels.address(at, self._inspector.tab)

    async def _on_navigate(self, end: str, at: int | None, inspected: str) -> None:
        """Follow the browser's back button."""
        title = TAB_TITLES.get(end, self._tabs.titles[0])
        with self._address.suspend():
            if title in self._tabs.titles and title != self._tabs.shown:
                self._tabs.open(title)
            self._inspector.open(inspected)
        if at != self._at:
            await self.seek(at if at is None else min(at, self.follower.head), add_history=False)

    def _show_address(self, *, add_history: bool = False) -> None:
        self._address.show(self._address_of(self._at), add_history=add_history)

    async def _show_recorded(self, seq: int, at: int | None) -> None:
        """Show step `seq` from the journal, as the past or, with `at` None, as the present."""
        await self._show(await self._reader.at(seq), at)

    async def _show_newest(self) -> None:
        await self._show(self.follower.newest, None)

    async def _show(self, moment: RunAt, at: int | None) -> None:
        view, self._at = moment.fold.view, at
        self._viewer.move(at)
        self._view = view
        self._reasons.show(moment.step, moment.before)
        if at is None:
            self._debugger.update(self.follower, [moment.step] if moment.step else [], moment.fold)
        self._chart.highlight(view)
        self._show_player(view)
        # Only the diagram keeps up with the slider at any speed; the panes are debounced.
        if at is None:
            await self._show_step()
            await self._show_panes()
        else:
            await self._step_updates.request()
            await self._pane_updates.request()

    async def _show_step(self) -> None:
        """Show the details of the step: the inspector, and the figures in the header."""
        view, step = self._view, self._reasons.step
        if view is None:
            return
        self._inspector.show(view, self._seconds_since_previous(view.seq), live=self._at is None)
        self._chart.show_location(view)
        self._header.show(view, self._newest(view), may_control=self._may_control)
        self._status_strip.show(view, self._newest(view), may_control=self._may_control)
        self._budgets.show(view, may_control=self._may_control)
        self._tick()
        if step is not None:
            self._announcer.set_text(f'Step {view.seq}: {headline(step)}')

    async def _show_panes(self) -> None:
        """Show everything that need not keep up with the slider: text, and parts that are slow to draw."""
        view, at = self._view, self._at
        if view is None:
            return
        await self._chart.show(view)
        self._agents.show(view, live=at is None, may_control=self._may_control)
        self._show_panels(view)
        self._files.show(view)
        self._artifacts.show(view)
        self._notes.show(view.seq)
        self._inspector.breakpoints.show_step(at)
        self._stop_banner.show(self._newest(view), may_control=self._may_control)
        self._approval_bar.show(self._newest(view), may_control=self._may_control)
        self._tick()
        if at is not None or self._address.last:
            self._show_address()
        await self._transcript.show(view.seq)
        await self._agents.count_files(view)

    async def _reveal_question(self, agent: str) -> None:
        if self._at is not None:
            await self.seek(None)
        self._tabs.open(AGENTS)
        self._agents.reveal_question(agent)

    async def _follow_change(self, place: str) -> None:
        await self._player.jump_to_change(place)

    def _newest(self, view: View) -> View:
        if self.follower.fold.projection.seq:
            return self.follower.fold.view
        return replace(view, status=self._info.status, error=self._info.error)  # not followed yet

    def _show_player(self, view: View) -> None:
        link = self._address_of(view.seq)
        self._player.show(view, self._at, ended=not self._is_live, link=link)

    async def _look_when_due(self) -> None:
        await self.follower.pace.wait()
        await self._apply_updates()

    async def _apply_updates(self) -> None:
        self._player.viewers.tick()
        updates = self.follower.collect_updates()
        self.follower.pace.record_refresh(has_updates=updates is not None)
        if self.follower.problem:
            self._error_banner.warn(self.follower.problem, can_control=self._may_control)
        if updates is None:
            return
        if updates.outage is not None:
            self._error_banner.warn(updates.outage, can_control=self._may_control)
        if self._runs_elsewhere and not self._is_live:
            self._runs_elsewhere = False
            self._error_banner.clear()
        if self._view is None:
            return
        self._debugger.update(self.follower, updates.steps)
        if self._at is not None:
            self._header.show(self._view, self.follower.fold.view, may_control=self._may_control)
            self._status_strip.show(self._view, self.follower.fold.view, may_control=self._may_control)
            self._stop_banner.show(self.follower.fold.view, may_control=self._may_control)
            self._approval_bar.show(self.follower.fold.view, may_control=self._may_control)
            self._on_history_read(self._view)
            return
        if updates.steps:
            self._transcript.add(updates.steps)
            await self._show_newest()
        elif self.follower.head != self._view.seq:
            await self._show_recorded(self.follower.head, None)  # it continued while the page was drawn
        elif updates.indexed:
            self._on_history_read(self._view)
        self._agents.stream(updates.text)

    def _on_history_read(self, view: View) -> None:
        self._chart.highlight(view)
        self._show_player(view)
        if self.follower.has_caught_up and not self._history_shown:
            self._history_shown = True
            self._agents.refresh()
            self._show_panels(view)
            self._files.show(view)

    @property
    def _may_control(self) -> bool:
        return self._conductor.can_control(self._info.id) and is_permitted('send')

    def _seconds_since_previous(self, seq: int) -> float | None:
        times = self.follower.index.times
        return times[seq - 1] - times[seq - 2] if 2 <= seq <= len(times) else None

    def _tick(self) -> None:
        now = time.time()
        if self._view is not None:
            streamed = self._agents.streamed if self._at is None else 0
            self._header.tick(self._view, now if self._at is None else self._view.time, streamed)
        if self.follower.fold.projection.seq and self._at is None:
            self._budgets.tick(self.follower.fold.view, now)
            self._status_strip.tick(now)
            self._panels.tick(self.follower.fold.view, now)
        if self._view is not None:
            live = self._at is None and self._is_live
            self._agents.tick(self._view, clock_end(self._view, now if live else self._view.time), live=live)

    def _show_panels(self, view: View) -> None:
        self._panels.show(view, live=self._at is None, may_control=self._may_control)

    def _on_open(self, tab: str) -> None:
        self._files.open(tab == 'Files')
        self._transcript.open(tab == 'Transcript')
        self._panels.open(tab)
        self._show_address(add_history=self._tabs.by_user)
        self._artifacts.refresh()

    def _hide_diagram(self, hidden: bool) -> None:
        set_class(self._grid, 'plain', on=hidden)
        self._agents.set_wide(hidden)

    def _enlarge_diagram(self, large: bool) -> None:
        set_class(self._grid, 'charted', on=large)

    async def _on_control(self, what: str) -> None:
        match what:
            case 'cancel' | 'retry' | 'more':
                await getattr(self._menu, what)()
            case 'fork':
                ui.navigate.to(f'/runs/{self._info.id}/fork?at={self._at or self.follower.head}')
            case _:
                await self._send(what, '', {})

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
