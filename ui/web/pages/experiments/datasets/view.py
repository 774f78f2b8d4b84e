"""One dataset: its cases, and its versions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from nicegui import ui

from engine import EngineError
from engine.operations.experiments import Case, DatasetInfo, export_csv, export_json_lines
from ui.app.backend import Backend
from ui.formatting.steps import author_text, short_json
from ui.formatting.values import ago, capitalize, count
from ui.web.components.dialogs import confirm, notify_error, notify_errors
from ui.web.components.menus import PickerItem, picker
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import (
    Box,
    CachedElement,
    NativeSelect,
    Text,
    set_attributes,
    table_head,
    text_input,
    text_link,
)
from ui.web.pages.experiments.datasets.case_cells import columns_of, draw_case, titles_of
from ui.web.pages.experiments.datasets.case_dialog import edit_case
from ui.web.pages.experiments.datasets.import_dialog import ImportTable
from ui.web.permission import is_permitted
from ui.web.routing import show_address, with_query

SIZE = 50
"""Cases on a page of the table."""


class DatasetView:
    """The cases of a version, page by page; a change makes a new version."""

    def __init__(self, backend: Backend, info: DatasetInfo, version: str, cases: Sequence[Case]) -> None:
        """Draw a version of the dataset."""
        self._backend, self._info, self._version, self._cases = backend, info, version, list(cases)
        self._page = 0
        with Box('hero'):
            text_link('/datasets', '← Datasets', 'small back')
            with Box('experiment-head'):
                Text('h1', info.name, dir='auto')
                Box('grow', 'span')
                with Box('experiment-controls'):
                    self._draw_controls()
            self._about = Text('span', '', 'muted small')
        with Box('card'):
            with Box('cells-tools'):
                self._text = text_input(
                    '', placeholder='Find a case', aria_label='Find a case', kind='search'
                )
                self._text.props('clearable debounce=200').on_value_change(self._on_filter)
                self._split = NativeSelect({'': 'All splits'}, value='', on_change=self._on_filter)
                set_attributes(self._split, aria_label='Split')
                self._versions = NativeSelect({version: version}, value=version, on_change=self._on_version)
                set_attributes(self._versions, aria_label='Version')
                Box('grow', 'span')
                if is_permitted('datasets.save'):
                    button('Add case', icon='add', kind='small').on('click', lambda: self._edit(None))
            self._table = CachedElement('wide-table', data_redrawn=True)
        with Box('pager', 'nav', aria_label='Pages of cases') as self._pager:
            button('Previous', icon='chevron_left', kind='quiet').on('click', lambda: self._turn(-1))
            self._range = Text('span', '', 'muted num')
            button('Next', icon='chevron_right', kind='quiet trailing').on('click', lambda: self._turn(1))
        self._show()

    def _draw_controls(self) -> None:
        if is_permitted('experiments.add'):
            path = with_query('/experiments/new', dataset=self._info.id)
            text_link(path, 'New experiment', 'btn', icon='balance')
        if is_permitted('datasets.save'):
            button('Import', icon='upload_file').on('click', self._import)
        items = [
            PickerItem(title='CSV', note='For spreadsheets', on_choose=partial(self._export, 'csv')),
            PickerItem(title='JSON lines', note='One case a line', on_choose=partial(self._export, 'jsonl')),
        ]
        picker('Export', 'download', items)
        if is_permitted('datasets.remove'):
            button('Delete', icon='delete').on('click', self._remove)

    def _show(self) -> None:
        """Show what fits the filters."""
        splits = sorted({case.split for case in self._cases if case.split})
        self._split.set_options({'': 'All splits'} | {split: capitalize(split) for split in splits})
        self._split.set_visibility(bool(splits))
        self._versions.set_options(self._version_titles())
        current = self._info.version(self._version)
        newest = current is self._info.versions[-1]
        parts = [count(len(self._cases), 'case'), '' if newest else 'an earlier version', current.note]
        parts += [author_text(current.author)]
        self._about.show(' · '.join(filter(None, parts)))
        words = str(self._text.value or '').casefold().split()
        fitting = [
            case
            for case in self._cases
            if self._split.value in ('', case.split) and all(word in _searched(case) for word in words)
        ]
        first = self._page * SIZE
        shown = fitting[first : first + SIZE]
        self._pager.set_visibility(len(fitting) > SIZE)
        self._range.show(f'{first + 1}–{first + len(shown)} of {len(fitting):,}')
        if self._table.clear_if_changed(shown):
            with self._table:
                if shown:
                    self._draw_table(shown)
                else:
                    empty_state('search_off', 'No cases match.')

    def _version_titles(self) -> dict[str, str]:
        now = self._backend().clock.now()
        numbered = list(enumerate(self._info.versions, start=1))
        return {item.id: f'Version {number}, {ago(item.created, now)}' for number, item in reversed(numbered)}

    def _draw_table(self, cases: Sequence[Case]) -> None:
        columns = columns_of(self._cases)
        edits = is_permitted('datasets.save')
        with Box('table cases-table', 'table'):
            table_head([*titles_of(columns), ''])
            with Box(tag='tbody'):
                for case in cases:
                    with Box(tag='tr'):
                        draw_case(case, columns)
                        with Box(tag='td'), Box('row-actions'):
                            if edits:
                                edit = button('Edit', kind='small', aria_label=f'Edit: {case.id}')
                                edit.on('click', lambda _, case=case: self._edit(case))
                                drop = button('Remove', kind='small', aria_label=f'Remove: {case.id}')
                                drop.on('click', lambda _, case=case: self._drop(case))

    def _on_filter(self) -> None:
        self._page = 0
        self._show()

    def _turn(self, by: int) -> None:
        fitting = len(self._cases)
        self._page = max(0, min(self._page + by, (fitting - 1) // SIZE))
        self._show()

    async def _on_version(self) -> None:
        if self._versions.value != self._version:
            await self._load(self._versions.value)

    async def _load(self, version: str) -> None:
        try:
            cases = await self._backend().datasets.cases(self._info.id, version)
        except EngineError as error:
            notify_error(error)
            return
        self._version, self._cases, self._page = version, list(cases), 0
        newest = version == self._info.versions[-1].id
        show_address(with_query(f'/datasets/{self._info.id}', version='' if newest else version))
        self._versions.set_options(self._version_titles())
        self._versions.set_value(version)
        self._show()

    async def _edit(self, case: Case | None) -> None:
        taken = {item.id for item in self._cases if item is not case}
        edited = await edit_case(self._backend, case, taken)
        if edited is None or edited == case:
            return
        if case is None:
            await self._save([*self._cases, edited], f'Added {edited.id}')
        else:
            await self._save([edited if item is case else item for item in self._cases], f'Changed {case.id}')

    async def _drop(self, case: Case) -> None:
        if len(self._cases) == 1:
            ui.notify('A dataset has at least one case: delete the dataset instead.', type='negative')
            return
        await self._save([item for item in self._cases if item is not case], f'Removed {case.id}')

    async def _save(self, cases: Sequence[Case], note: str) -> None:
        saved = await notify_errors(self._backend().datasets.save(self._info.id, cases, note=note))
        if saved:
            self._info = saved
            await self._load(saved.versions[-1].id)

    async def _import(self) -> None:
        if saved := await ImportTable(self._backend, self._info).ask():
            self._info = saved
            await self._load(saved.versions[-1].id)

    async def _export(self, kind: str) -> None:
        export = export_csv if kind == 'csv' else export_json_lines
        try:
            text = await asyncio.to_thread(lambda: ''.join(export(self._cases)))
        except EngineError as error:
            notify_error(error)
            return
        media = 'text/csv' if kind == 'csv' else 'application/jsonl'
        ui.download.content(text, f'{self._info.name}.{kind}', media)

    async def _remove(self) -> None:
        text = 'All its versions are removed. Experiments on it keep their scores, and runs stay.'
        if await confirm(f'Delete {self._info.name}?', text, yes='Delete dataset', no='Keep it'):
            await notify_errors(self._backend().datasets.remove(self._info.id))
            ui.navigate.to('/datasets')


def _searched(case: Case) -> str:
    values = short_json(dict(case.parameters), 2_000)
    expected, more = short_json(case.expectation, 500), ' '.join([*case.files, *case.tags])
    return f'{case.id} {values} {expected} {more}'.casefold()
