"""Importing a dataset: a table, what its columns are read as, and what is wrong with it."""

from __future__ import annotations

import asyncio
import io
import tempfile
from contextlib import ExitStack
from typing import BinaryIO, cast

from nicegui.events import UploadEventArguments

from engine import EngineError
from engine.operations.experiments import DatasetInfo, ImportedCases, import_cases
from ui.app.backend import Backend
from ui.formatting.steps import short_json
from ui.formatting.values import as_sentence, capitalize, count
from ui.web.components.dialogs import await_answer, dialog_frame, notify_error
from ui.web.components.forms.drop_zone import drop_zone
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import (
    Box,
    CachedElement,
    NativeSelect,
    Text,
    label,
    set_attributes,
    table_head,
    text_area,
    text_input,
)
from ui.web.downloads import disk_errors

MAX_BYTES = 200 << 20
"""Maximum size of a file, in bytes."""
TOO_LARGE = f'The file has more than {MAX_BYTES >> 20} MB: import it with `hemicycle dataset import`.'
MAX_PREVIEWED, MAX_PROBLEMS = 5, 20
"""Maximum numbers of cases and of problems that are shown."""
PARAMETERS = 'parameters.'
OWN = {
    'id': 'Name of the case',
    'expectation': 'What is expected',
    'split': 'Split',
    'tags': 'Tags',
    'source': 'Run it came from',
    'parameters': 'All parameters, as JSON',
    'files': 'All files, as JSON',
    '': 'Left out',
}
"""What a column may be read as, besides a parameter."""
EXAMPLE = 'task,expectation\nHow many trays do 365 rolls need?,16'


class ImportTable:
    """The dialog; `ask` returns the dataset once it is saved."""

    def __init__(self, backend: Backend, dataset: DatasetInfo | None = None) -> None:
        """Import a new version of `dataset`, or a new dataset."""
        self._backend, self._dataset = backend, dataset
        self._file: BinaryIO | None = None
        self._columns: dict[str, str] = {}
        self._imported: ImportedCases | None = None
        self._closing = ExitStack()

    async def ask(self) -> DatasetInfo | None:
        """Show the dialog until it is closed."""
        title = f'New version of {self._dataset.name}' if self._dataset else 'Import a dataset'
        with dialog_frame(title, 'wide') as self._dialog:
            Text('p', 'A table with a header (CSV, TSV) or JSON lines: each row is a case.', 'muted')
            if not self._dataset:
                with Box('field'):
                    self._name = text_input('', maxlength='200')
                    label('Name', self._name).move(target_index=0)
            titles = {name: item.title for name, item in self._backend().catalog.patterns.items()}
            with Box('field'):
                self._pattern = NativeSelect(
                    {'': 'Any: all cells are texts'} | titles, value='', on_change=self._read_again
                )
                label('For the pattern', self._pattern).move(target_index=0)
            self._text = text_area('', placeholder=EXAMPLE, spellcheck='false', aria_label='Table')
            self._text.classes('table-text').props('debounce=400').on_value_change(self._on_text)
            drop_zone(
                self._on_upload,
                max_bytes=MAX_BYTES,
                on_begin=lambda: self._show_problem(''),
                on_problem=lambda name, problem: self._show_problem(
                    f'{name} did not arrive: {problem}.' if name else TOO_LARGE
                ),
            )
            self._problem = CachedElement('ghost')
            self._found = CachedElement('import-found', data_redrawn=True)
            with Box('dialog-actions'):
                button('Cancel').on('click', lambda: self._dialog.submit(None))
                self._save = button('Save', kind='primary', requires='datasets.save')
                self._save.on('click', self._on_save)
        try:
            return cast(DatasetInfo | None, await await_answer(self._dialog))
        finally:
            self._closing.close()

    async def _on_text(self) -> None:
        text = str(self._text.value or '')
        self._file = io.BytesIO(text.encode(errors='replace')) if text.strip() else None
        self._columns = {}
        await self._read_again()

    async def _on_upload(self, event: UploadEventArguments) -> None:
        file = self._closing.enter_context(await asyncio.to_thread(tempfile.TemporaryFile))
        try:
            with disk_errors():
                async for piece in event.file.iterate():
                    await asyncio.to_thread(file.write, piece)
        except EngineError as error:
            self._show_problem(as_sentence(str(error)))
            return
        if not self._dialog.is_deleted:
            self._file, self._columns = cast(BinaryIO, file), {}
            if not self._dataset and not self._name.value:
                self._name.set_value(event.file.name.rpartition('.')[0])
            await self._read_again()

    async def _read_again(self) -> None:
        if self._file is None:
            self._imported = None
            self._found.clear_if_changed(None)
            return
        pattern = self._backend().catalog.patterns.get(self._pattern.value)
        self._file.seek(0)
        try:
            self._imported = await asyncio.to_thread(
                import_cases, self._file, pattern=pattern, columns=self._columns
            )
        except EngineError as error:
            self._show_problem(as_sentence(str(error)))
            return
        if not self._found.is_deleted:
            self._show_problem('')
            self._show_found(self._imported)

    def _show_found(self, imported: ImportedCases) -> None:
        if not self._found.clear_if_changed(imported):
            return
        with self._found:
            expected = sum(case.expectation is not None for case in imported.cases)
            words = f'{count(len(imported.cases), "case")}, {expected:,} with an expectation'
            if imported.problems:
                words += f', and {count(len(imported.problems), "problem")}'
            Text('p', f'{words}.', 'heat-summary', role='status')
            if imported.problems:
                with Box('problems', 'ul'):
                    for problem in imported.problems[:MAX_PROBLEMS]:
                        Text('li', as_sentence(f'{problem.place}: {problem.text}'), dir='auto')
                if (more := len(imported.problems) - MAX_PROBLEMS) > 0:
                    Text('p', f'And {count(more, "more problem")}.', 'muted small')
            if imported.columns:
                self._draw_columns(imported)
            if imported.cases:
                _draw_preview(imported)

    def _draw_columns(self, imported: ImportedCases) -> None:
        with Box('import-columns'):
            for column, target in imported.columns.items():
                options = {
                    f'{PARAMETERS}{name}': capitalize(name.replace('_', ' ')) for name in self._names(column)
                }
                with Box('field'):
                    choice = NativeSelect(options | OWN, value=target)
                    label(column, choice).move(target_index=0)
                choice.on_value_change(lambda event, column=column: self._map(column, event.value))
        set_attributes(self._found, aria_label='What was read')

    def _names(self, column: str) -> list[str]:
        pattern = self._backend().catalog.patterns.get(self._pattern.value)
        return list(pattern.Parameters.model_fields) if pattern else [column]

    async def _map(self, column: str, target: str) -> None:
        self._columns[column] = target
        await self._read_again()

    async def _on_save(self) -> None:
        name = self._dataset.id if self._dataset else ' '.join(str(self._name.value or '').split())
        if self._imported is None or not self._imported.cases:
            self._show_problem('There is no case to save: paste a table, or choose a file.')
        elif not name:
            self._show_problem('Enter a name.')
        else:
            left_out = {problem.row for problem in self._imported.problems}
            note = f'Imported, without {count(len(left_out), "row")}' if left_out else 'Imported'
            try:
                saved = await self._backend().datasets.save(name, self._imported.cases, note=note)
            except EngineError as error:
                notify_error(error)
            else:
                self._dialog.submit(saved)

    def _show_problem(self, problem: str) -> None:
        if not self._problem.is_deleted and self._problem.clear_if_changed(problem) and problem:
            with self._problem:
                text_notice('fail', 'error_outline', problem)


def _draw_preview(imported: ImportedCases) -> None:
    names = list(dict.fromkeys(name for case in imported.cases[:MAX_PREVIEWED] for name in case.parameters))
    with Box('wide-table'), Box('table', 'table'):
        table_head(['Case', *names, 'Files', 'Expected', 'Split', 'Tags'])
        with Box(tag='tbody'):
            for case in imported.cases[:MAX_PREVIEWED]:
                with Box(tag='tr'):
                    Text('th', case.id, scope='row', dir='auto')
                    for name in names:
                        Text('td', short_json(case.parameters.get(name, '')), dir='auto')
                    Text('td', ', '.join(case.files), dir='auto')
                    Text('td', '' if case.expectation is None else short_json(case.expectation), dir='auto')
                    Text('td', case.split)
                    Text('td', ', '.join(case.tags))
    if (more := len(imported.cases) - MAX_PREVIEWED) > 0:
        Text('p', f'And {count(more, "more case")}.', 'muted small')
