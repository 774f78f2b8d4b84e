"""The choice of cases: a dataset, one of its versions, a split; with the first cases to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from engine import EngineError
from engine.operations.experiments import Case, DatasetInfo
from ui.app.backend import Backend
from ui.formatting.values import ago, capitalize, count
from ui.web.components.dialogs import notify_error
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, NativeSelect, Text, label, table_head, text_link
from ui.web.pages.experiments.datasets.case_cells import columns_of, draw_case, titles_of
from ui.web.pages.experiments.datasets.import_dialog import ImportTable
from ui.web.permission import is_permitted

CHOOSE = 'Choose a dataset'
REMOVED = 'The dataset has been removed. Choose another one.'
MAX_PREVIEW = 5
"""Number of cases that are shown."""
MAX_NOTE = 60
"""Maximum number of characters shown of a version's note."""


class DatasetChoice:
    """Which cases an experiment runs on; `load` offers the datasets."""

    def __init__(self, backend: Backend, *, on_change: Callable[[], None]) -> None:
        """Draw it empty; `on_change` is called after every change."""
        self._backend, self._on_change = backend, on_change
        self._datasets: dict[str, DatasetInfo] = {}
        self._all: Sequence[Case] = ()
        """The cases of the version, of all splits."""
        self._is_filling = False
        with Box('dataset-choice'):
            with Box('field'):
                self._dataset = NativeSelect({'': CHOOSE}, value='', on_change=self._choose)
                label('Dataset', self._dataset).move(target_index=0)
            with Box('field') as self._version_field:
                self._version = NativeSelect({'': 'The newest'}, value='', on_change=self._choose_version)
                label('Version of the dataset', self._version).move(target_index=0)
            with Box('field') as self._split_field:
                self._split = NativeSelect({'': 'All cases'}, value='', on_change=self._show)
                label('Split', self._split).move(target_index=0)
        for field in (self._version_field, self._split_field):
            field.set_visibility(False)
        self._about = Text('p', '', 'muted small')
        self._problem = Text('p', '', 'problem', role='alert')
        with Box('fold', 'details') as self._fold:
            Text('summary', 'First cases')
            self._preview = CachedElement('wide-table')
        self._fold.set_visibility(False)
        if is_permitted('datasets.save'):
            with Box():
                new_one = button('Import a table', icon='upload_file', kind='small')
                new_one.on('click', self._import)

    @property
    def dataset(self) -> str:
        """The id of the dataset; '' while none is chosen."""
        return str(self._dataset.value)

    @property
    def version(self) -> str:
        """The id of its version; '' is the newest."""
        return str(self._version.value)

    @property
    def split(self) -> str:
        """The split; '' is all cases."""
        return str(self._split.value)

    @property
    def cases(self) -> list[Case]:
        """The cases that are run."""
        return [case for case in self._all if self.split in ('', case.split)]

    def check(self) -> bool:
        """Return whether a dataset is chosen, and say so if none is."""
        self._problem.show('' if self.dataset else 'Choose a dataset.')
        return bool(self.dataset)

    async def load(self, chosen: str, version: str = '', split: str = '') -> None:
        """Offer the datasets, and choose one; if there is only one, that one."""
        try:
            datasets = await self._backend().datasets.list()
        except EngineError as error:
            self._problem.show(f'Datasets cannot be loaded: {error}.')
            return
        self._datasets = {item.id: item for item in datasets}
        names = {item.id: item.name for item in datasets}
        self._dataset.set_options({'': CHOOSE if datasets else 'No dataset yet'} | names)
        if not chosen and len(datasets) == 1:
            chosen = datasets[0].id
        if chosen not in self._datasets:
            self._problem.show(REMOVED if chosen else '')
            return
        self._is_filling = True
        self._dataset.set_value(chosen)
        await self._fill(version, split)

    async def _import(self) -> None:
        if saved := await ImportTable(self._backend).ask():
            await self.load(saved.id)

    def _choose(self) -> Awaitable[None] | None:
        return None if self._is_filling else self._fill()

    def _choose_version(self) -> Awaitable[None] | None:
        return None if self._is_filling else self._read()

    async def _fill(self, version: str = '', split: str = '') -> None:
        """Offer the versions of the dataset that is chosen, and read the cases of one."""
        self._is_filling = True
        info = self._datasets.get(self.dataset)
        numbered = list(enumerate(info.versions, start=1)) if info else []
        now = self._backend().clock.now()
        self._version.set_options(
            {
                '' if number == len(numbered) else item.id: ' · '.join(
                    filter(
                        None,
                        [
                            f'{number}{" (newest)" if number == len(numbered) else ""}',
                            count(item.cases, 'case'),
                            ago(item.created, now),
                            item.note[:MAX_NOTE],
                        ],
                    )
                )
                for number, item in reversed(numbered)
            }
            or {'': 'The newest'}
        )
        earlier = [item.id for _, item in numbered[:-1]]
        self._version.set_value(version if version in earlier else '')
        self._version_field.set_visibility(bool(earlier))
        self._split.set_value(split)
        self._is_filling = False
        await self._read()

    async def _read(self) -> None:
        """Read the cases of the version."""
        wanted = self.dataset, self.version
        cases: Sequence[Case] = ()
        if self.dataset:
            try:
                cases = await self._backend().datasets.cases(*wanted)
            except EngineError as error:
                notify_error(error)
        if wanted != (self.dataset, self.version):
            return  # another one was chosen meanwhile
        self._all = cases
        sizes = Counter(case.split for case in cases if case.split)
        titles = {split: f'{capitalize(split)} ({size:,})' for split, size in sorted(sizes.items())}
        self._split.set_options({'': f'All cases ({len(cases):,})', **titles})
        if self.split not in ('', *sizes):
            self._split.set_value('')
        self._split_field.set_visibility(bool(sizes))
        self._show()

    def _show(self) -> None:
        cases = self.cases
        names = sorted({name for case in cases for name in case.parameters})
        expected = sum(case.expectation is not None for case in cases)
        self._about.show(
            f'{count(len(cases), "case")}, of which {expected:,} have an expectation. They give:'
            f' {", ".join(names) or "no parameters"}.'
            if self.dataset
            else ''
        )
        if self.dataset:
            self._problem.show('')
        self._fold.set_visibility(bool(cases))
        shown = cases[:MAX_PREVIEW]
        if self._preview.clear_if_changed((self.dataset, self.version, shown)) and shown:
            with self._preview:
                self._draw_preview(shown, len(cases))
        self._on_change()

    def _draw_preview(self, cases: Sequence[Case], number: int) -> None:
        columns = columns_of(self._all)
        with Box('table cases-table', 'table'):
            table_head(titles_of(columns))
            with Box(tag='tbody'):
                for case in cases:
                    with Box(tag='tr'):
                        draw_case(case, columns)
        more = number - len(cases)
        text = f'{count(more, "more case")} in the dataset' if more else 'The dataset'
        text_link(f'/datasets/{self.dataset}', text, 'small')
