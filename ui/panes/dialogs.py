"""The dialogs of the run page: cancel, and what there is to know and to do besides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from engine import Conductor, RunInfo
from ui.beside.picker import choose_other
from ui.dialogs import edit, framed, settled, told
from ui.forks.anew import again, retry
from ui.launch.replaying import recorded
from ui.parts import Text, link
from ui.replay.marks import KINDS
from ui.runs.deeds import AGAIN, COMPARE, DELETE, EDIT, REPLAY, RETRY, Face, sure_to_delete
from ui.stepping.words import KEYS as STEP_KEYS
from ui.theme import button

KEYS = (
    ('←', 'One step back'),
    ('→', 'One step on'),
    ('Home', 'The first step'),
    ('End', 'The last step'),
    ('Space', 'Play what was recorded, or stop'),
    ('L', 'Back to the present'),
    *((sort.key.upper(), f'Next {sort.title}; with Shift the one before') for sort in KINDS.values()),
    ('M', 'Next change of the chosen part of memory; with Shift the one before'),
    *STEP_KEYS,
)
AUDIT = Face('verified', 'Check the record')


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

    async def more(self) -> None:
        """The run's id and note, what can be done with it, the keys."""
        actions = await self._actions()
        with framed('About this run') as dialog:
            Text('p', f'Run {self._info.id}, seed {self._info.seed}', 'muted small mono')
            if self._info.note:
                Text('p', self._info.note)
            with ui.element('div').classes('run-deeds'):
                with link(f'/runs/{self._info.id}/family', 'btn quiet'):
                    ui.icon('account_tree')
                    Text('span', 'Its family')
                for face in actions:
                    _act(dialog, face.text, face, 'quiet danger' if face == DELETE else 'quiet', face.icon)
            with ui.element('details').classes('fold'):
                Text('summary', 'Keys')
                with ui.element('dl').classes('keys'):
                    for key, meaning in KEYS:
                        with ui.element('dt'):
                            Text('kbd', key)
                        Text('dd', meaning)
            with ui.element('div').classes('dialog-actions'):
                _act(dialog, 'Close', '')
        answer = await settled(dialog)
        if isinstance(answer, Face):
            await actions[answer]()

    async def _actions(self) -> dict[Face, Callable[[], Awaitable[None]]]:
        """What can be done with the run as it is now."""
        found: dict[Face, Callable[[], Awaitable[None]]] = {}
        now = await self._conductor.info(self._info.id)
        if self._info.pattern in self._conductor.catalog.patterns:
            if now.status.retriable:
                found[RETRY] = self.retry
            found[AGAIN] = partial(again, self._conductor, self._info)
            if recorded(self._info):
                found[REPLAY] = self._replay
        found |= {COMPARE: self._compare, EDIT: self._edit, AUDIT: self._audit}
        return found if now.deleted else {**found, DELETE: self._delete}

    async def retry(self) -> None:
        """Ask, then go on in a new run from the last good step."""
        await retry(self._conductor, self._info)

    async def _delete(self) -> None:
        """Put the run into the trash, and go to the list, where that can be taken back."""
        info = await told(self._conductor.info(self._info.id))
        if info and await sure_to_delete(self._conductor, [info]) and await told(self._let_go()):
            ui.navigate.to(f'/runs?deleted={self._info.id}')

    async def _let_go(self) -> bool:
        await self._conductor.delete(self._info.id, cancel=True)
        return True

    async def _compare(self) -> None:
        await choose_other(self._conductor, self._info)

    async def _audit(self) -> None:
        steps = await told(self._conductor.audit(self._info.id))
        if steps is not None:
            ui.notify(f'All {steps} steps are decided today as they were recorded.', type='positive')

    async def _replay(self) -> None:
        ui.navigate.to(f'/launch/{self._info.pattern}?replay={self._info.id}')

    async def _edit(self) -> None:
        self._info = await told(self._conductor.info(self._info.id)) or self._info
        said = await edit(self._info)
        if said is None:
            return
        info = await told(
            self._conductor.annotate(self._info.id, title=said.title, tags=said.tags, note=said.note)
        )
        if info:
            self._info = info
            self._renamed(info)


def _act(dialog: ui.dialog, text: str, answer: object, kind: str = '', icon: str = '') -> None:
    button(text, kind=kind, icon=icon).on('click', lambda: dialog.submit(answer))
