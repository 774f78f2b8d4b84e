"""Exports an experiment with all that belongs to it: dataset, runs, those of judges, scores and marks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from engine.errors import UnknownRun
from engine.history.bundle.documents import Document
from engine.history.bundle.format import jsonable
from engine.history.bundle.redaction import Redaction
from engine.history.bundle.writer import export_bundle
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.files.documents import CaseChunk, to_document
from engine.operations.experiments.library import CASE_LIST, PER_ENTRY, Library, UnknownDataset
from engine.operations.experiments.records import Cell, Experiment, digest_of
from engine.operations.experiments.running.host import Host
from engine.operations.experiments.store import ExperimentStore
from engine.records import Launch, RunId, RunInfo, file_bytes, file_content
from engine.records.launch import FILE_CONTENT

F = TypeVar('F', Case, Launch)

CHUNK_BYTES = 1 << 20
"""Approximate bytes of the cases in one document, of which a case may take more."""


class BundleExport:
    """Exports experiments of a conductor, at any time; one that is under way as far as it is."""

    def __init__(self, host: Host, store: ExperimentStore, datasets: Library) -> None:
        self._host, self._store, self._datasets = host, store, datasets

    async def export(
        self, experiment: Experiment, *, can_see: Callable[[RunInfo], bool], compressed: bool
    ) -> AsyncIterator[bytes]:
        """Yield the file in pieces.

        Args:
            experiment: as stored.
            can_see: whether a run may be in the file. Those in the trash are not.
            compressed: whether to compress it with gzip.

        Raises:
            UnknownRun, WorkspaceError: a run was removed meanwhile, or lacks files.
            BundleError: a line would be too long.
        """
        cells = await self._store.cells.list(about=experiment.id)
        runs = await self._runs([*await self._recordings(experiment), *_runs_of(cells)], can_see)
        redaction = Redaction.for_catalog(self._host.catalog)
        documents = self._documents(experiment, cells, redaction)
        bundles = self._host.bundles
        async for piece in export_bundle(
            bundles, runs, documents=documents, redaction=redaction, compressed=compressed
        ):
            yield piece

    async def _recordings(self, experiment: Experiment) -> list[RunId]:
        """Return the runs whose recorded replies it answers from, so that it can be run again elsewhere."""
        if not experiment.recorded:
            return []
        with suppress(UnknownDataset):
            cases = await self._datasets.cases(experiment.dataset, experiment.version)
            return [case.source for case in cases if case.source]
        return []

    async def _runs(self, named: Iterable[RunId], can_see: Callable[[RunInfo], bool]) -> list[RunId]:
        """Return those of the runs, each once, that are still there."""
        runs = []
        for run in dict.fromkeys(named):
            try:
                info = await self._host.info(run)
            except UnknownRun:
                continue
            if not info.deleted and can_see(info):
                runs.append(run)
        return runs

    async def _documents(
        self, experiment: Experiment, cells: Sequence[Cell], redaction: Redaction
    ) -> AsyncIterator[Document]:
        try:
            dataset = await self._datasets.get(experiment.dataset)
            version = dataset.version(experiment.version)
            cases = await self._datasets.cases(dataset.id, version.id)
        except UnknownDataset:  # It has been removed.
            pass
        else:
            chunks, digest = await asyncio.to_thread(_redact_cases, cases, redaction)
            if digest != version.id:
                redaction.renamed[version.id] = digest
            yield to_document(dataset.id, replace(dataset, versions=(version,)))
            for number, chunk in enumerate(chunks):
                yield to_document(f'{dataset.id}/{number:06}', CaseChunk(cases=chunk))
        yield to_document(experiment.id, await asyncio.to_thread(_redact_files, experiment, redaction))
        for cell in cells:
            yield to_document(cell.id, cell)
        for mark in await self._store.marks.list(about=experiment.id):
            yield to_document(mark.id, mark)


def _runs_of(cells: Iterable[Cell]) -> Iterator[RunId]:
    """Yield the runs of cells, and those of the judges that scored them."""
    for cell in cells:
        if cell.run:
            yield cell.run
        for score in cell.scores.values():
            yield from score.runs


def _redact_cases(cases: Sequence[Case], redaction: Redaction) -> tuple[Iterator[tuple[Case, ...]], str]:
    """Return the cases without secrets, some at a time, and the digest of all."""
    readable = [_without_secrets(case, redaction) for case in cases]
    values = redaction.redact_value(jsonable(CASE_LIST.dump_python(readable, mode='json')))
    redacted = CASE_LIST.validate_python(values)
    return _chunks(redacted), digest_of(CASE_LIST.dump_python(redacted, mode='json'))


def _redact_files(experiment: Experiment, redaction: Redaction) -> Experiment:
    """Return an experiment without secrets in files that are no text; text is looked through as any other."""
    variants = tuple(
        replace(variant, change={**variant.change, 'files': _redacted(files, redaction)})
        if isinstance(files := variant.change.get('files'), Mapping)
        else variant
        for variant in experiment.variants
    )
    return replace(experiment, base=_without_secrets(experiment.base, redaction), variants=variants)


def _without_secrets(item: F, redaction: Redaction) -> F:
    return replace(item, files=_redacted(item.files, redaction))


def _redacted(files: Mapping[str, Any], redaction: Redaction) -> dict[str, Any]:
    redacted = dict(files)
    for path, content in files.items():
        if isinstance(content, Mapping):  # Bytes. None, in a variant, takes a file of the base away.
            data = file_bytes(FILE_CONTENT.validate_python(content))
            hidden = redaction.redact_content(data)
            if hidden != data:
                redaction.found += 1
                redacted[path] = file_content(hidden)
    return redacted


def _chunks(cases: Sequence[Case]) -> Iterator[tuple[Case, ...]]:
    chunk: list[Case] = []
    size = 0
    for case in cases:
        chunk.append(case)
        size += len(CASE_LIST.dump_json([case]))
        if size >= CHUNK_BYTES or len(chunk) >= PER_ENTRY:
            yield tuple(chunk)
            chunk, size = [], 0
    if chunk:
        yield tuple(chunk)
