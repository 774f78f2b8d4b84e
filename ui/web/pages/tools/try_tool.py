"""Trying a tool by hand: a form for its arguments, the call, and the result."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import app, ui

from engine import EngineError
from engine.agents import ToolPlayground, ToolTrial
from engine.models import SCRIPTED
from engine.tools import Tool
from ui.app.backend import Backend
from ui.formatting.values import byte_size, count, short_duration
from ui.web.components.debounce import create_page_task
from ui.web.components.forms.fields import Field
from ui.web.components.forms.form import RUN_KEYS, Form
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text, set_attributes
from ui.web.pages.shared.launching.models import (
    SIMULATED,
    ModelControl,
    describe_cost,
    is_live,
    model_groups,
    model_problem,
)

CONFINED = ('files', 'commands', 'notes')
"""Categories whose side effects stay in the scratch folder."""
MODEL = Field(
    name='model',
    kind='model',
    title='Model',
    help='Model that answers the tool’s own requests, in the agent’s place: endpoint/model',
)
MAX_FILES = 40
"""Maximum number of files of the scratch folder that are listed."""


class TryTool:
    """The form of one tool; calls run as an agent's would, in a scratch folder per person."""

    def __init__(self, backend: Backend, tool: Tool, off: str = '') -> None:
        """Draw the form; `off` is why the tool cannot be used here, or ''."""
        self._tool, self._task, self._registry = tool, None, backend().catalog.registry
        self._playground: ToolPlayground = backend.playground(str(app.storage.browser['id']))
        with Box('card try-form') as box:
            Text('h2', 'Try it')
            if off:
                text_notice('info', 'block', f'Unavailable here: {off.rstrip(".")}.')
            self._draw_notices()
            self._form = Form(tool.arguments, on_change=lambda: None)
            self._model = self._draw_model() if 'model' in tool.needs else None
            with Box('launch-actions'):
                self._run = button('Run tool', icon='play_arrow', kind='primary', requires='tools.call')
                self._stop = button('Stop', icon='stop', disabled=True)
                self._clock = Text('span', '', 'muted small num', aria_live='off')
            with Box('try-result', 'section', aria_label='Result') as self._result:
                Text('p', 'The result appears here.', 'muted')
            with Box('scratch'):
                self._files = Box('ghost')
        box.on('keydown', self.start, js_handler=RUN_KEYS)
        self._run.on('click', self.start)
        self._stop.on('click', self.stop)
        self._timer = ui.timer(1.0, self._tick, active=False, immediate=False)
        self._seconds = 0

    _task: asyncio.Task[Any] | None

    async def load(self) -> None:
        """Show the scratch folder."""
        await self._list()
        if self._model:
            await self._offer_models(self._model)

    def _draw_notices(self) -> None:
        tool = self._tool
        if tool.approval:
            text_notice(
                'info', 'front_hand', 'Agents need approval for each call. Here, your click is the approval.'
            )
        if tool.side_effects and tool.category not in CONFINED:
            text_notice('info', 'warning', 'It has side effects outside Hemicycle: a call from here is real.')
        elif tool.side_effects:
            Text('p', 'It only changes files in your scratch folder.', 'muted')
        else:
            Text('p', 'It runs as it would for an agent, in your scratch folder.', 'muted')

    def _draw_model(self) -> ModelControl:
        control = ModelControl(MODEL, on_change=self._show_cost, on_blur=self._show_cost)
        set_attributes(control.box, placeholder=SCRIPTED)
        control.box.set_groups(model_groups(self._registry, busy=False), '')
        self._cost = Text('p', SIMULATED, 'muted small', role='status')
        return control

    def _show_cost(self) -> None:
        named = self._named_model()
        live = is_live(self._registry, named)
        self._cost.show(f'Live: {describe_cost(self._registry, [named])}' if live else SIMULATED)

    def _named_model(self) -> str:
        """Return the model to call; '' for a tool that calls none."""
        return (str(self._model.raw).strip() or SCRIPTED) if self._model else ''

    async def _offer_models(self, control: ModelControl) -> None:
        """Load the endpoints' lists of models."""
        await self._registry.refresh()
        if not control.box.is_deleted:
            control.box.set_groups(model_groups(self._registry, busy=False), '')

    async def start(self) -> None:
        """Call the tool with the form's arguments, or show problems."""
        if self._task is not None:
            return
        arguments = self._form.submit()
        model = self._named_model()
        problem = model_problem(self._registry, model) if model else ''
        if self._model:
            self._model.show_problem(problem, lenient=False)
        if arguments is None or problem:
            return
        self._show_busy(True)
        values = arguments.model_dump(mode='json', exclude_none=True)
        call = self._playground.call(self._tool.name, values, model=model)
        self._task = create_page_task(self._result, call, f'try {self._tool.name}')
        await asyncio.wait({self._task})
        task, self._task = self._task, None
        if self._result.is_deleted:
            return
        self._show_busy(False)
        self._show(None if task.cancelled() else task.result())
        await self._list()

    def stop(self) -> None:
        """Stop the call and its processes."""
        if self._task is not None:
            self._task.cancel()

    def _show_busy(self, busy: bool) -> None:
        idle, other = (self._stop, self._run) if busy else (self._run, self._stop)
        idle.props(remove='disabled')
        other.props('disabled')
        self._seconds = 0
        self._clock.show(f'running, at most {self._tool.seconds:g} s' if busy else '')
        (self._timer.activate if busy else self._timer.deactivate)()

    def _tick(self) -> None:
        self._seconds += 1
        self._clock.show(f'running for {self._seconds} s, at most {self._tool.seconds:g} s')

    def _show(self, tried: ToolTrial | None) -> None:
        self._result.clear()
        with self._result, Box('try-result-head', role='status'):
            if tried is None:
                Text('span', 'Stopped', 'pill cancelled')
                return
            Text('span', *(('Done', 'pill done') if tried.ok else ('Failed', 'pill failed')))
            Text('span', short_duration(tried.seconds), 'muted num')
            Text('span', count(len(tried.text), 'character'), 'muted num')
            if tried.usage.calls:
                Text('span', count(tried.usage.total, 'token'), 'muted num')
        with self._result, Box('listing', 'pre', tabindex='0', aria_label='Output'):
            Text('code', tried.text or '[nothing]')

    async def _list(self) -> None:
        try:
            entries = [entry for entry in await self._playground.files() if entry.kind != 'a folder']
        except EngineError as error:
            entries, trouble = [], str(error)
        else:
            trouble = ''
        if self._files.is_deleted:
            return
        self._files.clear()
        with self._files:
            Text('h3', 'Your scratch folder')
            if trouble or not entries:
                Text(
                    'p',
                    trouble or 'Empty. All tools you try share it; it is deleted when the server stops.',
                    'muted small',
                )
                return
            with Box('scratch-files', 'ul'):
                for entry in entries[:MAX_FILES]:
                    with Box(tag='li'):
                        Text('code', entry.path)
                        Text('span', byte_size(entry.size), 'muted small num')
            if len(entries) > MAX_FILES:
                Text('p', f'and {count(len(entries) - MAX_FILES, "more file")}', 'muted small')
            button('Empty folder', icon='delete', kind='quiet small').on('click', self._empty)

    async def _empty(self) -> None:
        await self._playground.reset()
        await self._list()
