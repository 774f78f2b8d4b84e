"""The wall page: all agents of the selected live runs, updated many times a second."""

from __future__ import annotations

import time
from collections import Counter

from fastapi import Request
from nicegui import ui

from engine import Conductor, EngineError, Status
from engine.errors import UnknownRun
from engine.records import RunId, RunInfo, RunQuery
from ui.app.backend import Backend
from ui.formatting.steps import time_of_day
from ui.formatting.values import count
from ui.web.components.elements import batch_updates
from ui.web.components.theme import button, empty_state, frame, page_head
from ui.web.components.widgets import Box, CachedElement, Text, set_attributes, set_class
from ui.web.pages.run.wall.run import HEADER_INTERVAL, WallPane, WallRun
from ui.web.replay.live import Follower
from ui.web.replay.pace import BATCH_SECONDS, Pace
from ui.web.routing import serve_page, show_address

MAX_PANES = 12
"""Maximum number of panes."""
LIVE = RunQuery(status=(Status.RUNNING, Status.WAITING), limit=30)
POLL_SECONDS = 2.0
"""Polling interval in seconds, for new runs and for followed runs that report nothing."""


def register(backend: Backend) -> None:
    """Serve `/wall`, with the picked runs in the address (`?runs=a,b`); by default all live runs."""

    @serve_page('/wall', 'Agents side by side')
    async def page(request: Request) -> None:
        with frame(wide=True, of_runs=True), Box('wall-page'):
            page_head('Agents side by side', back=('/runs', 'Runs'))
            names = request.query_params.get('runs', '')
            wall = Wall(backend(), picked=tuple(filter(None, names.split(','))))
            ui.context.client.on_delete(wall.close)
            await wall.load()


class Wall:
    """The panes of the selected runs. Panes keep their place: new ones are appended.

    Args:
        conductor: gives access to the runs.
        picked: their ids; empty means all live runs.
    """

    def __init__(self, conductor: Conductor, picked: tuple[str, ...] = ()) -> None:
        self._conductor, self._picked = conductor, set(picked)
        self._runs: dict[RunId, WallRun] = {}
        self._infos: dict[RunId, RunInfo] = {}
        self._large: WallPane | None = None
        self._pace = Pace(idle=POLL_SECONDS)
        self._closed = False
        self._row = CachedElement('wall-runs', role='group', aria_label='Runs shown', data_redrawn=True)
        self._status = Text('p', '', 'muted small wall-status', role='status')
        self._lines = Box('wall-lines')
        self._grid = Box('wall', 'ul')
        with Box() as self._none:
            empty_state('hourglass_empty', 'No agents are working. Start a run to see its agents here.')
        self._none.set_visibility(False)

    async def load(self) -> None:
        """Load the runs and start polling."""
        await self._refresh_runs()
        ui.timer(0, self._update_when_due, immediate=False)
        ui.timer(1.0, self._tick, immediate=False)
        ui.timer(POLL_SECONDS, self._refresh_runs, immediate=False)

    def close(self) -> None:
        """Stop following all runs."""
        self._closed = True
        for run in self._runs.values():
            run.stop()

    async def _refresh_runs(self) -> None:
        try:
            live = {info.id: info for info in (await self._conductor.runs(LIVE)).runs}
        except EngineError:
            return  # the list of runs reports it
        for run in [run for run, followed in self._runs.items() if followed.has_ended and not followed.panes]:
            self._runs.pop(run).close()
        for run, followed in list(self._runs.items()):
            try:
                info = live.get(run) or await self._conductor.info(run)
            except UnknownRun:
                info = None
            except EngineError:
                continue  # the list of runs reports it
            if info is None or info.deleted:
                self._runs.pop(run).close()
            else:
                followed.rename(info)
        self._infos = {**{run: followed.info for run, followed in self._runs.items()}, **live}
        for info in self._infos.values():
            if self._is_picked(info.id) and info.id not in self._runs and not self._closed:
                shape = await self._conductor.shape(info.id)
                follower = Follower(self._conductor, info, shape, self._pace)
                self._runs[info.id] = WallRun(
                    self._conductor, info, follower, (self._lines, self._grid), self._enlarge
                )
        self._draw_runs()

    def _is_picked(self, run: RunId) -> bool:
        return not self._picked or run in self._picked

    def _draw_runs(self) -> None:
        infos = self._infos.values()
        titles = Counter(info.title for info in infos)
        drawn = [
            (
                info.id,
                info.title or info.id,
                time_of_day(info.created) if titles[info.title] > 1 else '',
                self._is_picked(info.id),
            )
            for info in infos
        ]
        if not self._row.clear_if_changed(drawn):
            return
        with self._row:
            for run, title, started, on in drawn:
                toggle = button(title, icon='check' if on else 'add', kind=f'small {"" if on else "quiet"}')
                if started:  # tells runs of one title apart
                    with toggle:
                        Text('span', started, 'wall-started num')
                set_attributes(toggle, aria_pressed=str(on).lower(), title=f'{title} {started}'.rstrip())
                toggle.on('click', lambda run=run: self._toggle_run(run))

    async def _toggle_run(self, run: RunId) -> None:
        """Show a run, or remove it from the wall."""
        if not self._picked:
            self._picked = set(self._infos)
        self._picked ^= {run}
        if run in self._runs:
            self._runs.pop(run).close()
        if not self._picked:
            self._picked = {''}  # none: an empty set would mean all
        named = ','.join(sorted(self._picked - {''}))
        show_address(f'/wall?runs={named}')
        await self._refresh_runs()
        self._pace.notify()

    async def _update_when_due(self) -> None:
        await self._pace.wait()
        self._update()

    def _update(self) -> None:
        with batch_updates():
            has_updates = self._show_updates()
            more = any(run.count_missing() for run in self._runs.values()) and self._make_room()
            if more:  # at once: a wall with a gap would say that agents are missing
                self._show_updates()
        outdated = any(run.is_outdated for run in self._runs.values())
        self._pace.record_refresh(
            has_updates=has_updates,
            within=BATCH_SECONDS if more else HEADER_INTERVAL if outdated else POLL_SECONDS,
        )
        if self._large is not None and self._large.root.is_deleted:
            self._enlarge(self._large)
        panes = sum(len(run.panes) for run in self._runs.values())
        self._none.set_visibility(not panes)
        waiting = sum(run.waiting for run in self._runs.values())
        missing = sum(run.count_missing() for run in self._runs.values())
        words = [
            f'{panes} of {count(panes + missing, "agent")}' if missing else count(panes, 'agent'),
            f'{waiting} waiting for you' if waiting else '',
            'hide a run to see the others' if missing else '',
        ]
        self._status.show(' · '.join(filter(None, words)) if panes else '')

    def _show_updates(self) -> bool:
        """Show what is new in all runs; return whether anything is."""
        has_updates = False
        for run in list(self._runs.values()):
            has_updates |= run.show_updates(
                MAX_PANES - sum(len(other.panes) for other in self._runs.values())
            )
        return has_updates

    def _make_room(self) -> bool:
        """If the wall is full, remove a pane of an idle agent, of ended runs first."""
        runs = sorted(self._runs.values(), key=lambda run: not run.has_ended)
        taken = sum(len(run.panes) for run in runs)
        return taken >= MAX_PANES and any(run.make_room() for run in runs)

    def _tick(self) -> None:
        now = time.time()
        for run in self._runs.values():
            run.tick(now)

    def _enlarge(self, pane: WallPane) -> None:
        """Enlarge a pane, or restore its size."""
        before, self._large = self._large, None if pane is self._large else pane
        if before is not None and not before.root.is_deleted:
            before.enlarge(False)
        if self._large is not None:
            self._large.enlarge(True)
        set_class(self._grid, 'one', on=self._large)
