"""The dialogs of the run page: cancel, fork, rename and note, check the record, keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from engine import Conductor, EngineError, RunInfo
from ui import theme

KEYS = (
    ('←  →', 'One step back, one step on'),
    ('Home  End', 'The first step, the last step'),
    ('Space', 'Play what was recorded, or stop'),
    ('L', 'Back to the present'),
    ('Ctrl + wheel', 'Make the diagram larger or smaller; drag to move it'),
)


class Dialogs:
    """Asks before it acts; nothing is lost by closing one."""

    def __init__(self, conductor: Conductor, info: RunInfo, renamed: Callable[[RunInfo], None]) -> None:
        self._conductor, self._info, self._renamed = conductor, info, renamed

    async def cancel(self) -> None:
        """Ask, then cancel the run."""
        with _dialog('Cancel this run?') as dialog:
            ui.label('What is under way is stopped at once. The run stays in the list, with all it has done.')
            reason = ui.input('Reason (optional)').props('outlined dense').classes('full')
            with _actions(dialog, keep='Keep it running'):
                _act('Cancel the run', 'danger', lambda: self._cancel(dialog, str(reason.value or '')))
        dialog.open()

    async def fork(self, at: int) -> None:
        """Ask, then start a new run from step `at`."""
        price = (
            'the scripted model, which costs nothing'
            if self._info.simulated
            else 'its models, which may cost money'
        )
        with _dialog(f'Fork from step {at}?') as dialog:
            ui.label(
                f'A new run begins with the first {at} steps of this one and goes on from there. It calls {price}.'
            )
            ui.label('This run is not changed.').classes('muted')
            title = ui.input('Title', value=self._info.title).props('outlined dense').classes('full')
            paused = ui.checkbox('Start it paused')
            with _actions(dialog, keep='Not now'):
                _act(
                    'Start the fork',
                    'primary',
                    lambda: self._fork(dialog, at, str(title.value), bool(paused.value)),
                )
        dialog.open()

    def more(self) -> None:
        """Title, tags and note; the audit; the keys."""
        with _dialog('About this run') as dialog:
            title = ui.input('Title', value=self._info.title).props('outlined dense').classes('full')
            tags = ui.input('Tags, with commas between', value=', '.join(self._info.tags))
            tags.props('outlined dense').classes('full')
            note = ui.textarea('Note', value=self._info.note).props('outlined dense autogrow').classes('full')
            ui.label(f'Run {self._info.id} · seed {self._info.seed}').classes('muted small mono')
            with ui.element('details').classes('full'):
                with ui.element('summary'):
                    ui.label('Keys').classes('inline')
                for keys, meaning in KEYS:
                    with ui.element('div').classes('key-row'):
                        ui.html(f'<kbd>{keys}</kbd>', sanitize=False)
                        ui.label(meaning)
            with _actions(dialog, keep='Close'):
                _act('Check the record', '', self._audit)
                _act(
                    'Save',
                    'primary',
                    lambda: self._save(dialog, str(title.value), str(tags.value), str(note.value)),
                )
        dialog.open()

    async def _cancel(self, dialog: ui.dialog, reason: str) -> None:
        dialog.close()
        try:
            await self._conductor.cancel(self._info.id, reason)
        except EngineError as error:
            say(error)

    async def _fork(self, dialog: ui.dialog, at: int, title: str, paused: bool) -> None:
        dialog.close()
        try:
            run = await self._conductor.fork(self._info.id, at, title=title, paused=paused)
        except EngineError as error:
            say(error)
        else:
            ui.navigate.to(f'/runs/{run}')

    async def _audit(self) -> None:
        try:
            steps = await self._conductor.audit(self._info.id)
        except EngineError as error:
            say(error)
        else:
            ui.notify(f'All {steps} steps are decided today as they were recorded.', type='positive')

    async def _save(self, dialog: ui.dialog, title: str, tags: str, note: str) -> None:
        dialog.close()
        names = [tag.strip() for tag in tags.split(',') if tag.strip()]
        try:
            self._info = await self._conductor.annotate(
                self._info.id, title=title.strip() or self._info.title, tags=names, note=note
            )
        except EngineError as error:
            say(error)
        else:
            self._renamed(self._info)
            ui.notify('Saved', type='positive')


def say(error: EngineError) -> None:
    """Tell the person why something was refused."""
    ui.notify(str(error), type='negative', multi_line=True)


@contextmanager
def _dialog(title: str) -> Iterator[ui.dialog]:
    with ui.dialog() as dialog, ui.element('div').classes('card dialog'):
        with ui.element('h2'):
            ui.label(title)
        yield dialog
    dialog.on('hide', dialog.delete)


@contextmanager
def _actions(dialog: ui.dialog, *, keep: str) -> Iterator[None]:
    with ui.element('div').classes('dialog-actions'):
        theme.button(keep, kind='quiet').on('click', dialog.close)
        yield


def _act(text: str, kind: str, act: Callable[[], Awaitable[None]]) -> None:
    theme.button(text, kind=kind).on('click', act)
