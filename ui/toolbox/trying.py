"""Trying a tool by hand: a form of its arguments, the call, and what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import app, background_tasks, ui

from engine import EngineError, Scratch, Tool, Tried
from ui.door import Door
from ui.forms.form import Form
from ui.launch.launcher import RUN_KEYS
from ui.parts import Text, attach
from ui.presenters.words import count, size, took
from ui.theme import button, notice

CONFINED = ('files', 'commands', 'notes')
"""Categories whose side effects stay in the scratch folder."""
LISTED = 40
"""Files of the scratch folder that are shown."""


class Trying:
    """The form of one tool; a call runs as an agent's would, in a folder of the person's own."""

    def __init__(self, door: Door, tool: Tool, off: str = '') -> None:
        """Draw it; `off` says why it cannot be used here."""
        self._tool, self._task = tool, None
        self._scratch: Scratch = door.scratch(str(app.storage.browser['id']))
        with ui.element('div').classes('card trying') as box:
            Text('h2', 'Try it')
            if off:
                with notice('wait', 'block'):
                    Text('p', f'It cannot be used here: {off.rstrip(".")}.')
            self._say_what_it_does()
            self._form = Form(tool.arguments, on_change=lambda: None)
            with ui.element('div').classes('launch-actions'):
                self._run = button('Run the tool', icon='play_arrow', kind='primary')
                self._stop = button('Stop', icon='stop').props('disabled')
                self._clock = Text('span', '', 'muted small num')
                attach(self._clock, aria_live='off')
            with ui.element('section').classes('tried').props('aria-label="Result"') as self._result:
                Text('p', 'What comes back stands here.', 'muted')
            with ui.element('div').classes('scratch'):
                self._files = ui.element('div').classes('ghost')
        box.on('keydown', self.start, js_handler=RUN_KEYS)
        self._run.on('click', self.start)
        self._stop.on('click', self.stop)
        self._timer = ui.timer(1.0, self._tick, active=False, immediate=False)
        self._seconds = 0
        ui.context.client.on_delete(self.stop)

    _task: asyncio.Task[Any] | None

    async def load(self) -> None:
        """Show what is in the scratch folder."""
        await self._list()

    def _say_what_it_does(self) -> None:
        tool = self._tool
        if tool.approval:
            with notice('wait', 'front_hand'):
                Text('p', 'An agent has to ask a person before each call. Here your click is the permission.')
        if tool.side_effects and tool.category not in CONFINED:
            with notice('wait', 'warning'):
                Text('p', 'It changes something outside of Hemicycle, and a call made here is a real one.')
        elif tool.side_effects:
            Text('p', 'It changes files in a scratch folder of yours, and nothing else.', 'muted')
        else:
            Text('p', 'It runs as for an agent, with a scratch folder of yours.', 'muted')

    async def start(self) -> None:
        """Call the tool with what the form holds, or show what is wrong with that."""
        if self._task is not None:
            return
        arguments = self._form.given()
        if arguments is None:
            return
        self._busy(True)
        call = self._scratch.use(self._tool.name, arguments.model_dump(mode='json', exclude_none=True))
        self._task = background_tasks.create(call, name=f'try {self._tool.name}')
        await asyncio.wait({self._task})
        task, self._task = self._task, None
        if self._result.is_deleted:
            return
        self._busy(False)
        self._show(None if task.cancelled() else task.result())
        await self._list()

    def stop(self) -> None:
        """End the call, and what it has started."""
        if self._task is not None:
            self._task.cancel()

    def _busy(self, busy: bool) -> None:
        idle, other = (self._stop, self._run) if busy else (self._run, self._stop)
        idle.props(remove='disabled')
        other.props('disabled')
        self._seconds = 0
        self._clock.show(f'running, at most {self._tool.seconds:g} s' if busy else '')
        (self._timer.activate if busy else self._timer.deactivate)()

    def _tick(self) -> None:
        self._seconds += 1
        self._clock.show(f'running for {self._seconds} s, at most {self._tool.seconds:g} s')

    def _show(self, tried: Tried | None) -> None:
        self._result.clear()
        with self._result, ui.element('div').props('role="status"').classes('tried-head'):
            if tried is None:
                Text('span', 'Stopped', 'pill cancelled')
                return
            Text('span', *(('Done', 'pill done') if tried.ok else ('Refused', 'pill failed')))
            Text('span', took(tried.seconds), 'muted num')
            Text('span', count(len(tried.text), 'character'), 'muted num')
        with (
            self._result,
            ui.element('pre').classes('listing').props('tabindex="0" aria-label="What came back"'),
        ):
            Text('code', tried.text or '[nothing]')

    async def _list(self) -> None:
        try:
            entries = [entry for entry in await self._scratch.files() if entry.kind != 'a folder']
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
                    trouble
                    or 'Empty. It is shared by all tools that you try, and kept until the server stops.',
                    'muted small',
                )
                return
            with ui.element('ul').classes('scratch-files'):
                for entry in entries[:LISTED]:
                    with ui.element('li'):
                        Text('code', entry.path)
                        Text('span', size(entry.size), 'muted small num')
            if len(entries) > LISTED:
                Text('p', f'and {count(len(entries) - LISTED, "more file")}', 'muted small')
            button('Empty it', icon='delete', kind='quiet small').on('click', self._empty)

    async def _empty(self) -> None:
        await self._scratch.empty()
        await self._list()
