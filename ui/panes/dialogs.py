"""The dialogs of the run page: cancel, fork, and what there is to know and to do besides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from nicegui import ui

from engine import Conductor, EngineError, RunInfo
from ui.dialogs import edit, framed, settled
from ui.marks import KINDS
from ui.parts import Text
from ui.replaying import recorded
from ui.theme import button

T = TypeVar('T')

KEYS = (
    ('←', 'One step back'),
    ('→', 'One step on'),
    ('Home', 'The first step'),
    ('End', 'The last step'),
    ('Space', 'Play what was recorded, or stop'),
    ('L', 'Back to the present'),
    *((sort.key.upper(), f'Next {sort.title}; with Shift the one before') for sort in KINDS.values()),
    ('M', 'Next change of the chosen part of memory; with Shift the one before'),
)
PRICES = {True: 'the scripted model, which costs nothing', False: 'its models, which may cost money'}
"""What a fork calls, by whether the run is simulated."""


class Dialogs:
    """Asks before it acts; nothing is lost by closing one."""

    def __init__(self, conductor: Conductor, info: RunInfo, renamed: Callable[[RunInfo], None]) -> None:
        self._conductor, self._info, self._renamed = conductor, info, renamed

    async def cancel(self) -> None:
        """Ask, then cancel the run."""
        with framed('Cancel this run?') as dialog:
            Text(
                'p', 'What is under way is stopped at once. The run stays in the list, with all it has done.'
            )
            reason = ui.input('Reason (optional)').props('outlined dense').classes('full')
            with ui.element('div').classes('dialog-actions'):
                _act(dialog, 'Keep it running', False)
                _act(dialog, 'Cancel the run', True, 'danger')
        if await settled(dialog):
            await told(self._conductor.cancel(self._info.id, str(reason.value or '')))

    async def fork(self, at: int) -> None:
        """Ask, then start a new run from step `at`."""
        with framed(f'Fork from step {at}?') as dialog:
            Text('p', f'A new run begins with the first {at} steps of this one and goes on from there.')
            Text('p', f'From there on it calls {PRICES[self._info.simulated]}. This run is not changed.')
            title = ui.input('Title', value=self._info.title).props('outlined dense').classes('full')
            paused = ui.checkbox('Start it paused')
            with ui.element('div').classes('dialog-actions'):
                _act(dialog, 'Not now', False)
                _act(dialog, 'Start the fork', True, 'primary')
        if await settled(dialog):
            fork = self._conductor.fork(self._info.id, at, title=str(title.value), paused=bool(paused.value))
            run = await told(fork)
            if run:
                ui.navigate.to(f'/runs/{run}')

    async def more(self) -> None:
        """The run's id and note, the audit, the keys."""
        with framed('About this run') as dialog:
            Text('p', f'Run {self._info.id}, seed {self._info.seed}', 'muted small mono')
            if self._info.note:
                Text('p', self._info.note)
            with ui.element('dl').classes('keys'):
                for key, meaning in KEYS:
                    with ui.element('dt'):
                        Text('kbd', key)
                    Text('dd', meaning)
            with ui.element('div').classes('dialog-actions'):
                _act(dialog, 'Close', '')
                _act(dialog, 'Check the record', 'audit')
                if self._info.pattern in self._conductor.catalog.patterns and recorded(self._info):
                    _act(dialog, 'Run again from its recording', 'replay')
                _act(dialog, 'Edit title, tags and note', 'edit')
        answer = await settled(dialog)
        if answer == 'audit':
            steps = await told(self._conductor.audit(self._info.id))
            if steps is not None:
                ui.notify(f'All {steps} steps are decided today as they were recorded.', type='positive')
        elif answer == 'replay':
            ui.navigate.to(f'/launch/{self._info.pattern}?replay={self._info.id}')
        elif answer == 'edit':
            await self._edit()

    async def _edit(self) -> None:
        said = await edit(self._info)
        if said is None:
            return
        info = await told(
            self._conductor.annotate(self._info.id, title=said.title, tags=said.tags, note=said.note)
        )
        if info:
            self._info = info
            self._renamed(info)


async def told(work: Awaitable[T]) -> T | None:
    """Await the work; where it is refused, tell the person why and return None."""
    try:
        return await work
    except EngineError as error:
        ui.notify(str(error), type='negative', multi_line=True, timeout=8_000, close_button='Close')
        return None


def _act(dialog: ui.dialog, text: str, answer: object, kind: str = '') -> None:
    button(text, kind=kind).on('click', lambda: dialog.submit(answer))
