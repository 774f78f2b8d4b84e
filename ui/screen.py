"""The screen of one run: draws a view, follows the run, and moves through its steps."""

from __future__ import annotations

import json
import time
from typing import Any

from nicegui import ui

from engine import Conductor, Fold, RunInfo, Shape, Transition, View
from ui.elements import narration
from ui.live import LOOKS_A_SECOND, Follower
from ui.messages import Wanted
from ui.panes.agents import AgentPanes
from ui.panes.around import Around
from ui.panes.artifacts import Artifacts
from ui.panes.budget import Budgets
from ui.panes.chart import ChartPane
from ui.panes.comparison import Comparison
from ui.panes.council import Council
from ui.panes.dialogs import Dialogs, told
from ui.panes.extras import TABS, Extras
from ui.panes.files import Files
from ui.panes.header import Header
from ui.panes.inspector import Inspector
from ui.panes.player import Player
from ui.panes.strip import Strip
from ui.panes.switch import switch
from ui.panes.tabs import Tabs
from ui.panes.transcript import Transcript
from ui.panes.trouble import Trouble
from ui.panes.width import Width
from ui.reading import befores, headline


class Screen:
    """Everything on a run's page. `self._at` is the step that is shown; None is the present."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape) -> None:
        self._conductor, self._info, self._shape = conductor, info, shape
        self.follower = Follower(conductor, info, shape)
        self._at: int | None = None
        self._view: View | None = None
        self._step: Transition | None = None
        self._wanted: list[int | None] = []
        self._seeking = False
        self._watched = False
        """Whether the page says that another process runs it."""
        self._whole = False
        """Whether the panes have been drawn with all of the history known."""

    async def draw(self, at: int | None, tab: str = '', wanted: Wanted | None = None) -> None:
        """Make the page, showing step `at`; `tab` is open, one of `TABS`, and shows the `wanted` messages."""
        self._at = at
        self._dialogs = Dialogs(self._conductor, self._info, lambda info: self._header.rename(info.title))
        around = Around(
            conductor=self._conductor,
            run=self._info.id,
            shape=self._shape,
            history=self.follower.history,
            send=self._send,
        )
        self._header = Header(self._info, self._steer, around.named)
        self._budgets = Budgets(self._conductor, self._info.id)
        self._strip = Strip(self._conductor, self._info, self._shape)
        self._extras = Extras(around, self.follower, self.seek, wanted or Wanted(), self._say_address)
        self._trouble = Trouble()
        switch()
        with ui.element('div').classes('run-grid').props('data-view="agents"') as self._grid:
            self._chart = ChartPane(around, self.follower, self.seek, self._be_charted)
            await self._chart.draw()
            with ui.element('section').classes('panel middle').props('aria-label="Agents"'):
                tabs = Tabs('Agents, transcript, files and more', on_change=lambda: self._opened(tabs.shown))
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
            self._inspector = Inspector(self._shape, around.named)
        self._player = Player(self.follower, self.seek)
        self._said = narration()
        stranded = self._conductor.stranded.get(self._info.id)
        if stranded:
            self._trouble.say('link_off', f'This run cannot go on: {stranded}. What it did can be looked at.')
        elif not self._mine and not (await self._conductor.info(self._info.id)).status.ended:
            self._watched = True
            self._trouble.say(
                'visibility', 'Another process runs it: here it can be watched, and not steered.'
            )
        await self._read(self._info.seq if at is None else at, at)
        if TABS.get(tab) in tabs.titles:
            tabs.open(TABS[tab])
        ui.timer(1 / LOOKS_A_SECOND, self._look)
        ui.timer(1.0, self._tick)

    async def seek(self, at: int | None) -> None:
        """Go to a step (None is the present). While one is being read, only the newest wish counts."""
        self._wanted = [at]
        if self._seeking:
            return
        self._seeking = True
        try:
            while self._wanted:
                wish = self._wanted.pop()
                if wish is not None and not self._live and wish >= self.follower.head:
                    wish = None
                await self._go(wish)
        finally:
            self._seeking = False

    @property
    def _live(self) -> bool:
        """Whether the run may still go on."""
        ledger = self.follower.fold.ledger
        return not (ledger.status if ledger.seq else self._info.status).ended

    async def _go(self, at: int | None) -> None:
        if at is None and self.follower.last is not None:
            await self._show(self.follower.fold, None, self.follower.last, self.follower.befores)
        elif at is None:
            await self._read(self.follower.head, None)
        else:
            self._agents.still()
            await self._read(at, at)
        self._say_address()

    def _say_address(self) -> None:
        address = json.dumps(self._extras.address(self._at))
        ui.run_javascript(f'history.replaceState(null, "", {address})')

    async def _read(self, seq: int, at: int | None) -> None:
        """Show step `seq` from the journal, as the past or, with `at` None, as the present."""
        fold = await self._conductor.fold(self._info.id, max(seq - 1, 0))
        found = await self._conductor.transitions(self._info.id, after=seq - 1, until=seq) if seq else []
        if not found:
            await self._show(fold, at, None, [])
            return
        replaced = befores(fold.document, found[0].changes)
        await self._show(fold.take(found[0]), at, found[0], replaced)

    async def _show(self, fold: Fold, at: int | None, step: Transition | None, replaced: list[Any]) -> None:
        self._at = at
        view, seq = fold.view, fold.ledger.seq
        self._view, self._step = view, step
        self._chart.show(view, step)
        self._agents.show(view, live=at is None, mine=self._mine)
        self._convene(view)
        await self._transcript.show(seq)
        self._files.show(view)
        self._extras.show(view)
        newest = self.follower.fold.view if self.follower.fold.ledger.seq else view
        self._artifacts.show(view)
        self._comparison.show(view)
        self._inspector.show(view, step, replaced, self._since(seq))
        self._header.show(newest, mine=self._mine)
        self._strip.show(view, newest, mine=self._mine)
        self._budgets.show(view, mine=self._mine)
        self._player.show(at, ended=not self._live)
        if step is not None:
            self._said.set_text(f'Step {seq}: {headline(step)}')
        self._tick()
        await self._agents.count_files(view)

    async def _look(self) -> None:
        news = self.follower.look()
        if self.follower.problem:
            self._warn(self.follower.problem)
        if news is None:
            return
        if news.trouble is not None:
            self._warn(news.trouble)
        if self._watched and not self._live:
            self._watched = False
            self._trouble.say()
        if self._view is None:
            return
        if self._at is not None:
            self._header.show(self.follower.fold.view, mine=self._mine)
            self._strip.show(self._view, self.follower.fold.view, mine=self._mine)
            self._more_is_known(self._view)
            return
        if news.steps:
            self._transcript.add(news.steps)
            await self._show(self.follower.fold, None, self.follower.last, self.follower.befores)
        elif self.follower.head != self._view.seq:
            await self._read(self.follower.head, None)  # it went on while the page was made
        elif news.read:
            self._more_is_known(self._view)
        self._agents.stream(news.text)

    def _more_is_known(self, view: View) -> None:
        self._chart.show(view, self._step)
        self._player.show(self._at, ended=not self._live)
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
        times = self.follower.times
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
            self._agents.tick(self._view, now if live else self._view.time, live=live)

    def _convene(self, view: View) -> None:
        live = self._at is None
        self._council.show(view, live=live, mine=self._mine, crowded=self._agents.crowded)

    def _opened(self, tab: str) -> None:
        self._files.open(tab == 'Files')
        self._transcript.open(tab == 'Transcript')
        self._council.open(tab)
        self._extras.open(tab)
        self._say_address()
        self._artifacts.refresh()

    def _be_wide(self, wide: bool) -> None:
        self._grid.classes(add='wide' if wide else '', remove='' if wide else 'wide')
        self._agents.be_wide(wide)

    def _be_charted(self, large: bool) -> None:
        self._grid.classes(add='charted' if large else '', remove='' if large else 'charted')

    def _warn(self, problem: str) -> None:
        # A run that this process lost goes on where it was claimed; one that only waits goes on here.
        hope = ' Nothing is lost: the run goes on by itself when it can.' if self._mine else ''
        self._trouble.say('save', f'{problem}{hope}' if problem else '')

    async def _steer(self, what: str) -> None:
        match what:
            case 'cancel':
                await self._dialogs.cancel()
            case 'fork':
                await self._dialogs.fork(self._at or self.follower.head)
            case 'more':
                await self._dialogs.more()
            case _:
                await self._send(what, '', {})

    async def _send(self, name: str, at: str, data: dict[str, Any]) -> None:
        await told(self._conductor.send(self._info.id, name, at=at, data=data))
