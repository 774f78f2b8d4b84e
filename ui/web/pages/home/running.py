"""What is under way: experiments, and each other run with a line that says what its agents do."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from engine import EngineError, Status
from engine.operations.experiments import TAG, Experiment
from engine.records import RunInfo, RunQuery, Shape
from ui.app.backend import Backend
from ui.formatting.diagram.agents import agent_name
from ui.formatting.steps import duration
from ui.formatting.values import count
from ui.web.components.theme import pill
from ui.web.components.widgets import Box, Text, draw_changes, link, text_link
from ui.web.replay.story import Work, tell_work

POLL_SECONDS = 1.0
UNDER_WAY = RunQuery(status=(Status.RUNNING, Status.PAUSED), without_tag=TAG, limit=6)


class Running:
    """The runs that go on without a person, and those that are paused; hidden if there are none."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._drawn: dict[str, tuple[tuple[str, str, Status], ui.element]] = {}
        self._drawn_experiments: dict[str, tuple[Experiment, ui.element]] = {}
        self._lines: dict[str, tuple[Text, Text]] = {}
        """By run: the line that says what its agents do, and its step and time."""
        self._shapes: dict[str, Shape] = {}
        self._told: dict[str, int] = {}
        """By run: the step that its line tells of."""
        with Box('section', 'section', aria_labelledby='running') as self._section:
            with Box('section-head'):
                self._title = Text('h2', 'Running now', id='running')
                Box('grow')
                text_link('/wall', 'Agents side by side', 'small')
            with Box('card running-list'):
                self._experiments, self._list = Box(tag='ul'), Box(tag='ul')
        self._section.set_visibility(False)

    async def load(self) -> None:
        """Load the list and start polling."""
        await self._poll()
        ui.timer(POLL_SECONDS, self._poll, immediate=False)

    async def _poll(self) -> None:
        try:
            page = await self._backend().runs(UNDER_WAY)
            running = await self._backend().experiments.list(state='running')
        except EngineError:
            return  # the list of results reports it
        if self._section.is_deleted:
            return
        experiments = {item.id: item for item in running}
        self._section.set_visibility(bool(page.runs or experiments))
        self._title.show(f'Running now ({page.total + len(experiments)})')
        draw_changes(self._experiments, self._drawn_experiments, experiments, self._draw_experiment)
        titles = {str(info.id): (str(info.id), info.title or info.id, info.status) for info in page.runs}
        draw_changes(self._list, self._drawn, titles, self._draw)
        for known in (self._lines, self._shapes, self._told):
            for run in known.keys() - titles.keys():
                del known[run]
        now = self._backend().clock.now()
        for info in page.runs:
            if self._section.is_deleted:
                return
            self._lines[info.id][1].show(f'step {info.seq} · {duration(now - info.created)}')
            await self._tell(info)

    async def _tell(self, info: RunInfo) -> None:
        """Say what the agents of a run do, if it has moved since."""
        if self._told.get(info.id) == info.seq:
            return
        self._told[info.id] = info.seq
        try:
            shape = self._shapes.get(info.id) or await self._backend().shape(info.id)
            view = await self._backend().view(info.id)
        except EngineError:
            return  # deleted meanwhile, or unreadable: its page says why
        self._shapes[info.id] = shape
        if info.id in self._lines and not self._section.is_deleted:
            self._lines[info.id][0].show(live_line(tell_work(view, shape, partial(agent_name, shape))))

    def _draw_experiment(self, experiment: Experiment) -> ui.element:
        with Box(tag='li') as entry, link(f'/experiments/{experiment.id}', 'running-run'):
            Text('span', 'Experiment', 'pill running')
            with Box('running-words grow'):
                Text('b', experiment.name, dir='auto')
                Text('span', ', '.join(each.name for each in experiment.variants), 'muted small', dir='auto')
        return entry

    def _draw(self, drawn: tuple[str, str, Status]) -> ui.element:
        run, title, status = drawn
        with Box(tag='li') as entry, link(f'/runs/{run}', 'running-run'):
            pill(status)
            with Box('running-words grow'):
                Text('b', title, dir='auto')
                line = Text('span', '', 'muted small', dir='auto')
            self._lines[run] = line, Text('span', '', 'muted num small')
        self._told.pop(run, None)
        return entry


def live_line(work: list[Work]) -> str:
    """Return what the agents of a run do, on one line: the newest words of the one who began last."""
    if not work:
        return ''
    newest = max(work, key=lambda item: item.since)
    others = f' and {count(len(work) - 1, "other")}' if len(work) > 1 else ''
    return f'{newest.name}{others} · {newest.doing}{f": {newest.line}" if newest.line else ""}'
