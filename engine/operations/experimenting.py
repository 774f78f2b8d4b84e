"""Experimenting: datasets, and experiments that run variants of a workflow on their cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import Field

from engine.host.clock import Clock
from engine.operations.experiments.adoption import AdoptionKind, AdoptionPlan, LaunchDefault
from engine.operations.experiments.answer.path_records import PathAnswer
from engine.operations.experiments.answer.records import Answer, TrendPoint
from engine.operations.experiments.datasets import MAX_CASES, Case, ImportedCases
from engine.operations.experiments.library import DatasetInfo
from engine.operations.experiments.marking import Agreement, Pairing, Unmarked
from engine.operations.experiments.planning import Plan
from engine.operations.experiments.records import (
    MAX_CASE,
    Cell,
    CellPage,
    Experiment,
    Mark,
    ScorerSpec,
    State,
)
from engine.operations.table import Role, operation
from engine.records import MAX_VERSION

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_TABLE = 3_000_000
"""Maximum number of characters of a table."""
POLL_SECONDS = 0.25
"""Seconds between looks whether an experiment is over."""
Id = Annotated[str, Field(max_length=200)]
Version = Annotated[
    str, Field(max_length=100, description='The id of a version, or its beginning; by default the newest.')
]
MaxMarks = Annotated[int, Field(ge=1, le=100)]
OfVariant = Annotated[str, Field(min_length=1, max_length=200, description='The name of a variant.')]


class Datasets(Protocol):
    """Cases on which experiments run, by the name or id of their dataset. All raise `UnknownDataset`."""

    @operation(Role.VIEWER, 'GET datasets', id='list_datasets')
    async def list(self) -> list[DatasetInfo]:
        """List the datasets with their versions."""

    @operation(Role.VIEWER, 'GET datasets/{dataset}', id='get_dataset')
    async def get(self, dataset: Id) -> DatasetInfo:
        """Get a dataset with its versions."""

    @operation(Role.VIEWER, 'GET datasets/{dataset}/cases', id='list_cases')
    async def cases(
        self,
        dataset: Id,
        version: Version = '',
        *,
        split: Annotated[str, Field(max_length=100, description='Only the cases of this split.')] = '',
    ) -> Sequence[Case]:
        """List the cases of a version of a dataset."""

    @operation(Role.OPERATOR, 'POST datasets/{dataset}/versions', id='save_dataset', by_hand='upload_dataset')
    async def save(
        self,
        dataset: Id,
        cases: Annotated[Sequence[Case], Field(min_length=1, max_length=MAX_CASES)],
        *,
        note: Annotated[str, Field(max_length=2_000, description='What is new about it.')] = '',
    ) -> DatasetInfo:
        """Save cases as a version of a dataset, which is made if there is none of that name."""

    @operation(Role.VIEWER, 'POST table', id='read_table')
    async def read_table(
        self,
        text: Annotated[str, Field(max_length=MAX_TABLE, description='CSV, TSV or JSON lines.')],
        *,
        pattern: Annotated[
            str, Field(max_length=200, description='The pattern whose parameters its columns are.')
        ] = '',
        columns: Annotated[
            Mapping[str, str] | None,
            Field(description='What columns are read as, where their names do not say it.'),
        ] = None,
        preview: Annotated[int, Field(ge=0, description='Read only so many cases; 0 reads all.')] = 0,
    ) -> ImportedCases:
        """Read cases from a table, and say what is wrong with it, row by row; nothing is saved."""

    @operation(Role.OPERATOR, 'DELETE datasets/{dataset}', id='remove_dataset')
    async def remove(self, dataset: Id) -> None:
        """Remove a dataset with all its versions; experiments keep their results."""


class Experimenting(Protocol):
    """Variants of a workflow, run on the same cases. All of one experiment raise `UnknownExperiment`."""

    @operation(Role.VIEWER, 'GET experiments', id='list_experiments')
    async def list(
        self,
        *,
        state: Annotated[State | None, Field(description='Only those in this state.')] = None,
    ) -> list[Experiment]:
        """List the experiments, newest first."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}', id='get_experiment')
    async def get(self, experiment: Id) -> Experiment:
        """Get an experiment: what it compares, and how far it is."""

    @operation(Role.VIEWER, 'POST experiment-plan', id='plan_experiment')
    async def plan(self, experiment: Experiment) -> Plan:
        """Say how many runs and calls an experiment would make, at what cost, without starting it."""

    @operation(Role.OPERATOR, 'POST experiments', id='start_experiment')
    async def add(self, experiment: Experiment) -> Experiment:
        """Start an experiment."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/cells', id='list_cells')
    async def cells(
        self,
        experiment: Id,
        since: Annotated[float, Field(description='The `cursor` of an earlier response.')] = 0.0,
        case: Annotated[str, Field(max_length=MAX_CASE, description='Only the runs of this case.')] = '',
    ) -> CellPage:
        """List the runs of an experiment with their scores, or those that have changed since."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/answer', id='get_answer')
    async def answer(self, experiment: Id) -> Answer:
        """Say which variant is better, by how much, and whether that is clear."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/paths', id='get_paths')
    async def paths(self, experiment: Id) -> PathAnswer:
        """Say where the paths of variants part, and what runs scored that went there."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/trend', id='get_trend')
    async def trend(self, experiment: Id) -> Sequence[TrendPoint]:
        """Say what versions of the workflow scored in experiments like this one, the oldest first."""

    @operation(Role.VIEWER, logged=True, by_hand='export_experiment')
    def export(self, experiment: Id, *, compressed: bool = True) -> AsyncIterator[bytes]:
        """Export an experiment as a bundle: dataset, scores, marks, and the runs that you may see."""

    @operation(Role.OPERATOR, 'POST experiments/{experiment}/pause', id='pause_experiment')
    async def pause(self, experiment: Id) -> Experiment:
        """Start no more runs of an experiment; those under way go on."""

    @operation(Role.OPERATOR, 'POST experiments/{experiment}/resume', id='resume_experiment')
    async def resume(self, experiment: Id) -> Experiment:
        """Go on with an experiment that was paused, or has failed."""

    @operation(Role.OPERATOR, 'POST experiments/{experiment}/cancel', id='cancel_experiment')
    async def cancel(
        self, experiment: Id, reason: Annotated[str, Field(max_length=1_000)] = ''
    ) -> Experiment:
        """Stop an experiment, and cancel its runs that are under way."""

    @operation(Role.OPERATOR, 'POST experiments/{experiment}/rescore', id='rescore_experiment')
    async def rescore(
        self,
        experiment: Id,
        scorers: Annotated[
            Sequence[ScorerSpec] | None, Field(max_length=20, description='By default the same ones.')
        ] = None,
    ) -> Experiment:
        """Score the runs of an experiment again, perhaps with other scorers; no run is made."""

    @operation(Role.VIEWER, 'GET defaults', id='list_defaults')
    async def defaults(self) -> Sequence[LaunchDefault]:
        """List the variants that were made defaults, by pattern."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/adoption', id='plan_adoption')
    async def adoption(self, experiment: Id, variant: OfVariant) -> AdoptionPlan:
        """Say what making a variant a new version of its pattern's chart would change, or why it cannot."""

    @operation(Role.OPERATOR, 'POST experiments/{experiment}/adopt', id='adopt_variant')
    async def adopt(
        self,
        experiment: Id,
        variant: OfVariant,
        *,
        kind: Annotated[
            AdoptionKind,
            Field(
                description='As `settings` that the launch form starts from, or as a new `version` of the'
                " pattern's chart; a variant that only picks an earlier version makes that current."
            ),
        ] = 'settings',
        base: Annotated[
            str,
            Field(
                max_length=MAX_VERSION,
                description='The version of the chart that was current when you decided: if somebody has'
                ' changed it since, nothing is saved. By default any.',
            ),
        ] = '',
    ) -> LaunchDefault:
        """Make a variant the default of its pattern."""

    @operation(Role.OPERATOR, 'DELETE defaults/{pattern}', id='reset_default')
    async def reset_default(
        self,
        pattern: Id,
        *,
        version: Annotated[
            str,
            Field(
                max_length=MAX_VERSION,
                description='A version that a variant was made: the one before it is current again.',
            ),
        ] = '',
    ) -> None:
        """Take back that a variant is the default: the pattern's own defaults are used again."""

    @operation(Role.OPERATOR, 'DELETE experiments/{experiment}', id='remove_experiment')
    async def remove(self, experiment: Id) -> None:
        """Remove an experiment that is over; its runs stay."""

    @operation(Role.OPERATOR, 'POST experiments/{experiment}/marks', id='mark_cell')
    async def mark(
        self,
        experiment: Id,
        cell: Annotated[str, Field(max_length=100, description='The cell of the run.')],
        *,
        over: Annotated[
            str, Field(max_length=100, description='The cell of the run that it was compared with.')
        ] = '',
        value: Annotated[
            float | None,
            Field(ge=0, le=1, description='1 is good, or better than the other run; 0 is bad, or worse.'),
        ] = None,
        comment: Annotated[str, Field(max_length=10_000)] = '',
    ) -> Mark:
        """Say what you think of a run of an experiment, alone or compared with another."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/marks', id='list_marks')
    async def marks(self, experiment: Id) -> Sequence[Mark]:
        """List what people think of the runs of an experiment, oldest first."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/unmarked', id='list_unmarked')
    async def to_mark(self, experiment: Id, limit: MaxMarks = 10) -> Sequence[Pairing]:
        """List runs that you have not marked yet, without saying which variants made them."""

    @operation(Role.VIEWER, 'GET unmarked', id='count_unmarked')
    async def unmarked(self) -> Sequence[Unmarked]:
        """List the newest experiments with answers that you have not marked, and how many are left."""

    @operation(Role.VIEWER, 'GET experiments/{experiment}/agreement', id='get_agreement')
    async def agreement(self, experiment: Id) -> Sequence[Agreement]:
        """Say how far each scorer agrees with what people think."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentResult:
    """An experiment that is over."""

    experiment: Experiment
    cells: Sequence[Cell]
    """Its runs with their scores, by case, repeat and variant."""
    answer: Answer

    def records(self) -> list[dict[str, Any]]:
        """Return a record of each run: its case, variant, scores and use."""
        return [
            {
                'case': cell.case,
                'variant': cell.variant,
                'repeat': cell.repeat,
                'run': cell.run,
                'status': cell.status,
                **{spec.name: _value(cell, spec.name) for spec in self.experiment.scorers},
                'tokens': cell.tokens,
                'dollars': cell.dollars,
                'seconds': cell.seconds,
            }
            for cell in self.cells
        ]

    def frame(self) -> DataFrame:
        """Return the records as a pandas frame. Raises `ImportError` if pandas is not installed."""
        from pandas import DataFrame

        return DataFrame(self.records())


class _Experimenter(Protocol):
    @property
    def experiments(self) -> Experimenting: ...
    @property
    def clock(self) -> Clock: ...


async def run_experiment(conductor: _Experimenter, experiment: Experiment) -> ExperimentResult:
    """Start an experiment, wait until it is over, and return its result."""
    operations = conductor.experiments
    started = await operations.add(experiment)
    while not started.is_over:
        await conductor.clock.sleep(POLL_SECONDS)
        started = await operations.get(started.id)
    return await result_of(operations, started)


async def result_of(operations: Experimenting, experiment: Experiment) -> ExperimentResult:
    """Return the result of an experiment so far."""
    order = [variant.name for variant in experiment.variants]
    cells = (await operations.cells(experiment.id)).cells
    return ExperimentResult(
        experiment=experiment,
        cells=sorted(cells, key=lambda cell: (cell.case, cell.repeat, order.index(cell.variant))),
        answer=await operations.answer(experiment.id),
    )


def _value(cell: Cell, scorer: str) -> float | None:
    score = cell.scores.get(scorer)
    return score.value if score else None
