"""The simulator below its header: the diagram, what may come, the steps, memory and parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import app, ui
from nicegui.events import KeyEventArguments

from engine import Conductor, EngineError, Pattern, Status
from engine.models import write_stubs
from engine.models.scripted import draft_stub
from engine.operations.rehearsal import rehearse
from engine.operations.rehearsal.simulator import Moment, Simulator
from engine.records import Launch, RunQuery, StatePath
from ui.app.backend import Backend
from ui.formatting.steps import path_text
from ui.formatting.values import capitalize
from ui.web.components.dialogs import notify_errors
from ui.web.components.elements import JsonTree
from ui.web.components.forms.form import Form
from ui.web.components.tabs import Tabs
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes
from ui.web.pages.launch.simulator.chart import WalkChart
from ui.web.pages.launch.simulator.choices import ChoicePanel
from ui.web.pages.launch.simulator.guards import GuardList
from ui.web.pages.launch.simulator.wording import event_text, moment_text
from ui.web.pages.shared.launching.samples import Starter, samples

PARAMETERS = 'Parameters'


class SimulatorView:
    """The page below its header."""

    def __init__(self, backend: Backend, pattern: type[Pattern]) -> None:
        """Draw it without a walk; `load` begins one."""
        self._backend, self._pattern = backend, pattern
        self._simulator: Simulator | None = None
        self._guards: GuardList | None = None
        self._results: Mapping[StatePath, Mapping[str, Any]] = {}
        self._starter = Starter(backend)
        with Box('walk'):
            with Box('walk-side'):
                self._chart = WalkChart(pattern.title, self._walk_to)
                with Box('panel walk-record', 'section', aria_label='Walk'):
                    self._tabs = Tabs('Steps, memory or parameters', on_change=self._show_memory)
                    with self._tabs.panel('Steps'):
                        self._steps = Box('walk-steps', 'ol')
                    with self._tabs.panel('Memory'):
                        self._memory = JsonTree({})
                    with self._tabs.panel(PARAMETERS):
                        self._form = Form(pattern.Parameters, on_change=lambda: None)
                        button('Start again', icon='replay').on('click', self._restart)
                    with self._tabs.aside:
                        self._back = button('', icon='arrow_back', kind='quiet small', label='Back (←)')
                        self._forward = button(
                            '', icon='arrow_forward', kind='quiet small', label='Forward (→)'
                        )
                        self._save = button('Save stubs', icon='download', kind='quiet small walk-save')
                        set_attributes(self._save, aria_label='Save stubs')
            self._next = ChoicePanel(self._show, self._run)
        self._back.on('click', lambda: self._go(-1))
        self._forward.on('click', lambda: self._go(1))
        self._save.on('click', self._download)
        ui.keyboard(on_key=self._on_key, ignore=['input', 'select', 'textarea'])

    async def load(self) -> None:
        """Begin a walk, with the draft of the launch form or the first sample."""
        key = ' '.join(filter(None, ('drafts', self._backend.caller.name)))
        draft = app.storage.user.get(key, {}).get(self._pattern.name, {}).get('form')
        offered = samples(self._pattern)
        if draft:
            self._form.fill(draft)
        if offered and (not draft or self._form.parse()[0] is None):
            self._form.set_values(offered[0].parameters)
        self._results = await recorded_results(self._backend(), self._pattern.name)
        await self._restart()

    async def _restart(self) -> None:
        """Begin again with the parameters of the form."""
        parameters = self._form.submit()
        self._simulator = None
        if parameters is not None:
            tools = self._backend().catalog.tools
            try:
                self._simulator = Simulator(
                    self._pattern(parameters),
                    approval=[name for name, tool in tools.items() if tool.approval],
                    draft=draft_stub,
                    results=self._results,
                    now=self._backend().clock.now(),
                )
            except EngineError as error:
                ui.notify(f'The walk cannot begin: {error}', type='negative')
        self._guards = GuardList(self._simulator) if self._simulator else None
        self._next.use(self._simulator, self._guards)
        tab = 'Steps' if self._simulator else PARAMETERS
        if self._tabs.shown != tab:
            self._tabs.open(tab)
        await self._show()

    async def _show(self) -> None:
        """Show the present moment everywhere."""
        simulator = self._simulator
        self._next.show()
        self._steps.clear()
        _set_enabled(self._back, simulator and simulator.at > 0)
        _set_enabled(self._forward, simulator and simulator.at + 1 < len(simulator.moments))
        _set_enabled(self._save, simulator and simulator.stubs())
        if simulator is None:
            return
        with self._steps:
            for number, moment in enumerate(simulator.moments):
                self._draw_step(number, moment, simulator)
        self._show_memory()
        await self._chart.show(simulator)

    def _draw_step(self, number: int, moment: Moment, simulator: Simulator) -> None:
        here = number == simulator.at
        with Box(f'walk-step {"ahead" if number > simulator.at else ""}', 'li'):
            row = Box('walk-row', 'button', type='button', **({'aria_current': 'step'} if here else {}))
            row.on('click', partial(self._go_to, number))
            with row:
                Text('span', event_text(moment.event, simulator.shape))
                Text('span', moment_text(moment, simulator.shape), 'muted small')
            if here and number and self._guards:
                self._guards.draw(moment, simulator.moments[number - 1].document)
            for problem in moment.problems if here else ():
                Text('p', f'A run would fail here: {problem}', 'problem')

    def _show_memory(self) -> None:
        if self._simulator and self._tabs.shown == 'Memory':
            moment = self._simulator.moment
            changed = [change.path for step in moment.microsteps for change in step.changes]
            self._memory.show(dict(moment.document), changed, {})

    async def _go(self, steps: int) -> None:
        if self._simulator:
            await self._go_to(self._simulator.at + steps)

    async def _go_to(self, number: int) -> None:
        if self._simulator and self._simulator.go(number):
            await self._show()

    async def _walk_to(self, path: str) -> None:
        """Walk a short way to a state, as a rehearsal finds it."""
        simulator = self._simulator
        if simulator is None:
            return
        rehearsal = await asyncio.to_thread(rehearse, simulator.pattern)
        events = next((state.events for state in rehearsal.states if state.path == path), ())
        if not events:
            ui.notify(f'No way to {path_text(path)} was found.')
            return
        simulator.load(events)
        ui.notify(f'{capitalize(path_text(path))}: a short way there. Guards were assumed to allow it.')
        await self._show()

    def _download(self) -> None:
        if self._simulator and (stubs := self._simulator.stubs()):
            ui.download.content(write_stubs(stubs).encode(), f'{self._pattern.name}.stubs.yaml')

    async def _run(self) -> None:
        """Start a run with the stubs of the walk, and open it."""
        if self._simulator:
            parameters = self._simulator.pattern.parameters.model_dump(mode='json')
            stubs = {agent: tuple(turns) for agent, turns in self._simulator.stubs().items()}
            launch = Launch(
                pattern=self._pattern.name, version=self._pattern.version, parameters=parameters, stubs=stubs
            )
            await notify_errors(self._starter.start(launch))

    async def _on_key(self, event: KeyEventArguments) -> None:
        modifiers = event.modifiers
        if not event.action.keydown or modifiers.ctrl or modifiers.alt or modifiers.meta or modifiers.shift:
            return
        if steps := {'ArrowLeft': -1, 'ArrowRight': 1}.get(str(event.key.name), 0):
            await self._go(steps)


async def recorded_results(conductor: Conductor, pattern: str) -> dict[StatePath, Mapping[str, Any]]:
    """Return what work gave in the newest run of a pattern that is done, by state; nothing without one."""
    try:
        page = await conductor.runs(RunQuery(pattern=pattern, status=(Status.DONE,), limit=1))
        steps = [step for info in page.runs for step in await conductor.transitions(info.id)]
    except EngineError:
        return {}
    ends = [step.event for step in steps if step.event.name == 'done' and not step.raised]
    return {event.at: event.data for event in ends}


def _set_enabled(element: Box, enabled: object) -> None:
    if enabled:
        element.props(remove='disabled')
    else:
        element.props('disabled')
