"""Library: datasets and their versions, stored as documents; a version never changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from engine.configuration.catalog import Catalog
from engine.errors import EngineError, EntryChanged, InvalidInput
from engine.host.clock import Clock
from engine.journal.documents import Entry, EntryQuery
from engine.journal.protocol import Journal
from engine.journal.store import Columns, Store
from engine.operations.experiments.datasets import MAX_CASES, Case, ImportedCases, check_size, import_cases
from engine.operations.experiments.datasets.recordings import keep_recordings
from engine.operations.experiments.records import MAX_CASE, digest_of
from engine.records import COMPUTED, Instant, Label
from engine.records.jsonable import refuse_nul
from engine.records.launch import check_files
from engine.runtime.run_factory import ACTOR

CASES_KIND = 'dataset-cases'
"""The kind of the entries that hold the cases of a version, `PER_ENTRY` in each."""
PER_ENTRY = 100
CASE_LIST: TypeAdapter[list[Case]] = TypeAdapter(list[Case])


class UnknownDataset(EngineError):
    """There is no dataset with that name or id, or no such version of it."""

    def __init__(self, dataset: str, version: str = '') -> None:
        of = f'version {version!r} of the dataset' if version else 'dataset'
        super().__init__(f'there is no {of} {dataset!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetVersion:
    """One version of a dataset."""

    id: str
    """The digest of its cases."""
    cases: int
    created: Instant
    author: str = ''
    note: str = ''
    splits: tuple[str, ...] = ()
    """The names of its splits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """A dataset with its versions; the cases are read apart."""

    id: Annotated[str, COMPUTED] = ''
    name: Annotated[str, Field(min_length=1, max_length=200), Label('Name')]
    """What to call it."""
    note: Annotated[str, Field(max_length=2_000)] = ''
    versions: Annotated[tuple[DatasetVersion, ...], COMPUTED] = ()
    """The newest last."""
    created: Annotated[Instant, COMPUTED] = 0.0
    author: Annotated[str, COMPUTED] = ''

    def version(self, version: str = '') -> DatasetVersion:
        """Return a version, by default the newest. Raises `UnknownDataset`."""
        matches = [item for item in self.versions if not version or item.id.startswith(version)]
        if not matches:
            raise UnknownDataset(self.name, version or 'newest')
        return matches[-1]


class Library:
    """Datasets in a conductor's journal. Every method may raise `JournalError`."""

    def __init__(self, journal: Journal, catalog: Catalog, clock: Clock) -> None:
        self._journal, self._catalog, self._clock = journal, catalog, clock
        self._documents = journal.documents
        self._store = Store(self._documents, 'dataset', DatasetInfo, UnknownDataset, Columns(rank='created'))

    async def list(self) -> list[DatasetInfo]:
        """Return all datasets, sorted by name."""
        return sorted(await self._store.list(), key=lambda dataset: (dataset.name.lower(), dataset.id))

    async def get(self, dataset: str) -> DatasetInfo:
        """Return a dataset by its id or its name. Raises `UnknownDataset`."""
        if stored := await self._store.find(dataset):
            return stored
        name = _name_of(dataset)
        named = [item for item in await self._store.list() if item.name == name]
        if len(named) != 1:
            raise UnknownDataset(dataset)
        return named[0]

    async def cases(self, dataset: str, version: str = '', *, split: str = '') -> Sequence[Case]:
        """Return the cases of a version, by default the newest. Raises `UnknownDataset`."""
        info = await self.get(dataset)
        about = f'{info.id}/{info.version(version).id}'
        entries = await self._documents.find(EntryQuery(kind=CASES_KIND, about=about))
        cases = [case for entry in entries for case in CASE_LIST.validate_python(entry.body['cases'])]
        return [case for case in cases if split in ('', case.split)]

    async def save(self, dataset: str, cases: Sequence[Case], *, note: str = '') -> DatasetInfo:
        """Save a version of a dataset; a dataset of an unknown name is made. Equal cases make no version.

        Recordings that come with cases become runs in the journal.

        Raises:
            UnknownPattern: that of a recording.
            InvalidInput: names the case.
        """
        cases = await keep_recordings(self._journal, self._catalog, cases)
        chunks, version = await asyncio.to_thread(encode_cases, cases)
        now, author = self._clock.now(), ACTOR.get()
        try:
            info = await self.get(dataset)
        except UnknownDataset:
            info = await self._make(_name_of(dataset), now, author)
        if info.versions and info.versions[-1].id == version:
            return info
        for entry in await self._missing(f'{info.id}/{version}', chunks):
            with suppress(EntryChanged):  # Somebody else has just saved the same.
                await self._documents.write([entry])
        added = _version_of(cases, id=version, created=now, author=author, note=note)

        def edit(stored: DatasetInfo) -> DatasetInfo:
            if stored.versions and stored.versions[-1].id == version:
                return stored
            return replace(stored, versions=(*stored.versions, added))

        while True:
            try:
                return await self._store.change(info.id, edit)
            except EntryChanged:
                continue

    async def _make(self, name: str, now: float, author: str) -> DatasetInfo:
        """Make a dataset, unless somebody else has just done so. Raises `InvalidInput`."""
        if not 0 < len(name) <= 200 or '/' in name or not name.strip('.'):
            problem = 'its name must have 1 to 200 characters, more than dots, and no slash'
            raise InvalidInput({'dataset': problem})
        # An id that follows from the name, so that two who save under a new name at once make one dataset.
        new = DatasetInfo(id=digest_of('dataset', name)[:12], name=name, created=now, author=author)
        try:
            await self._store.write([new])
        except EntryChanged:
            return await self._store.get(new.id)
        return new

    async def take_version(self, dataset: DatasetInfo, cases: Sequence[Case]) -> tuple[str, Sequence[Entry]]:
        """Return under which id a dataset from elsewhere is here, and the entries that bring its version.

        If there is a dataset of its id, or of its name, that one takes the version, but not as its newest:
        what is run next here stays the same.

        Args:
            dataset: it has one version.
            cases: those of the version.

        Raises:
            InvalidInput: names the case.
        """
        chunks, version = await asyncio.to_thread(encode_cases, cases)
        (theirs,) = dataset.versions
        author = ACTOR.get()
        added = _version_of(cases, id=version, created=theirs.created, author=author, note=theirs.note)
        entry = await self._find_entry(dataset)
        if entry is None:
            new = replace(dataset, versions=(added,), author=author)
            return new.id, [self._store.entry_of(new), *await self._missing(f'{new.id}/{version}', chunks)]
        here = self._store.item_of(entry)
        if any(item.id == version for item in here.versions):
            return here.id, []
        older, newest = here.versions[:-1], here.versions[-1:]
        place = sum(item.created <= added.created for item in older)
        changed = replace(here, versions=(*older[:place], added, *older[place:], *newest))
        written = replace(self._store.entry_of(changed), version=entry.version)
        return here.id, [written, *await self._missing(f'{here.id}/{version}', chunks)]

    async def read_table(
        self,
        text: str,
        *,
        pattern: str = '',
        columns: Mapping[str, str] | None = None,
        preview: int = 0,
    ) -> ImportedCases:
        """Read cases from a table; nothing is saved. Raises `UnknownPattern`, `InvalidInput`."""
        read = partial(import_cases, columns=columns, preview=preview)
        kind = self._catalog.pattern(pattern) if pattern else None
        return await asyncio.to_thread(read, BytesIO(text.encode(errors='replace')), pattern=kind)

    async def remove(self, dataset: str) -> None:
        """Remove a dataset with all its versions; experiments keep their results. Raises `UnknownDataset`."""
        info = await self.get(dataset)
        await self._store.remove(info.id)
        for version in info.versions:
            await self._documents.forget(EntryQuery(kind=CASES_KIND, about=f'{info.id}/{version.id}'))

    async def _find_entry(self, dataset: DatasetInfo) -> Entry | None:
        """Return the dataset here that has this one's id, or else its name."""
        entries = await self._documents.find(EntryQuery(kind=self._store.kind))
        matches = {entry.key == dataset.id: entry for entry in entries if _is_named(entry, dataset)}
        return matches.get(True) or matches.get(False)

    async def _missing(self, about: str, chunks: Sequence[Any]) -> Sequence[Entry]:
        """Return the entries of cases that are not stored yet."""
        entries = [
            Entry(
                kind=CASES_KIND, key=f'{about}/{number:06}', about=about, rank=number, body={'cases': chunk}
            )
            for number, chunk in enumerate(chunks)
        ]
        return [entry for entry in entries if await self._documents.get(CASES_KIND, entry.key) is None]


def _name_of(dataset: str) -> str:
    return ' '.join(dataset.split())


def _is_named(entry: Entry, dataset: DatasetInfo) -> bool:
    return entry.key == dataset.id or entry.body['name'] == dataset.name


def _version_of(cases: Sequence[Case], *, id: str, created: float, author: str, note: str) -> DatasetVersion:
    splits = tuple(dict.fromkeys(case.split for case in cases if case.split))
    return DatasetVersion(id=id, cases=len(cases), created=created, author=author, note=note, splits=splits)


def encode_cases(cases: Sequence[Case]) -> tuple[list[list[Any]], str]:
    """Return the cases as JSON, some at a time, and the digest of all. Raises `InvalidInput`."""
    problems: dict[str, str] = {}
    if not 0 < len(cases) <= MAX_CASES:
        problems['cases'] = f'there must be 1 to {MAX_CASES:,}, not {len(cases):,}'
    seen: set[str] = set()
    checked: list[Case] = []
    for place, case in enumerate(cases):
        if not 0 < len(case.id) <= MAX_CASE or case.id in seen:
            problems[f'cases.{place}.id'] = f'must be unique and have 1 to {MAX_CASE} characters'
        if case.recording:
            problems[f'cases.{place}.recording'] = 'must be a run in the journal'
        seen.add(case.id)
        try:
            checked.append(replace(case, files=check_files(case.files, f'cases.{place}.files')))
        except InvalidInput as error:
            problems |= error.problems
    if problems:
        raise InvalidInput(dict([*problems.items()][:20]))
    dumped = CASE_LIST.dump_python(checked, mode='json')
    refuse_nul({'cases': dumped})
    check_size(len(CASE_LIST.dump_json(checked)))
    return [dumped[at : at + PER_ENTRY] for at in range(0, len(dumped), PER_ENTRY)], digest_of(dumped)
