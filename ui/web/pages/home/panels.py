"""Panels of the home page: open requests, models, coding agents, and starting the first run."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from engine.models.scripted import Sample
from engine.records import Shape
from ui.app.backend import Backend
from ui.formatting.values import as_sentence, count
from ui.web.components.debounce import create_page_task
from ui.web.components.diagram.fitting import Room, fit
from ui.web.components.elements import Diagram
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, text_link
from ui.web.pages.shared.attention import Attention, RequestList
from ui.web.pages.shared.connecting.dialog import TITLE, ConnectDialog
from ui.web.pages.shared.launching.samples import FIRST, Starter, samples
from ui.web.routing import launch_path

POLL_SECONDS = 1.0
ROOM: Room = (800, 130)
"""Width and height of the animated diagram in a window of 1440 pixels."""
STATE_SECONDS = 0.9
"""Seconds in each state of the animated diagram."""


class NeedsYou:
    """Requests that wait for a person, with buttons to answer them; hidden if there are none."""

    def __init__(self, attention: Attention) -> None:
        self._attention = attention
        with Box('section', 'section', aria_labelledby='waiting') as self._section:
            self._title = Text('h2', 'Needs you', id='waiting')
            with Box('card'):
                self._list = RequestList(self._attention, self._show_count)
        self._section.set_visibility(False)

    async def load(self) -> None:
        """Load the list and start polling."""
        await self._poll()
        ui.timer(POLL_SECONDS, self._poll, immediate=False)

    async def _poll(self) -> None:
        await self._attention.refresh()
        self._list.show()

    def _show_count(self, total: int) -> None:
        self._section.set_visibility(bool(total))
        self._title.show(f'Needs you ({total})')


class ModelsCard:
    """The card that shows where replies come from, with a button to connect a model."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        with Box('card home-card', 'section', aria_labelledby='home-models') as card:
            Text('h2', 'Models', id='home-models')
            self._summary = Text('p', '', 'muted')
            self._problems = Box('muted small', 'ul')
            connect = ConnectDialog(
                backend, lambda: create_page_task(card, self.load(), 'show the models that are connected')
            )
            connect_button = button(TITLE, icon='add', kind='small', requires='endpoints.save')
            connect_button.on('click', connect.open)

    async def load(self) -> None:
        """Show which endpoints are connected, and which do not work."""
        infos = await self._backend().endpoints.list()
        problems = {
            info.endpoint: problem
            for info in infos
            if (problem := info.problem or (info.tested.problem if info.tested else ''))
        }
        connected = [info.endpoint for info in infos if info.endpoint not in problems]
        self._summary.show(
            f'Connected: {", ".join(connected[:4])}.'
            if connected
            else 'Simulated: no key, no network, no cost.'
        )
        self._problems.clear()
        with self._problems:
            for info in infos:
                if info.endpoint in problems and info.found == 'file':
                    problem = problems[info.endpoint].removeprefix(f'{info.endpoint}: ')
                    Text('li', f'{info.endpoint} is unavailable. {as_sentence(problem)}')


def agents_card(backend: Backend) -> None:
    """Draw the card of installed coding agents, with the samples that use agents."""
    here = backend().catalog
    usable = [info.title for info in here.agents.infos() if not info.problem and not info.simulated]
    summary = f'Installed: {", ".join(usable)}.' if usable else 'None installed; a simulated one is included.'
    starter = Starter(backend)
    with Box('card home-card', 'section', aria_labelledby='home-agents'):
        Text('h2', 'Coding agents', id='home-agents')
        Text('p', f'Claude, Codex, Gemini, OpenCode and others can take any role. {summary}', 'muted')
        with Box('home-actions'):
            for name, pattern in here.patterns.items():
                for sample in samples(pattern):
                    if sample.models:
                        _play_button(starter, name, sample)
        text_link('/wall', 'Agents side by side', 'small')


def _play_button(
    starter: Starter, pattern: str, sample: Sample, title: str = '', kind: str = 'small'
) -> None:
    play = button(title or sample.title, icon='play_arrow', kind=kind, requires='start')
    play.tooltip(sample.about)
    play.on('click', lambda: starter.start_sample(pattern, sample))


def new_run_card(backend: Backend) -> ui.element:
    """Draw the pattern picker with its start buttons; return the card."""
    patterns = backend().catalog.patterns
    starter = Starter(backend)
    with Box('card home-card', 'section', aria_labelledby='home-new') as card:
        Text('h2', 'New run', id='home-new')
        titles = {
            name: pattern.title for name, pattern in sorted(patterns.items(), key=lambda item: item[1].title)
        }
        chosen = NativeSelect(titles, value=FIRST if FIRST in titles else next(iter(titles), ''))
        chosen.props('aria-label="Pattern"')
        with Box('home-actions'):
            button('Configure…', kind='small').on(
                'click', lambda: ui.navigate.to(launch_path(str(chosen.value)))
            )
            run = button('Run a sample', icon='play_arrow', kind='small primary', requires='start')

        async def start() -> None:
            if ready := samples(patterns[chosen.value]):
                await starter.start_sample(chosen.value, ready[0])
            else:
                ui.navigate.to(launch_path(str(chosen.value)))

        run.on('click', start)
    return card


class FirstRun:
    """For users without runs: an animated diagram of a pattern and a button to run its sample."""

    def __init__(self, backend: Backend) -> None:
        self._shape: Shape = backend().catalog.draw(FIRST)
        self._path = [
            state.path
            for state in self._shape.states
            if not state.parent and not (state.kind == 'final' and state.outcome != 'done')
        ]
        self._folded = frozenset(state.path for state in self._shape.states if state.role)
        self._room: Room = (0, 0)
        self._at = 0
        with Box('card first-run', 'section', aria_labelledby='first-run'):
            with Box('first-head'):
                with Box('grow'):
                    Text('h2', 'See it work', id='first-run')
                    agents = count(sum(bool(state.role) for state in self._shape.states), 'agent')
                    words = f'{agents.capitalize()} take turns; every step is recorded and can be replayed.'
                    Text('p', words, 'muted')
                ready = samples(backend().catalog.patterns[FIRST])
                if ready:
                    _play_button(Starter(backend), FIRST, ready[0], 'Run this sample', 'primary')
            self._drawing = Diagram(
                '', title=self._shape.title, label=f'State diagram of {self._shape.title}, moving'
            )
            self._drawing.on_resize(self._lay_out)

    async def load(self) -> None:
        """Draw the diagram and start the animation."""
        await self._lay_out(*ROOM)
        ui.timer(STATE_SECONDS, self._advance)

    async def _lay_out(self, width: int, height: int, _by_user: bool = False) -> None:
        """Draw the whole diagram, in the direction that fits best."""
        if (width, height) != self._room:
            self._room = (width, height)
            drawn, _ = await fit(self._shape, self._room, [self._folded])
            self._drawing.show(drawn)
            self._drawing.highlight(self._highlights())

    def _advance(self) -> None:
        self._at = (self._at + 1) % len(self._path)
        self._drawing.highlight(self._highlights())

    def _highlights(self) -> dict[str, Any]:
        return {'active': [self._path[self._at]], 'visited': self._path[: self._at]}
