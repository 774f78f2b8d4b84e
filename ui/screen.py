"""The screen of one run: draws a view, follows the run, and moves through its steps."""

from __future__ import annotations

import time
from typing import Any

from nicegui import ui

from engine import Conductor, RunInfo, Shape, View
from ui.dialogs import told
from ui.elements import narration
from ui.panes.address import Address
from ui.panes.agents import AgentPanes
from ui.panes.around import Around
from ui.panes.artifacts import Artifacts
from ui.panes.budget import Budgets
from ui.panes.chart import ChartPane
from ui.panes.comparison import Comparison
from ui.panes.council import Council
from ui.panes.dialogs import Dialogs
from ui.panes.extras import ENDS, Extras
from ui.panes.files import Files
from ui.panes.header import Header
from ui.panes.inspector import Inspector
from ui.panes.notes import StepNotes
from ui.panes.player import Player
from ui.panes.reasons import Reasons
from ui.panes.strip import Strip
from ui.panes.switch import switch
from ui.panes.tabs import Tabs
from ui.panes.transcript import Transcript
from ui.panes.trouble import Trouble
from ui.panes.width import Width
from ui.presenters.messages import Wanted
from ui.presenters.reading import headline, until
from ui.replay.live import LOOKS_A_SECOND, Follower
from ui.replay.past import Moment, Past
from ui.replay.unhurried import Unhurried
from ui.stepping.desk import Desk


class Screen:
    """Everything on a run's page. `self._at` is the step that is shown; None is the present."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape) -> None:
        self._conductor, self._info, self._shape = conductor, info, shape
        self.follower = Follower(conductor, info, shape)
        self._at: int | None = None
        self._view: View | None = None
        self._past = Past(conductor, info.id, shape)
        self._reasons = Reasons(conductor, info.id)
        self._wanted: list[tuple[int | None, bool]] = []
        self._seeking = False
        self._watched = False
        """Whether the page says that another process runs it."""
        self._whole = False
        """Whether the panes have been drawn with all of the history known."""

    async def draw(self, at: int | None, tab: str = '', wanted: Wanted | None = None) -> None:
        """Make the page, showing step `at`; `tab` is open, one of `TABS`, and shows the `wanted` messages."""
        self._at = at
        self._desk = Desk(self._conductor, self._info.id, self._shape)
        around = Around(
            conductor=self._conductor,
            run=self._info.id,
            shape=self._shape,
            history=self.follower.index.history,
            send=self._send,
            stepper=self._desk.stepper,
            reasons=self._reasons,
            born=self._info.created,
        )
        self._header = Header(self._conductor, self._info, self._desk.stepper, self._steer, around.named)
        self._dialogs = Dialogs(self._conductor, self._info, self._header.naming.show)
        self._budgets = Budgets(self._conductor, self._info.id)
        self._strip = Strip(self._conductor, self._info, self._shape)
        self._extras = Extras(around, self.follower, self.seek, wanted or Wanted(), self._say_address)
        self._address, self._trouble = Address(self._visit), Trouble()
        switch()
        with ui.element('div').classes('run-grid').props('data-view="agents"') as self._grid:
            self._chart = ChartPane(around, self.follower, self.seek, self._be_charted, self._desk.places)
            await self._chart.draw()
            with ui.element('section').classes('panel middle').props('aria-label="Agents"'):
                tabs = Tabs('Agents, transcript, files and more', on_change=lambda: self._opened(tabs.shown))
                self._tabs = tabs
                self._width = Width(tabs.aside, self._be_wide)
                with tabs.panel('Agents'):
                    self._agents = AgentPanes(around, self._width.want)
                self._council = Council(around, tabs, self.seek, self._width.want)
                with tabs.panel('Transcript'):
                    self._transcript = Transcript(self._conductor, self._info.id, self._shape)
                with tabs.panel('Files'):
                    self._files = Files(around, self.seek)
                self._extras.draw(tabs)
                self._artifacts, self._comparison = Artifacts(around, tabs), Comparison(around, tabs)
            self._inspector = Inspector(around, self._follow_change, self._desk)
            self._desk.to_reveal(self._width.narrow, self._chart.shrink, self._inspector.open_breakpoints)
        self._player = Player(self.follower, self.seek)
        self._notes = StepNotes(around, self._inspector.below, self._player.note)
        self._rest = Unhurried(self._show_panes, self._grid)
        self._said = narration()
        await self._reasons.load()
        self._watched = await self._trouble.owned(self._conductor, self._info.id)
        await self._read(self._info.seq if at is None else at, at)
        if ENDS.get(tab) in tabs.titles:
            tabs.pick(ENDS[tab])
        await self._notes.load()
        self._header.naming.watch()  # timers come last: with the first, the page is sent as far as it is
        ui.timer(1 / LOOKS_A_SECOND, self._look)
        ui.timer(1.0, self._tick)

    async def seek(self, at: int | None, *, leap: bool = True) -> None:
        """Go to a step (None is the present). While one is being read, only the newest wish counts.

        A leap is an entry of its own in the browser's history: one goes back from it to where one was.
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
                await self._go(wish, leap=leap)
        finally:
            self._seeking = False

    @property
    def _live(self) -> bool:
        """Whether the run may still go on."""
        ledger = self.follower.fold.ledger
        return not (ledger.status if ledger.seq else self._info.status).ended

    async def _go(self, at: int | None, *, leap: bool) -> None:
        if leap:
            self._address.say(self._extras.address(at), leap=True)
        if at is None and self.follower.last is not None:
            await self._show_newest()
        elif at is None:
            await self._read(self.follower.head, None)
        else:
            if self._at is None:
                self._agents.still()
            await self._read(at, at)

    async def _visit(self, end: str, at: int | None) -> None:
        """Go where the browser went back to."""
        title = ENDS.get(end, self._tabs.titles[0])
        if title in self._tabs.titles and title != self._tabs.shown:
            self._tabs.open(title)
        if at != self._at:
            await self.seek(at if at is None else min(at, self.follower.head), leap=False)

    def _say_address(self, *, leap: bool = False) -> None:
        self._address.say(self._extras.address(self._at), leap=leap)

    async def _read(self, seq: int, at: int | None) -> None:
        """Show step `seq` from the journal, as the past or, with `at` None, as the present."""
        await self._show(await self._past.at(seq), at)

    async def _show_newest(self) -> None:
        await self._show(self.follower.newest, None)

    async def _show(self, moment: Moment, at: int | None) -> None:
        view, self._at = moment.fold.view, at
        self._view = view
        self._reasons.show(moment.step, moment.before)
        if at is None:
            self._desk.learn(self.follower, [moment.step] if moment.step else [], moment.fold)
        self._chart.light(view)
        self._show_player(view)
        # What moves under a slider is seen at any speed; the words in the panes are not.
        await (self._show_panes() if at is None else self._rest.ask())

    async def _show_panes(self) -> None:
        """Show what need not keep up with the slider: words, and what is slow to draw."""
        view, step, at = self._view, self._reasons.step, self._at
        if view is None:
            return
        self._chart.show(view)
        self._agents.show(view, live=at is None, mine=self._mine)
        self._convene(view)
        for pane in (self._extras, self._files, self._artifacts, self._comparison):
            pane.show(view)
        self._notes.show(view.seq)
        self._inspector.show(view, self._since(view.seq))
        self._inspector.breakpoints.stand(at)
        self._header.show(self._newest(view), mine=self._mine)
        self._strip.show(view, self._newest(view), mine=self._mine)
        self._budgets.show(view, mine=self._mine)
        if step is not None:
            self._said.set_text(f'Step {view.seq}: {headline(step)}')
        self._tick()
        if at is not None or self._address.said:
            self._say_address()
        await self._transcript.show(view.seq)
        await self._agents.count_files(view)

    async def _follow_change(self, place: str) -> None:
        await self._player.change(place)

    def _newest(self, view: View) -> View:
        return self.follower.fold.view if self.follower.fold.ledger.seq else view

    def _show_player(self, view: View) -> None:
        link = self._extras.address(view.seq)
        self._player.show(view, self._at, ended=not self._live, link=link)

    async def _look(self) -> None:
        news = self.follower.look()
        if self.follower.problem:
            self._trouble.warn(self.follower.problem, mine=self._mine)
        if news is None:
            return
        if news.trouble is not None:
            self._trouble.warn(news.trouble, mine=self._mine)
        if self._watched and not self._live:
            self._watched = False
            self._trouble.say()
        if self._view is None:
            return
        self._desk.learn(self.follower, news.steps)
        if self._at is not None:
            self._header.show(self.follower.fold.view, mine=self._mine)
            self._strip.show(self._view, self.follower.fold.view, mine=self._mine)
            self._more_is_known(self._view)
            return
        if news.steps:
            self._transcript.add(news.steps)
            await self._show_newest()
        elif self.follower.head != self._view.seq:
            await self._read(self.follower.head, None)  # it went on while the page was made
        elif news.read:
            self._more_is_known(self._view)
        self._agents.stream(news.text)

    def _more_is_known(self, view: View) -> None:
        self._chart.light(view)
        self._show_player(view)
        if self.follower.caught_up and not self._whole:
            self._whole = True
            self._agents.refresh()
            self._convene(view)
            self._files.show(view)
            self._extras.show(view)

    @property
    def _mine(self) -> bool:
        return self._conductor.runs_here(self._info.id)

    def _since(self, seq: int) -> float | None:
        times = self.follower.index.times
        return times[seq - 1] - times[seq - 2] if 2 <= seq <= len(times) else None

    def _tick(self) -> None:
        now = time.time()
        if self.follower.fold.ledger.seq:
            self._header.tick(self.follower.fold.view, now)
            if self._at is None:
                self._budgets.tick(self.follower.fold.view, now)
                self._strip.tick(now)
                self._extras.tick(self.follower.fold.view, now)
        if self._view is not None:
            live = self._at is None and self._live
            self._agents.tick(self._view, until(self._view, now) if live else self._view.time, live=live)

    def _convene(self, view: View) -> None:
        live = self._at is None
        self._council.show(view, live=live, mine=self._mine, crowded=self._agents.crowded)

    def _opened(self, tab: str) -> None:
        self._files.open(tab == 'Files')
        self._transcript.open(tab == 'Transcript')
        self._council.open(tab)
        self._extras.open(tab)
        self._say_address(leap=self._tabs.by_hand)
        self._artifacts.refresh()

    def _be_wide(self, wide: bool) -> None:
        self._grid.classes(add='wide' if wide else '', remove='' if wide else 'wide')
        self._agents.be_wide(wide)

    def _be_charted(self, large: bool) -> None:
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
        await told(self._conductor.send(self._info.id, name, at=at, data=data))
