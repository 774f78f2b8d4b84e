"""The screen of one run: draws a view, follows the run, and moves through its steps."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nicegui import ui

from engine import Conductor
from engine.records import RunInfo, Shape, View
from ui.components.debounce import STEPPING, Debouncer
from ui.components.dialogs import notify_errors
from ui.components.elements import Splitters, live_region
from ui.components.error_banner import ErrorBanner
from ui.components.layout import DiagramSwitch, view_switch
from ui.components.tabs import Tabs
from ui.formatting.steps import clock_end, headline
from ui.pages.run.address import Address
from ui.pages.run.agents.agents import AgentPanes
from ui.pages.run.agents.transcript import Transcript
from ui.pages.run.context import RunContext
from ui.pages.run.debugger.debugger import Debugger
from ui.pages.run.diagram.chart import ChartPane
from ui.pages.run.header.approval_bar import ApprovalBar
from ui.pages.run.header.budget import BudgetBars
from ui.pages.run.header.header import Header, StatusStrip
from ui.pages.run.header.run_menu import RunMenu
from ui.pages.run.header.stop_banner import StopBanner
from ui.pages.run.inspector.inspector import Inspector
from ui.pages.run.inspector.notes import StepNotes
from ui.pages.run.panels.artifacts import Artifacts
from ui.pages.run.panels.files import Files
from ui.pages.run.panels.panel import PanelSetup
from ui.pages.run.panels.pattern_tabs import AGENTS, ENDS, PatternTabs
from ui.pages.run.player.player import Player
from ui.pages.shared.transition_reasons import GuardReasons
from ui.replay.live import Follower
from ui.replay.reader import HistoryReader, RunAt
from ui.web.permission import may
from ui.web.presence import Viewer


class Screen:
    """Everything on a run's page. `self._at` is the step that is shown; None means the present."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape, viewer: Viewer) -> None:
        self._viewer = viewer
        self._conductor, self._info, self._shape = conductor, info, shape
        self.follower = Follower(conductor, info, shape)
        self._at: int | None = None
        self._view: View | None = None
        self._past = HistoryReader(conductor, info.id, shape)
        self._reasons = GuardReasons(conductor, info.id)
        self._wanted: list[tuple[int | None, bool]] = []
        self._seeking = False
        self._watched = False
        """Whether the banner says that another process runs it."""
        self._whole = False
        """Whether the panes have been drawn with the complete history."""

    async def draw(self, at: int | None, tab: str = '', query: Mapping[str, str] | None = None) -> None:
        """Draw the page at step `at`, with `tab` open and the parameters of the address in `query`."""
        self._at = at
        self._desk = Debugger(self._conductor, self._info.id, self._shape)
        context = RunContext(
            conductor=self._conductor,
            run=self._info.id,
            shape=self._shape,
            history=self.follower.index.history,
            send=self._send,
            stepper=self._desk.stepper,
            reasons=self._reasons,
            info=self._info,
        )
        self._header = Header(context, self._steer)
        self._dialogs = RunMenu(self._conductor, self._info, self._header.naming.show)
        self._needs = ApprovalBar(context, self._reveal_question)
        self._budgets = BudgetBars(self._conductor, self._info.id)
        self._strip = StatusStrip(self._conductor, self._info, self._shape)
        self._stop = StopBanner(self._conductor, self._info, self._shape)
        setup = PanelSetup(
            context=context,
            follower=self.follower,
            seek=self.seek,
            query=query or {},
            say_address=self._say_address,
        )
        self._address, self._trouble = Address(self._visit), ErrorBanner()
        view_switch()
        with ui.element('div').classes('run-grid').props('data-view="agents"') as self._grid:
            Splitters(storage_key='run').show(3, 1)
            self._chart = ChartPane(
                context, self.follower, self.seek, self._enlarge_diagram, self._desk.places
            )
            with ui.element('section').classes('panel middle').props('aria-label="Agents"'):
                tabs = Tabs('Agents, transcript, files and more', on_change=lambda: self._on_open(tabs.shown))
                self._tabs = tabs
                DiagramSwitch(tabs.aside, self._hide_diagram)
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
            self._inspector = Inspector(context, self._follow_change, self._desk, self._say_address)
            self._desk.to_reveal(self._chart.shrink, self._inspector.open_breakpoints)
        self._player = Player(self.follower, self.seek, self._chart.preload, self._viewer)
        self._notes = StepNotes(context, self._inspector.below, self._player.note)
        self._rest = Debouncer(self._show_panes, self._grid)
        self._soon = Debouncer(self._show_step, self._grid, pace=STEPPING)
        self._announcer = live_region()
        await self._reasons.load()
        self._watched = await self._trouble.check_owner(self._conductor, self._info.id)
        with self._address.hold():
            await self._show_recorded(self._info.seq if at is None else at, at)
            if ENDS.get(tab) in tabs.titles:
                tabs.open(ENDS[tab])
            self._inspector.open((query or {}).get('inspect', ''))
        if at is not None:
            self._say_address()
        await self._notes.load()
        self._header.naming.watch()  # timers come last: the first one sends the page as drawn so far
        ui.timer(0, self._look_when_due)
        ui.timer(1.0, self._tick)

    async def seek(self, at: int | None, *, leap: bool = True) -> None:
        """Go to a step (None is the present). While one is loading, only the latest request is remembered.

        A leap adds an entry to the browser's history, so that the back button undoes it.
        """
        self._wanted = [(at, leap)]
        if self._seeking:
            return
        self._seeking = True
        try:
            while self._wanted:
                wish, leap = self._wanted.pop()
                if wish is not None and not self._live and wish >= self.follower.head:
                    wish = None
                await notify_errors(self._go(wish, leap=leap))
        finally:
            self._seeking = False

    @property
    def _live(self) -> bool:
        """Whether the run may still continue."""
        projection = self.follower.fold.projection
        return not (projection.status if projection.seq else self._info.status).ended

    async def _go(self, at: int | None, *, leap: bool) -> None:
        if leap:
            self._address.say(self._where(at), leap=True)
        if at is None and self.follower.last is not None:
            await self._show_newest()
        elif at is None:
            await self._show_recorded(self.follower.head, None)
        else:
            if self._at is None:
                self._agents.still()
            await self._show_recorded(at, at)

    def _where(self, at: int | None) -> str:
        return self._panels.address(at, self._inspector.tab)

    async def _visit(self, end: str, at: int | None, inspected: str) -> None:
        """Follow the browser's back button."""
        title = ENDS.get(end, self._tabs.titles[0])
        with self._address.hold():
            if title in self._tabs.titles and title != self._tabs.shown:
                self._tabs.open(title)
            self._inspector.open(inspected)
        if at != self._at:
            await self.seek(at if at is None else min(at, self.follower.head), leap=False)

    def _say_address(self, *, leap: bool = False) -> None:
        self._address.say(self._where(self._at), leap=leap)

    async def _show_recorded(self, seq: int, at: int | None) -> None:
        """Show step `seq` from the journal, as the past or, with `at` None, as the present."""
        await self._show(await self._past.at(seq), at)

    async def _show_newest(self) -> None:
        await self._show(self.follower.newest, None)

    async def _show(self, moment: RunAt, at: int | None) -> None:
        view, self._at = moment.fold.view, at
        self._viewer.move(at)
        self._view = view
        self._reasons.show(moment.step, moment.before)
        if at is None:
            self._desk.learn(self.follower, [moment.step] if moment.step else [], moment.fold)
        self._chart.light(view)
        self._show_player(view)
        # Only the diagram keeps up with the slider at any speed; the panes are debounced.
        if at is None:
            await self._show_step()
            await self._show_panes()
        else:
            await self._soon.request()
            await self._rest.request()

    async def _show_step(self) -> None:
        """Show the details of the step: the inspector, and the figures in the header."""
        view, step = self._view, self._reasons.step
        if view is None:
            return
        self._inspector.show(view, self._since(view.seq), live=self._at is None)
        self._chart.say_where(view)
        self._header.show(view, self._newest(view), mine=self._mine)
        self._strip.show(view, self._newest(view), mine=self._mine)
        self._budgets.show(view, mine=self._mine)
        self._tick()
        if step is not None:
            self._announcer.set_text(f'Step {view.seq}: {headline(step)}')

    async def _show_panes(self) -> None:
        """Show everything that need not keep up with the slider: text, and parts that are slow to draw."""
        view, at = self._view, self._at
        if view is None:
            return
        await self._chart.show(view)
        self._agents.show(view, live=at is None, mine=self._mine)
        self._show_panels(view)
        self._files.show(view)
        self._artifacts.show(view)
        self._notes.show(view.seq)
        self._inspector.breakpoints.show_step(at)
        self._stop.show(self._newest(view), mine=self._mine)
        self._needs.show(self._newest(view), mine=self._mine)
        self._tick()
        if at is not None or self._address.last:
            self._say_address()
        await self._transcript.show(view.seq)
        await self._agents.count_files(view)

    async def _reveal_question(self, agent: str) -> None:
        if self._at is not None:
            await self.seek(None)
        self._tabs.open(AGENTS)
        self._agents.reveal_question(agent)

    async def _follow_change(self, place: str) -> None:
        await self._player.change(place)

    def _newest(self, view: View) -> View:
        if self.follower.fold.projection.seq:
            return self.follower.fold.view
        return replace(view, status=self._info.status, error=self._info.error)  # not followed yet

    def _show_player(self, view: View) -> None:
        link = self._where(view.seq)
        self._player.show(view, self._at, ended=not self._live, link=link)

    async def _look_when_due(self) -> None:
        await self.follower.pace.wait()
        await self._look()

    async def _look(self) -> None:
        self._player.viewers.tick()
        news = self.follower.collect_updates()
        self.follower.pace.record_refresh(found=news is not None)
        if self.follower.problem:
            self._trouble.warn(self.follower.problem, mine=self._mine)
        if news is None:
            return
        if news.outage is not None:
            self._trouble.warn(news.outage, mine=self._mine)
        if self._watched and not self._live:
            self._watched = False
            self._trouble.clear()
        if self._view is None:
            return
        self._desk.learn(self.follower, news.steps)
        if self._at is not None:
            self._header.show(self._view, self.follower.fold.view, mine=self._mine)
            self._strip.show(self._view, self.follower.fold.view, mine=self._mine)
            self._stop.show(self.follower.fold.view, mine=self._mine)
            self._needs.show(self.follower.fold.view, mine=self._mine)
            self._on_history_read(self._view)
            return
        if news.steps:
            self._transcript.add(news.steps)
            await self._show_newest()
        elif self.follower.head != self._view.seq:
            await self._show_recorded(self.follower.head, None)  # it continued while the page was drawn
        elif news.indexed:
            self._on_history_read(self._view)
        self._agents.stream(news.text)

    def _on_history_read(self, view: View) -> None:
        self._chart.light(view)
        self._show_player(view)
        if self.follower.caught_up and not self._whole:
            self._whole = True
            self._agents.refresh()
            self._show_panels(view)
            self._files.show(view)

    @property
    def _mine(self) -> bool:
        return self._conductor.runs_here(self._info.id) and may('send')

    def _since(self, seq: int) -> float | None:
        times = self.follower.index.times
        return times[seq - 1] - times[seq - 2] if 2 <= seq <= len(times) else None

    def _tick(self) -> None:
        now = time.time()
        if self._view is not None:
            streamed = self._agents.streamed if self._at is None else 0
            self._header.tick(self._view, now if self._at is None else self._view.time, streamed)
        if self.follower.fold.projection.seq and self._at is None:
            self._budgets.tick(self.follower.fold.view, now)
            self._strip.tick(now)
            self._panels.tick(self.follower.fold.view, now)
        if self._view is not None:
            live = self._at is None and self._live
            self._agents.tick(self._view, clock_end(self._view, now if live else self._view.time), live=live)

    def _show_panels(self, view: View) -> None:
        self._panels.show(view, live=self._at is None, mine=self._mine)

    def _on_open(self, tab: str) -> None:
        self._files.open(tab == 'Files')
        self._transcript.open(tab == 'Transcript')
        self._panels.open(tab)
        self._say_address(leap=self._tabs.by_user)
        self._artifacts.refresh()

    def _hide_diagram(self, hidden: bool) -> None:
        self._grid.classes(add='plain' if hidden else '', remove='' if hidden else 'plain')
        self._agents.be_wide(hidden)

    def _enlarge_diagram(self, large: bool) -> None:
        self._grid.classes(add='charted' if large else '', remove='' if large else 'charted')

    async def _steer(self, what: str) -> None:
        match what:
            case 'cancel' | 'retry' | 'more':
                await getattr(self._dialogs, what)()
            case 'fork':
                ui.navigate.to(f'/runs/{self._info.id}/fork?at={self._at or self.follower.head}')
            case _:
                await self._send(what, '', {})

    async def _send(self, name: str, at: str, data: dict[str, Any]) -> None:
        await notify_errors(self._conductor.send(self._info.id, name, at=at, data=data))
