"""The workers of a fleet: their runs, the runs that wait for one and why, and draining."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from engine import EngineError
from engine.operations import Role
from engine.records import RunId
from ui.app.access.caller import IDENTITY
from ui.app.backend import Backend
from ui.app.fleet import FleetView, WaitingRun, WorkerInfo
from ui.formatting.values import as_sentence, count
from ui.web.components.dialogs import confirm
from ui.web.components.theme import button, empty_state, frame, page_head, text_notice
from ui.web.components.widgets import CachedElement, Text, set_attributes, text_link
from ui.web.pages.shared.account_parts import moment, table
from ui.web.permission import require
from ui.web.routing import serve_page

WORKERS = '/workers'
POLL_SECONDS = 2.0
"""Polling interval in seconds."""
DRAIN = 'fleet.drain'
MAX_RUNS = 12
"""Maximum number of runs named for each worker."""
START = 'hemicycle worker serve --temporal HOST:PORT --database postgresql://…'
ALONE = 'This server executes its runs itself. With --temporal, workers do, and this page lists them.'


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page(WORKERS, 'Workers', offered=lambda: backend.fleet is not None)
    async def workers() -> None:
        with frame():
            page_head('Workers', 'Processes that execute runs, and runs that are waiting for one.')
            if backend.fleet is None:
                empty_state('schedule', ALONE)
                return
            page = Workers(backend, backend.fleet)
        await page.refresh()
        ui.timer(POLL_SECONDS, page.refresh, immediate=False)


class Workers:
    """The lists of workers and of waiting runs, redrawn only when they change.

    Args:
        backend: identifies the caller.
        fleet: the fleet to show.
    """

    def __init__(self, backend: Backend, fleet: FleetView) -> None:
        self._backend, self._fleet = backend, fleet
        self._titles: dict[RunId, str] = {}
        """Titles of runs; '' for a private run that the caller may not see."""
        self._place = CachedElement('workers', data_redrawn=True)

    async def refresh(self) -> None:
        """Refresh both lists."""
        try:
            workers, waiting = await self._fleet.workers(), await self._fleet.waiting()
        except EngineError as error:
            problem = str(error)
            self._show(problem, lambda: _draw_problem(problem))
            return
        caller = self._backend.caller
        seen = [run for run in waiting if caller.role is Role.ADMIN or caller.can_see(run.info)]
        for run in {
            driven.run for worker in workers for driven in worker.runs[:MAX_RUNS]
        } - self._titles.keys():
            self._titles[run] = await self._read_title(run)
        now = self._backend().clock.now()
        times = [moment(worker.started, now) for worker in workers]  # these change as time passes
        self._show((workers, seen, times), lambda: self._draw(workers, seen, times))

    async def _read_title(self, run: RunId) -> str:
        try:
            return (await self._backend().info(run)).title or run
        except EngineError:
            return ''

    def _show(self, state: object, draw: Callable[[], None]) -> None:
        if self._place.clear_if_changed(state):
            with self._place:
                draw()

    def _draw(self, workers: list[WorkerInfo], waiting: list[WaitingRun], times: list[str]) -> None:
        if workers:
            columns = ('Worker', 'Started', 'Load', 'Runs', 'Accepts', 'Version', '')
            with table(columns, 'Workers') as drawn:
                for worker, since in zip(workers, times, strict=True):
                    room = f'{len(worker.runs)} of {worker.at_once}' if worker.at_once else '—'
                    with drawn.row(worker.name, since if worker.started else 'unknown', room):
                        with drawn.cell():
                            self._draw_runs(worker)
                        with drawn.cell():
                            if not worker.problem:
                                _draw_service(worker)
                        drawn.cell(worker.program)
                        with drawn.actions():
                            self._draw_drain(worker)
        else:
            empty_state('schedule', 'No workers. Runs wait until one connects.')
            Text('code', START, 'mono')
        Text('h2', 'Waiting for a worker')
        if not waiting:
            Text('p', 'No runs are waiting.', 'muted')
            return
        with table(('Run', 'Pattern', 'Reason'), 'Waiting for a worker') as drawn:
            for run in waiting:
                with drawn.row():
                    with drawn.cell():
                        text_link(f'/runs/{run.info.id}', run.info.title or run.info.id)
                    drawn.cell(run.info.pattern)
                    drawn.cell(as_sentence(run.reason))

    def _draw_runs(self, worker: WorkerInfo) -> None:
        if worker.problem:
            Text('p', as_sentence(worker.problem), 'problem')
        named = [driven for driven in worker.runs[:MAX_RUNS] if self._titles[driven.run]]
        for driven in named:
            text_link(
                f'/runs/{driven.run}',
                self._titles[driven.run],
                'worker-run',
                title=f'{driven.pattern}, run {driven.run}',
            )
        if others := len(worker.runs) - len(named):
            Text('span', f'and {others} more' if named else count(others, 'run'), 'muted')

    def _draw_drain(self, worker: WorkerInfo) -> None:
        if worker.draining:
            Text('span', 'Draining', 'muted')
        elif not worker.problem:
            drain = button('Drain…', kind='small').on('click', lambda: self._drain(worker.name))
            set_attributes(drain, aria_label=f'Drain {worker.name}…')
            require(drain, DRAIN)

    async def _drain(self, name: str) -> None:
        text = 'It hands over its runs, accepts no more, and exits.'
        if not await confirm(f'Drain {name}?', text, yes='Drain', no='Cancel'):
            return
        identity = IDENTITY.get() if self._backend.access else None
        refused = ''
        try:
            if identity:
                (await identity.check()).require(Role.ADMIN, DRAIN)
            await self._fleet.drain(name)
        except EngineError as error:
            refused = str(error)
            ui.notify(refused, type='negative', multi_line=True, close_button='Close')
        else:
            ui.notify(f'{name} is handing over its runs.')
        if self._backend.access and identity:
            audit = self._backend.access.audit
            await audit.write(identity.last_caller, DRAIN, details={'worker': name}, refused=refused)
        await self.refresh()


def _draw_service(worker: WorkerInfo) -> None:
    """Draw which runs it accepts: labels and patterns, with their versions in a tooltip."""
    for name in worker.labels:
        Text('span', name, 'chip')
    versions = '\n'.join(f'{name} {", ".join(each)}' for name, each in sorted(worker.patterns.items()))
    patterns = list(worker.patterns)
    service = patterns[0] if len(patterns) == 1 else count(len(patterns), 'pattern')
    Text('span', service, 'muted', title=versions)


def _draw_problem(problem: str) -> None:
    text_notice(
        'fail', 'block', f'{problem}. Active runs continue; no others are placed until Temporal answers.'
    )
