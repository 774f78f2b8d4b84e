"""The head of an experiment's page: its name, state and controls, and how far it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import EngineError
from engine.operations.experiments import Experiment
from ui.app.backend import Backend
from ui.formatting.experiments.table import CellTable
from ui.formatting.experiments.words import STATES, progress_words, size_words, spent_words
from ui.formatting.steps import author_text
from ui.formatting.values import ago, as_sentence, exact, moment_text
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import confirm, notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text, text_link
from ui.web.pages.shared.to_mark import has_people, mark_path
from ui.web.permission import is_permitted, refusal
from ui.web.routing import with_query

MAX_RUNNING = 8
"""Maximum number of runs under way that are named."""


class ExperimentHead:
    """Name, state and controls, redrawn when the state changes."""

    def __init__(
        self, backend: Backend, experiment: Experiment, *, on_change: Callable[[], Awaitable[None]]
    ) -> None:
        """Draw it; `on_change` is awaited after each action."""
        self._backend, self._experiment, self._on_change = backend, experiment, on_change
        pattern = backend().catalog.patterns.get(experiment.base.pattern)
        self._pattern = pattern.title if pattern else experiment.base.pattern
        with Box('hero'):
            text_link('/experiments', '← Experiments', 'small back')
            with Box('experiment-head'):
                Text('h1', experiment.name, dir='auto')
                self._state = CachedElement('ghost', data_redrawn=True)
                Box('grow', 'span')
                self._controls = CachedElement('experiment-controls', data_redrawn=True)
            self._about = Text('span', '', 'muted small')
            self._scheduled = Box('chips')
        self.show(experiment)
        if not refusal('schedules.list'):
            create_page_task(self._scheduled, self._find_schedules(), 'schedules of an experiment')

    def show(self, experiment: Experiment) -> None:
        """Show the state, and the controls that fit it."""
        self._experiment = experiment
        key = (experiment.state, experiment.reason)
        if self._state.clear_if_changed(key):
            word, kind = STATES[experiment.state]
            with self._state:
                Text('span', word, f'pill {kind}')
                if experiment.reason:
                    Text('span', as_sentence(experiment.reason), 'muted small')
        if self._controls.clear_if_changed(experiment.state):
            with self._controls:
                self._draw_controls()
        by = author_text(experiment.author)
        started = ago(experiment.created, self._backend().clock.now())
        self._about.show(' · '.join(filter(None, [self._pattern, f'started {started}', by])))
        self._about.props['title'] = exact(experiment.created)

    def _draw_controls(self) -> None:
        experiments, id = self._backend().experiments, self._experiment.id
        if self._experiment.state == 'running':
            self._draw_action('Pause', 'pause', 'pause', lambda: experiments.pause(id))
        if self._experiment.state in ('paused', 'failed'):
            self._draw_action('Resume', 'play_arrow', 'resume', lambda: experiments.resume(id), 'primary')
        if has_people(self._experiment):
            text_link(mark_path(id), 'Mark answers', 'btn', icon='edit_note')
        text_link(f'/experiments/{id}/export', 'Export', 'btn', icon='ios_share', download=True)
        if not self._experiment.is_over:
            self._draw_action('Cancel', 'stop_circle', 'cancel', self._cancel)
            return
        if is_permitted('experiments.add'):
            text_link(with_query('/experiments/new', after=id), 'Run again', 'btn', icon='restart_alt')
        if is_permitted('schedules.add'):
            text_link(with_query('/schedules', experiment=id), 'Schedule', 'btn', icon='schedule')
        self._draw_action('Score again', 'fact_check', 'rescore', lambda: experiments.rescore(id))
        self._draw_action('Delete', 'delete', 'remove', self._remove)

    async def _find_schedules(self) -> None:
        """Show the schedules that start this experiment, with their next times."""
        try:
            schedules = await self._backend.services.schedules.list()
        except EngineError:
            return  # their page says why
        own = _identity(self._experiment)
        with self._scheduled:
            for item in schedules:
                if item.experiment is None or _identity(item.experiment) != own:
                    continue
                zone = item.spec.time_zone
                due = [moment_text(moment, zone, seconds=False) for moment in item.next_times[:1]]
                when = 'paused' if item.paused else f'next {due[0]}' if due else 'never due again'
                text_link('/schedules', f'Scheduled: {item.name}, {when}', 'chip', icon='schedule')

    def _draw_action(
        self, text: str, icon: str, operation: str, act: Callable[[], Awaitable[object]], kind: str = ''
    ) -> None:
        async def perform() -> None:
            await notify_errors(act())
            await self._on_change()

        button(text, icon=icon, kind=kind, requires=f'experiments.{operation}').on('click', perform)

    async def _cancel(self) -> None:
        text = 'Runs under way are cancelled, and no more start. What has ended stays, with its scores.'
        if await confirm('Cancel this experiment?', text, yes='Cancel experiment', no='Keep running'):
            await self._backend().experiments.cancel(self._experiment.id)

    async def _remove(self) -> None:
        text = 'Its scores and marks are removed. Its runs stay in the list of runs.'
        if await confirm('Delete this experiment?', text, yes='Delete experiment', no='Keep it'):
            await self._backend().experiments.remove(self._experiment.id)
            ui.navigate.to('/experiments')


def _identity(experiment: Experiment) -> tuple[str, str, str]:
    """Return what a schedule's experiments share."""
    return experiment.name, experiment.dataset, experiment.base.pattern


class Progress:
    """How far an experiment is while it runs, with links to the runs under way."""

    def __init__(self) -> None:
        """Draw it empty."""
        with Box('card progress', role='status') as self._card:
            with Box('progress-bar', aria_hidden='true') as self._bar:
                self._parts = {kind: Box(kind, 'i') for kind in ('ended', 'failed', 'running')}
            self._words = Text('b', '', 'num')
            self._spent = Text('span', '', 'muted small num')
            self._running = CachedElement('progress-runs', data_redrawn=True)

    def show(self, experiment: Experiment, table: CellTable, planned: int) -> None:
        """Show how many runs have ended, what they have used, and those under way."""
        self._card.set_visibility(not experiment.is_over)
        if experiment.is_over:
            return
        failed = sum(line.has_failed for line in table.runs())
        ended = sum(line.state != 'running' for line in table.runs()) - failed
        for kind, number in (('ended', ended), ('failed', failed), ('running', len(table.running))):
            self._parts[kind].style(f'--share: {number / planned if planned else 0:.4f}')
        size = size_words(
            planned // (len(experiment.variants) * experiment.repeats),
            len(experiment.variants),
            experiment.repeats,
        )
        self._words.show(f'{progress_words(table, planned)} ({size})')
        self._spent.show(spent_words(table, experiment))
        shown = [*table.running.values()][:MAX_RUNNING]
        if self._running.clear_if_changed([cell.id for cell in shown]):
            with self._running:
                for cell in shown:
                    repeat = f' · {cell.repeat}' if experiment.repeats > 1 else ''
                    text_link(f'/runs/{cell.run}', f'{cell.case} · {cell.variant}{repeat}', 'chip live')
