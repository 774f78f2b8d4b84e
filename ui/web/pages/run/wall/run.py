"""One run on the wall: followed for this page, with a pane for each of its working agents."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from nicegui import background_tasks, ui

from engine import Conductor, EngineError, Transition
from engine.records import RunInfo, StateShape, View, is_within
from engine.workspace import is_own_work
from ui.formatting.steps import clock_end, duration
from ui.formatting.values import count
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import notify_errors
from ui.web.components.theme import pill
from ui.web.components.widgets import Box, Text, link, set_attributes, set_class
from ui.web.pages.run.agents.agent import AgentPane
from ui.web.pages.shared.run.context import RunContext
from ui.web.pages.shared.run.debug_controller import DebugController
from ui.web.pages.shared.run.lane_bar import LaneBar, LaneHandlers, LaneMoment
from ui.web.pages.shared.run.transition_reasons import GuardReasons
from ui.web.permission import is_permitted
from ui.web.replay.live import Follower, Updates

NEWEST = 12
"""Number of conversation blocks in a new pane; the run's page has all of them."""
HEADER_INTERVAL = 0.25
"""Minimum seconds between updates of pane headers, because the browser processes all panes for each update.
Agents' output is shown immediately."""
WAITS = ('.approving', '.asking')


class WallPane:
    """An agent's pane, with a link to its run."""

    def __init__(self, state: StateShape, context: RunContext, enlarge: Callable[[WallPane], None]) -> None:
        self.path, self._context = state.path, context
        with Box('wall-pane', 'li') as self.root:
            with Box('wall-run'):
                with link(f'/runs/{context.run}'):
                    self._title = Text('span', '', dir='auto')
                self._pill = Box('ghost', 'span')
            self.pane = AgentPane(state, context, lambda path: enlarge(self), newest=NEWEST)
        self._status: object = None
        self.large = False

    def rename(self, info: RunInfo) -> None:
        """Show the run's title."""
        self._title.show(info.title or info.id)
        set_attributes(self._title, title=info.title)

    def enlarge(self, large: bool) -> None:
        """Fill the whole wall, or return to one cell of it."""
        self.large = large
        set_class(self.root, 'alone', on=large)
        self.pane.pin(True, enlarged=large)

    def show(self, view: View, *, may_control: bool, files: str) -> None:
        """Show the agent's current state."""
        live = not view.status.ended
        self.pane.show(view, view.agents.get(self.path), live=live, may_control=may_control, files=files)
        leaf = next((leaf for leaf in view.active if is_within(leaf, self.path)), '')
        waits = live and leaf.endswith(WAITS)
        set_class(self.root, 'waits', on=waits)
        if view.status != self._status:
            self._status = view.status
            self._pill.clear()
            with self._pill:
                pill(view.status, view.error)


class WallRun:
    """Follows a run; `show_updates` brings its panes up to date.

    Args:
        conductor: gives access to the run, which another process may execute.
        info: the run.
        follower: follows the run at the wall's pace.
        places: the elements that get its line and its panes.
        enlarge: called with the pane whose enlarge button was pressed.
    """

    def __init__(
        self,
        conductor: Conductor,
        info: RunInfo,
        follower: Follower,
        places: tuple[ui.element, ui.element],
        enlarge: Callable[[WallPane], None],
    ) -> None:
        self._conductor, self.info, self._enlarge = conductor, info, enlarge
        lines, self._place = places
        self.follower, shape = follower, follower.shape
        self._controller = DebugController(conductor, info.id, shape)
        self._context = RunContext(
            conductor=conductor,
            run=info.id,
            shape=shape,
            history=self.follower.index.history,
            send=self._send,
            debug_controller=self._controller,
            reasons=GuardReasons(conductor, info.id),
            info=info,
        )
        self._roles = [state for state in shape.states if state.role]
        with lines, Box('wall-line') as self._line:
            with link(f'/runs/{info.id}'):
                Text('span', info.title or info.id, title=info.title, dir='auto')
            self._bar = LaneBar(
                follower.index,
                shape,
                LaneHandlers(pick=self._open_step, open=lambda agent, step: self._open_step(step)),
                line=True,
                label=f'Step of {info.title or info.id}',
            )
        self.panes: dict[str, WallPane] = {}
        self._files: dict[str, tuple[str, str]] = {}
        """By agent: the last counted snapshot, and the text on how many files differ from the first one."""
        self._last_state: object = None
        """Status and pauses as last seen."""
        self._outdated_panes: set[str] = set()
        """Panes whose headers need redrawing."""
        self._shown = 0.0
        self._task = background_tasks.create(self.follower.follow(), name=f'wall follows {info.id}')
        self._counting: asyncio.Task[Any] | None = None

    @property
    def view(self) -> View | None:
        """The run's current view; None until it has been read."""
        fold = self.follower.fold
        return fold.view if fold.projection.seq else None

    @property
    def has_ended(self) -> bool:
        """Whether the run is known to have ended."""
        view = self.view
        return view is not None and view.status.ended

    @property
    def is_outdated(self) -> bool:
        """Whether any pane's header needs redrawing."""
        return bool(self._outdated_panes)

    @property
    def waiting(self) -> int:
        """Number of its agents that wait for a person."""
        view = self.view
        return 0 if view is None or view.status.ended else sum(leaf.endswith(WAITS) for leaf in view.active)

    def rename(self, info: RunInfo) -> None:
        """Show the title in its newest summary, which another page may have changed."""
        renamed, self.info = info.title != self.info.title, info
        if renamed:
            for entry in self.panes.values():
                entry.rename(info)

    def show_updates(self, room: int) -> bool:
        """Show what is new since the last call, in at most `room` more panes; return whether anything is."""
        updates = self.follower.collect_updates()
        view = self.view
        unseen = room > 0 and self.count_missing() > 0
        if view is None or (updates is None and not self._outdated_panes and not unseen):
            return updates is not None
        heard, updates = updates is not None, updates or Updates()
        self._controller.update(self.follower.fold, updates.steps)
        if updates.steps or updates.indexed:
            self._show_line(view)
        if updates.steps or not self.panes or unseen:
            self._arrange(view, room)
            touched = self.panes if unseen else self._affected_panes(view, updates.steps)
            for path in touched:
                self.panes[path].pane.show_conversation(view, view.agents.get(path) or {})
            self._outdated_panes.update(touched)
        if self._outdated_panes and time.monotonic() >= self._shown + HEADER_INTERVAL:
            self._shown = time.monotonic()
            self._show(view, self._outdated_panes & self.panes.keys())
            self._outdated_panes.clear()
        self._stream(updates)
        return heard

    def _show_line(self, view: View) -> None:
        ran = duration(view.ran)
        text = f'Step {view.seq}, after {ran}'
        going = not view.status.ended
        self._bar.move_to(LaneMoment(at=view.seq, head=view.seq, ran=ran, text=text, going=going))

    def _open_step(self, step: int) -> None:
        ui.navigate.to(f'/runs/{self.info.id}?at={step}')

    def tick(self, now: float) -> None:
        """Update the clocks, and the parts of panes that steps of other agents change."""
        view = self.view
        if view is not None:
            self._show(view, self.panes)
            live = not view.status.ended
            for entry in self.panes.values():
                entry.pane.tick(view, clock_end(view, now if live else view.time), live=live)

    def count_missing(self) -> int:
        """Return the number of its working agents without a pane."""
        view = self.view
        return sum(state.path not in self.panes for state in self._working_states(view)) if view else 0

    def make_room(self) -> bool:
        """Remove a pane of an idle agent, but never the enlarged one; return whether there was one."""
        view = self.view
        working = {state.path for state in self._working_states(view)} if view else set()
        idle = next((path for path, pane in self.panes.items() if path not in working and not pane.large), '')
        if idle:
            self.panes.pop(idle).root.delete()
        return bool(idle)

    def stop(self) -> None:
        """Stop following the run; its panes keep what they show."""
        self._task.cancel()
        if self._counting:
            self._counting.cancel()

    def close(self) -> None:
        """Stop following the run, and remove its line and its panes."""
        self.stop()
        self._line.delete()
        for entry in self.panes.values():
            entry.root.delete()
        self.panes = {}

    def _working_states(self, view: View) -> list[StateShape]:
        if view.status.ended:
            return []
        return [state for state in self._roles if any(is_within(leaf, state.path) for leaf in view.active)]

    def _arrange(self, view: View, room: int) -> None:
        """Add a pane for each working agent; panes of idle ones are removed if there is no room."""
        for state in self._working_states(view):
            if state.path in self.panes:
                continue
            if room <= 0 and not self.make_room():
                return
            room -= 1
            with self._place:
                self.panes[state.path] = entry = WallPane(state, self._context, self._enlarge)
            entry.rename(self.info)
            entry.enlarge(False)

    def _affected_panes(self, view: View, steps: Sequence[Transition]) -> Collection[str]:
        """Return the panes of the agents in these steps; all panes if the run's own state changes."""
        if self._last_state != (state := (view.status, view.paused)):
            self._last_state = state
            return self.panes
        places = {path for step in steps for path in (step.event.at, *step.left, *step.entered)}
        return [own for own in self.panes if any(is_within(path, own) for path in places)]

    def _show(self, view: View, paths: Collection[str]) -> None:
        may_control = self._conductor.can_control(self.info.id) and is_permitted('send')
        for path in paths:
            self.panes[path].show(view, may_control=may_control, files=self._files.get(path, ('', ''))[1])
        changed = [path for path in self.panes if self._folder(view, path) != self._files.get(path, ('',))[0]]
        if changed and (self._counting is None or self._counting.done()):
            self._counting = create_page_task(
                self._place, self._count_files(view, changed), 'wall counts files'
            )

    def _folder(self, view: View, path: str) -> str:
        """Return the newest snapshot of an agent's folder, which may be its region's."""
        return next((view.files[name] for name in _folders(path) if name in view.files), '')

    async def _count_files(self, view: View, paths: list[str]) -> None:
        history, workspaces = self.follower.index.history, self._conductor.workspaces
        for path in paths:
            snapshot = self._folder(view, path)
            folder = next((name for name in _folders(path) if name in view.files), '')
            try:
                changes = await workspaces.diff(self.info.id, history.baseline(folder), snapshot)
            except EngineError:
                continue  # the run's page reports it
            changed = sum(map(is_own_work, changes))
            self._files[path] = (snapshot, f'{count(changed, "file")} changed' if changed else '')
        newest = self.view
        if newest is not None:
            self._show(newest, self.panes)

    def _stream(self, updates: Updates) -> None:
        for path, pieces in updates.text.items():
            entry = next((entry for own, entry in self.panes.items() if is_within(path, own)), None)
            if entry is not None:
                entry.pane.append(pieces)

    async def _send(self, name: str, at: str, data: dict[str, Any]) -> None:
        await notify_errors(self._conductor.send(self.info.id, name, at=at, data=data))


def _folders(path: str) -> list[str]:
    """Return the names an agent's folder may be stored under: its path, and the names of its regions."""
    return [path, *reversed(path.split('.'))]
