"""The menu of the run page: facts, actions and keys; and the cancel dialog."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from engine import Conductor
from engine.records import RunInfo
from ui.formatting.debugger import KEYS as STEP_KEYS
from ui.formatting.fields.parameters import version_text
from ui.web.components.dialogs import await_answer, dialog_frame, edit_details, notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.shared.add_to_dataset import add_to_dataset
from ui.web.pages.shared.compare_picker import pick_comparison
from ui.web.pages.shared.launching.recording_picker import is_recorded
from ui.web.pages.shared.launching.rerun import rerun, retry
from ui.web.pages.shared.run_list.actions import (
    ADD_TO_DATASET,
    COMPARE,
    DELETE,
    EDIT,
    REPLAY,
    RETRY,
    RUN_AGAIN,
    ActionLabel,
    confirm_delete,
)
from ui.web.permission import is_permitted
from ui.web.replay.marks import JUMPS, KINDS
from ui.web.routing import chart_path

KEYS = (
    ('←', 'Previous step'),
    ('→', 'Next step'),
    ('Home', 'First step'),
    ('End', 'Last step'),
    ('Space', 'Play or stop'),
    ('L', 'Go live'),
    ('D', 'Watch or debug'),
    *((key.upper(), f'Next {KINDS[kinds[-1]].title}') for key, kinds in JUMPS.items()),
    ('M', 'Next change of the followed memory field'),
    ('Shift', 'With a letter: the previous one'),
    *STEP_KEYS,
)
AUDIT = ActionLabel('verified', 'Verify recording')
METHODS = {
    RETRY: 'retry',
    RUN_AGAIN: 'rerun',
    REPLAY: 'start',
    COMPARE: 'compare',
    EDIT: 'annotate',
    ADD_TO_DATASET: 'datasets.save',
    AUDIT: 'audit',
    DELETE: 'delete',
}
"""The conductor's method behind each action, which is offered to people who may call it."""


class RunMenu:
    """The menu's dialogs and actions; anything drastic is confirmed first."""

    def __init__(self, conductor: Conductor, info: RunInfo, on_rename: Callable[[RunInfo], None]) -> None:
        self._conductor, self._info, self._on_rename = conductor, info, on_rename

    async def cancel(self) -> None:
        """Ask, then cancel the run."""
        with dialog_frame('Cancel this run?') as dialog:
            Text(
                'p',
                'Work in progress stops immediately. The run stays in the list with everything it has done.',
            )
            reason = ui.input('Reason (optional)').props('outlined dense').classes('full')
            with Box('dialog-actions'):
                _draw_answer(dialog, 'Keep running', False)
                _draw_answer(dialog, 'Cancel run', True, 'primary')
        if await await_answer(dialog):
            await notify_errors(self._conductor.cancel(self._info.id, str(reason.value or '')))

    async def more(self) -> None:
        """Show the run's id and note, actions and keys, and perform the chosen action."""
        actions = await self._actions()
        with dialog_frame('About this run') as dialog:
            Text('p', f'Run {self._info.id}, seed {self._info.seed}', 'muted small mono')
            catalog, info = self._conductor.catalog, self._info
            Text('p', f'{info.pattern}, {version_text(catalog, info)}', 'muted small mono')
            if self._info.note:
                Text('p', self._info.note)
            with Box('run-actions'):
                if catalog.charts and catalog.charts.number(info.pattern, info.version):
                    text_link(chart_path(info.pattern, info.version), 'Its chart', 'btn quiet', icon='schema')
                text_link(f'/runs/{self._info.id}/family', 'Fork tree', 'btn quiet', icon='account_tree')
                text_link(f'/runs/{self._info.id}/review', 'Review and merge', 'btn quiet', icon='merge')
                for face in actions:
                    _draw_answer(dialog, face.text, face, 'quiet', face.icon)
            with Box('fold', 'details'):
                Text('summary', 'Keyboard shortcuts')
                with Box('keys', 'dl'):
                    for key, meaning in KEYS:
                        with Box(tag='dt'):
                            Text('kbd', key)
                        Text('dd', meaning)
            with Box('dialog-actions'):
                _draw_answer(dialog, 'Close', '')
        answer = await await_answer(dialog)
        if isinstance(answer, ActionLabel):
            await actions[answer]()

    async def _actions(self) -> dict[ActionLabel, Callable[[], Awaitable[None]]]:
        """Return the actions available now."""
        actions: dict[ActionLabel, Callable[[], Awaitable[None]]] = {}
        now = await self._conductor.info(self._info.id)
        if self._conductor.catalog.find_of(self._info):
            if now.status.retriable:
                actions[RETRY] = self.retry
            actions[RUN_AGAIN] = partial(rerun, self._conductor, self._info)
        if self._info.pattern in self._conductor.catalog.patterns and is_recorded(self._info):
            actions[REPLAY] = self._replay
        actions |= {COMPARE: self._compare, EDIT: self._edit, ADD_TO_DATASET: self._add, AUDIT: self._audit}
        if not now.deleted:
            actions[DELETE] = self._delete
        return {face: act for face, act in actions.items() if is_permitted(METHODS[face])}

    async def retry(self) -> None:
        """Ask, then continue in a new run from the last good step."""
        await retry(self._conductor, self._info)

    async def _delete(self) -> None:
        """Delete the run, and go to the list, where the deletion can be undone."""
        info = await notify_errors(self._conductor.info(self._info.id))
        if (
            info
            and await confirm_delete(self._conductor, [info])
            and await notify_errors(self._cancel_and_delete())
        ):
            ui.navigate.to(f'/runs?deleted={self._info.id}')

    async def _cancel_and_delete(self) -> bool:
        await self._conductor.delete(self._info.id, cancel=True)
        return True

    async def _compare(self) -> None:
        await pick_comparison(self._conductor, self._info)

    async def _add(self) -> None:
        await add_to_dataset(self._conductor, [self._info])

    async def _audit(self) -> None:
        steps = await notify_errors(self._conductor.audit(self._info.id))
        if steps is not None:
            ui.notify(f'Verified: all {steps} steps still lead to the recorded result.', type='positive')

    async def _replay(self) -> None:
        ui.navigate.to(f'/launch/{self._info.pattern}?replay={self._info.id}')

    async def _edit(self) -> None:
        self._info = await notify_errors(self._conductor.info(self._info.id)) or self._info
        details = await edit_details(self._info)
        if details is None:
            return
        info = await notify_errors(
            self._conductor.annotate(self._info.id, title=details.title, tags=details.tags, note=details.note)
        )
        if info:
            self._info = info
            self._on_rename(info)


def _draw_answer(dialog: ui.dialog, text: str, answer: object, kind: str = '', icon: str = '') -> None:
    button(text, kind=kind, icon=icon).on('click', lambda: dialog.submit(answer))
