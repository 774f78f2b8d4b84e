"""Imports the experiment of a bundle: checked line by line, stored with its runs, and never started."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from engine.configuration.catalog import Catalog
from engine.errors import InvalidInput
from engine.history.bundle.documents import Document, DocumentImport, Imported, PreparedDocuments
from engine.host.clock import Clock
from engine.journal.documents import Entry
from engine.journal.protocol import Journal
from engine.operations.experiments.datasets import MAX_BYTES, MAX_CASES, Case
from engine.operations.experiments.files.documents import CaseChunk, json_of, to_record
from engine.operations.experiments.library import CASE_LIST, DatasetInfo, Library, encode_cases
from engine.operations.experiments.planning import TAG, launch_of
from engine.operations.experiments.records import Cell, Experiment, Mark, cell_id, mark_id
from engine.operations.experiments.scorers import read_scorers
from engine.operations.experiments.store import ExperimentStore
from engine.records import RunId, RunInfo
from engine.runtime.run_factory import ACTOR

ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}')
MAX_TIME: Final = 253_402_300_799.0
"""The last second of the year 9999: what is later cannot be shown as a date."""
MAX_USE: Final = 1e15
"""Maximum number of tokens, dollars and seconds of a run."""
PYTHON: Final = 'python'
UNDER_WAY = 'it was under way when it was exported'
"""Why an experiment is cancelled on import that was not over."""


class ExperimentDocuments:
    """Knows the documents of experiments in bundles, and stores them in a conductor's journal."""

    def __init__(self, journal: Journal, catalog: Catalog, clock: Clock) -> None:
        self.store = ExperimentStore(journal.documents)
        self.datasets = Library(journal, catalog, clock)

    def begin(self) -> DocumentImport:
        """Begin to take the documents of a bundle."""
        return _Reading(self.store, self.datasets)


@dataclass(slots=True)
class _Reading:
    store: ExperimentStore
    datasets: Library
    dataset: DatasetInfo | None = None
    experiment: Experiment | None = None
    cases: list[Case] = field(default_factory=list)
    case_bytes: int = 0
    cells: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Case, variant and repeat by the id of the cell in the bundle."""
    scored: int = 0
    taken: set[object] = field(default_factory=set)
    """What there must be once: the places of cells, and the ids of marks."""
    case_ids: frozenset[str] = frozenset()

    def check(self, document: Document) -> None:
        """Check the next document. Raises `InvalidInput`."""
        record = to_record(document)
        if isinstance(record, (DatasetInfo, Experiment, Cell, Mark)) and record.id != document.key:
            raise InvalidInput({'id': 'it is not the key of the document'})
        match record:
            case DatasetInfo():
                self._check_dataset(record)
            case CaseChunk():
                self._check_cases(record)
            case Experiment():
                self._check_experiment(record)
            case Cell():
                self._check_cell(record)
            case Mark():
                self._check_mark(record)

    def finish(self) -> None:
        """Check that there is an experiment. Raises `InvalidInput`."""
        if self.experiment is None:
            raise InvalidInput({'': 'the experiment is missing that the documents before belong to'})

    async def prepare(
        self, documents: Iterable[Document], runs: Mapping[RunId, RunInfo], exported: float
    ) -> PreparedDocuments:
        """Decide what is stored under which ids."""
        if self.experiment is None:
            return PreparedDocuments()
        stored, imported = self.experiment, list[Imported]()
        before: Sequence[Entry] = ()
        if self.dataset:
            id, before = await self.datasets.take_version(self.dataset, self.cases)
            stored = replace(stored, dataset=id)
            imported.append(
                Imported(
                    kind='dataset',
                    id=id,
                    origin=self.dataset.id,
                    title=self.dataset.name,
                    outcome='new' if before else 'known',
                )
            )
        if not stored.is_over:
            ended = min(max(0.0, exported), MAX_TIME)
            stored = replace(stored, state='cancelled', reason=UNDER_WAY, ended=ended)
        is_after_here = stored.after and await self.store.experiments.find(stored.after)
        stored = replace(stored, author=ACTOR.get(), after=stored.after if is_after_here else '')
        here = await self.store.experiments.find(stored.id)
        is_known = here is not None and await self._is_known(here, stored)
        if here and not is_known:
            stored = replace(stored, id=uuid.uuid4().hex[:12])
        is_renamed = stored.id != self.experiment.id
        imported.append(
            Imported(
                kind='experiment',
                id=stored.id,
                origin=self.experiment.id,
                title=stored.name,
                outcome='known' if is_known else 'renamed' if is_renamed else 'new',
                closed=not self.experiment.is_over and not is_known,
            )
        )
        return PreparedDocuments(
            entries=before if is_known else self._entries(stored, before, documents, runs),
            imported=tuple(imported),
            tags={f'{TAG}{self.experiment.id}': f'{TAG}{stored.id}'} if is_renamed else {},
        )

    async def _is_known(self, here: Experiment, stored: Experiment) -> bool:
        """Whether the experiment of that id here is this one, and at least as far."""
        if _design(here) != _design(stored):
            return False
        scored = await self.store.cells.list(about=here.id, state='scored')
        return len(scored) >= self.scored

    def _entries(
        self,
        experiment: Experiment,
        before: Iterable[Entry],
        documents: Iterable[Document],
        runs: Mapping[RunId, RunInfo],
    ) -> Iterator[Entry]:
        """Yield what is stored. A run that the bundle lacks is not looked for here: it may be anybody's."""
        yield from before
        yield self.store.experiments.entry_of(experiment)
        ids = {name: cell_id(experiment.id, *place) for name, place in self.cells.items()}
        for document in documents:
            record = to_record(document)
            if isinstance(record, Cell):
                cell = replace(record, id=ids[record.id], experiment=experiment.id, version=0)
                if placed := _place(cell, runs):
                    yield self.store.cells.entry_of(placed)
            elif isinstance(record, Mark):
                marked, over = ids[record.cell], ids.get(record.over, '')
                mark = replace(record, experiment=experiment.id, cell=marked, over=over)
                yield self.store.marks.entry_of(replace(mark, id=mark_id(mark)))

    def _check_dataset(self, dataset: DatasetInfo) -> None:
        if self.dataset or self.experiment:
            raise InvalidInput({'': 'there is one dataset, before the experiment'})
        _check_id(dataset.id)
        if len(dataset.versions) != 1:
            raise InvalidInput({'versions': 'must be the one version that the experiment uses'})
        if ' '.join(dataset.name.split()) != dataset.name:
            raise InvalidInput({'name': 'has spaces where no name has them'})
        _check_times(created=dataset.created, versions=dataset.versions[0].created)
        self.dataset = dataset

    def _check_cases(self, chunk: CaseChunk) -> None:
        if not self.dataset or self.experiment:
            raise InvalidInput({'': 'cases come after their dataset, before the experiment'})
        self.cases += chunk.cases
        self.case_bytes += sum(len(CASE_LIST.dump_json([case])) for case in chunk.cases)
        if len(self.cases) > MAX_CASES or self.case_bytes > MAX_BYTES:
            raise InvalidInput({'cases': f'are more than {MAX_CASES:,}, or larger than {MAX_BYTES >> 20} MB'})

    def _check_experiment(self, experiment: Experiment) -> None:
        if self.experiment:
            raise InvalidInput({'': 'there is one experiment'})
        _check_id(experiment.id)
        _check_times(created=experiment.created, ended=experiment.ended)
        if self.dataset:
            version = self.dataset.versions[0].id
            if (experiment.dataset, experiment.version) != (self.dataset.id, version):
                raise InvalidInput({'version': 'is not the version of the dataset in this file'})
            if encode_cases(self.cases)[1] != version:
                raise InvalidInput({'version': 'is not the digest of the cases in this file'})
            self.case_ids = frozenset(case.id for case in self.cases)
        names = [variant.name for variant in experiment.variants]
        if len(set(names)) < len(names):
            raise InvalidInput({'variants': 'two have the same name'})
        for place, variant in enumerate(experiment.variants):
            try:
                launch_of(experiment.base, variant)
            except InvalidInput as error:
                name, problem = next(iter(error.problems.items()))
                raise InvalidInput({f'variants.{place}.change.{name}': problem}) from None
        # A function that scores need not be here: only who scores again needs it.
        read_scorers([spec for spec in experiment.scorers if spec.kind != PYTHON])
        if len({spec.name for spec in experiment.scorers}) < len(experiment.scorers):
            raise InvalidInput({'scorers': 'two have the same name'})
        self.experiment = experiment

    def _check_cell(self, cell: Cell) -> None:
        experiment = self._experiment_of(cell.experiment)
        if cell.variant not in {variant.name for variant in experiment.variants}:
            raise InvalidInput({'variant': f'the experiment has no variant {cell.variant[:80]!r}'})
        if self.dataset and cell.case not in self.case_ids:
            raise InvalidInput({'case': f'the dataset has no case {cell.case[:80]!r}'})
        if not 1 <= cell.repeat <= experiment.repeats:
            raise InvalidInput({'repeat': f'must be 1 to {experiment.repeats}'})
        _check_times(changed=cell.changed)
        for name in ('tokens', 'dollars', 'seconds', 'judge_tokens', 'judge_dollars'):
            if not 0 <= (getattr(cell, name) or 0) <= MAX_USE:
                raise InvalidInput({name: f'must be 0 to {MAX_USE:g}'})
        if cell.state != 'running' and cell.status is None:
            raise InvalidInput({'status': 'must say how the run ended'})
        place = (cell.case, cell.variant, cell.repeat)
        if place in self.taken or cell.id in self.cells:
            raise InvalidInput(
                {'': 'there is a cell of this case, variant and repeat, or of this id, already'}
            )
        self.taken.add(place)
        self.cells[cell.id] = place
        self.scored += cell.state == 'scored'

    def _check_mark(self, mark: Mark) -> None:
        self._experiment_of(mark.experiment)
        if mark.cell not in self.cells:
            raise InvalidInput({'cell': 'is no cell of this file'})
        if mark.over and mark.over not in self.cells:
            raise InvalidInput({'over': 'is no cell of this file'})
        _check_times(created=mark.created)
        key = (mark.cell, mark.over, mark.author, mark.created)
        if key in self.taken:
            raise InvalidInput({'': 'this mark is there already'})
        self.taken.add(key)

    def _experiment_of(self, id: str) -> Experiment:
        if self.experiment is None or self.experiment.id != id:
            raise InvalidInput({'experiment': 'is not the experiment of this file, which comes before it'})
        return self.experiment


def _place(cell: Cell, runs: Mapping[RunId, RunInfo]) -> Cell | None:
    """Return a cell with its runs as they are here; None if its run was planned and had not begun."""
    info = runs.get(cell.run)
    if cell.state == 'running':
        if info is None:
            return None
        # As far as it had come; it can be scored.
        cell = replace(
            cell,
            state='ended',
            status=info.status,
            error=info.error,
            tokens=info.usage.total,
            dollars=info.usage.cost,
        )
    scores = {
        name: replace(score, runs=tuple(RunId(runs[run].id) for run in score.runs if run in runs))
        for name, score in cell.scores.items()
    }
    return replace(cell, run=info.id if info else RunId(''), scores=scores)


def _design(experiment: Experiment) -> dict[str, object]:
    """Return what makes an experiment the same one, whatever has become of it."""
    plain = replace(
        experiment, state='done', reason='', ended=0.0, author='', digest='', parts={}, after='', at_once=1
    )
    return json_of(plain)


def _check_id(id: str) -> None:
    if not ID.fullmatch(id):
        raise InvalidInput({'id': f'must match {ID.pattern}'})


def _check_times(**times: float) -> None:
    for name, time in times.items():
        if not (math.isfinite(time) and 0 <= time <= MAX_TIME):
            raise InvalidInput({name: 'is not a valid time'})
