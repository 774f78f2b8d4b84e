"""Importing bundles and traces: a button, a dialog with a drop zone, progress, and the outcome."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from nicegui import ui
from nicegui.events import UploadEventArguments

from engine import EngineError
from ui.app.backend import Backend
from ui.web.components.dialogs import await_answer, dialog_frame
from ui.web.components.forms.drop_zone import drop_zone
from ui.web.components.theme import button, notice, text_notice
from ui.web.components.widgets import Box, Text, set_attributes, text_link
from ui.web.downloads import disk_errors
from ui.web.exports.text import import_messages

MAX_BYTES = 1 << 30
"""Maximum size of a file, in bytes."""
SOURCES = 'Bundles of runs or experiments, or traces of other frameworks (OTLP/JSON, Langfuse, Phoenix).'
TOO_LARGE = f'A file has more than {MAX_BYTES >> 30} GB: import it with `hemicycle runs import`.'
PROGRESS_SECONDS = 0.2
"""Seconds between updates of a file's progress."""


class ImportDialog:
    """A button that opens the dialog."""

    def __init__(self, backend: Backend) -> None:
        """Draw the button."""
        self._backend = backend
        self.on_done: Callable[[], Awaitable[None]] | None = None
        """Awaited after an import."""
        self._opener = button('Import', icon='upload_file', kind='small', requires='import_bundle')
        set_attributes(self._opener, aria_haspopup='dialog')
        self._opener.on('click', self.open)

    async def open(self) -> None:
        """Show the dialog until it is closed."""
        with dialog_frame('Import') as dialog:
            Text('p', f'{SOURCES} Nothing that is imported starts, and nothing is replaced.')
            choose = drop_zone(
                self._import_upload,
                max_bytes=MAX_BYTES,
                on_begin=lambda: self._show_progress('Uploading…', None),
                on_problem=self._show_problem,
                multiple=True,
            )
            choose.classes('primary')
            with Box('import-state', role='status') as self._state:
                self._progress = Text('span', '')
                self._bar = Box(tag='progress', max='1', aria_label='Import progress')
            self._state.set_visibility(False)
            self._results = Box('notices', aria_live='polite')
            with Box('dialog-actions'):
                button('Close').on('click', lambda: dialog.submit(None))
        await await_answer(dialog)

    def _show_progress(self, text: str, share: float | None) -> None:
        self._state.set_visibility(bool(text))
        self._progress.show(text)
        if share is None:
            self._bar.props(remove='value')
        else:
            set_attributes(self._bar, value=str(share))

    async def _import_upload(self, event: UploadEventArguments) -> None:
        name, read, size = event.file.name, [0], max(1, event.file.size())
        self._show_progress(f'Reading {name}…', 0.0)
        with self._state:
            timer = ui.timer(
                PROGRESS_SECONDS, lambda: self._show_progress(f'Reading {name}…', min(1.0, read[0] / size))
            )
        try:
            with tempfile.TemporaryDirectory(prefix='hemicycle-') as folder:
                path = Path(folder) / 'bundle'
                with disk_errors():
                    await event.file.save(path)
                with await asyncio.to_thread(path.open, 'rb') as file:
                    imported = await self._backend().import_bundle(
                        file, progress=lambda at: read.__setitem__(0, at)
                    )
        except EngineError as error:
            self._show_problem(name, str(error))
        else:
            if not self._results.is_deleted:
                with self._results, notice('info', 'check_circle'):
                    for text, page in import_messages(imported):
                        with Box(tag='p'):
                            Text('span', f'{text} ')
                            if page:
                                text_link(page, 'Open')
            if self.on_done:
                await self.on_done()
        finally:
            if not self._state.is_deleted:
                timer.delete()
                self._show_progress('', 0.0)

    def _show_problem(self, name: str, problem: str) -> None:
        if self._results.is_deleted:
            return
        text = f'{name} was not imported: {problem}.' if name else TOO_LARGE
        with self._results:
            text_notice('fail', 'error_outline', text)
