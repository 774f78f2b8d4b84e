"""Variants: forks started together, side by side, optionally blind until a winner is picked."""

from __future__ import annotations

import random

from nicegui import ui

from engine import EngineError
from engine.errors import UnknownRun
from engine.records import RunId, RunInfo, RunQuery
from ui.app.backend import Backend
from ui.formatting.values import count
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import notify_errors
from ui.web.components.theme import empty_state, frame
from ui.web.components.widgets import Box, Text, link, text_link
from ui.web.pages.fork.form import MAX_VARIANTS, NAMES
from ui.web.pages.fork.variant_pane import VariantPane
from ui.web.pages.shared import errors
from ui.web.permission import is_permitted
from ui.web.replay.live import Follower
from ui.web.replay.pace import Pace
from ui.web.routing import experiment_path, serve_page

WINNER = 'winner'
CLOCK = 1.0
"""Polling interval for idle runs in seconds, so that their clocks keep ticking."""


def register(backend: Backend) -> None:
    """Serve `/variants/{group}`; `?blind=1` hides which is which."""

    @serve_page('/variants/{group}')
    async def page(group: str, blind: str = '') -> None:
        try:
            runs = (await backend().runs(RunQuery(tag=group, limit=2 * MAX_VARIANTS))).runs
            with frame('Variants', wide=True, of_runs=True):
                members = [run for run in reversed(runs) if run.options.get('group') == group]
                await VariantBoard(backend, group, members).draw(blind=bool(blind))
        except EngineError as error:
            errors.read_error(error)


class VariantBoard:
    """The panes and their header."""

    def __init__(self, backend: Backend, group: str, runs: list[RunInfo]) -> None:
        self._backend, self._group, self._runs = backend, group, runs
        self._panes: list[VariantPane] = []
        self._pace = Pace(idle=CLOCK)

    async def draw(self, *, blind: bool) -> None:
        """Draw the board and follow the runs."""
        with Box('variants-head'):
            Text('h1', count(len(self._runs), 'variant') if self._runs else 'Variants')
            if self._runs and (parent := self._runs[0].parent):
                with link(f'/runs/{parent}?at={self._runs[0].parent_at}', 'chip'):
                    ui.icon('call_split', size='15px')
                    ui.label(f'from {parent} at {self._runs[0].parent_at}')
                text_link(f'/runs/{self._runs[0].id}/family', 'Fork tree', 'small')
            Box('grow', 'span')
            if self._runs and is_permitted('experiments.add'):
                path = experiment_path(*(run.id for run in self._runs))
                text_link(path, 'Make this an experiment', 'btn small', icon='balance')
            self._blind = ui.checkbox('Blind', value=blind, on_change=self._show_identities)
            self._blind.tooltip(
                'Blind comparison: names are hidden and the order is random until you pick a winner'
            )
        self._place = Box('variants')
        if not self._runs:
            empty_state('call_split', 'These variants do not exist. They may have been deleted.')
            return
        await self._fill()
        ui.timer(0, self._poll_when_due)

    async def _fill(self) -> None:
        # The same order for everybody who opens this group, without revealing which is which.
        order = random.Random(self._group).sample(range(len(self._runs)), len(self._runs))
        letters = {self._runs[place].id: NAMES[n % MAX_VARIANTS] for n, place in enumerate(order)}
        conductor = self._backend()
        parent = await self._parent()
        with self._place:
            for run in self._runs:
                shape = await conductor.shape(run.id)
                name = f'Variant {letters[run.id]}'
                follower = Follower(conductor, run, shape, self._pace)
                pane = VariantPane(conductor, run, follower, name, on_win=self._pick_winner)
                self._panes.append(pane)
                create_page_task(self._place, follower.follow(), f'follow {run.id}')
        for pane in self._panes:
            await pane.load(parent)
        self._letters = letters
        self._show_identities()

    async def _parent(self) -> RunInfo | None:
        try:
            return await self._backend().info(self._runs[0].parent or RunId(''))
        except UnknownRun:
            return None

    def _show_identities(self) -> None:
        blind = bool(self._blind.value)
        for pane in self._panes:
            letter = self._letters[pane.info.id]
            pane.show_identity(blind=blind, winner=WINNER in pane.info.tags)
            pane.root.style(f'order: {NAMES.index(letter) if blind else 0}')

    async def _poll_when_due(self) -> None:
        await self._pace.wait()
        self._pace.record_refresh(has_updates=any([pane.poll() for pane in self._panes]))

    async def _pick_winner(self, info: RunInfo) -> None:
        marked = await notify_errors(self._mark_winner(info))
        if marked is None:
            return
        for pane, updated in zip(self._panes, marked, strict=True):
            pane.info = updated
        self._blind.set_value(False)
        self._show_identities()
        ui.notify(f'{info.title} is the winner and is now tagged “winner”.', type='positive')

    async def _mark_winner(self, info: RunInfo) -> list[RunInfo]:
        await self._backend().mark_winner(info.id)
        return [await self._backend().info(pane.info.id) for pane in self._panes]
