"""The tools of the MCP server for experiments: variants of a workflow on the cases of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, JsonValue, StrictBool, TypeAdapter, ValidationError

from engine import Case, Conductor, Experiment, InvalidInput
from engine.records import Launch
from ui.api.mcp.runs import ReportProgress
from ui.api.mcp.tool_records import SteeringTool, ToolArguments
from ui.api.wire import encode

EXPERIMENT: TypeAdapter[Experiment] = TypeAdapter(Experiment)
CASES: TypeAdapter[list[Case]] = TypeAdapter(list[Case])


class ListExperiments(ToolArguments):
    """List the datasets, and the experiments with their states, newest first."""


class StartExperiment(ToolArguments):
    """Run variants of a pattern on the same cases, to find out which is better; get_experiment says so."""

    name: str
    dataset: str = Field(
        description='The name of a dataset; with `cases`, they are saved as its new version.'
    )
    cases: list[dict[str, JsonValue]] = Field(
        [], description='Each with `id`, `parameters` of the pattern, and `expectation`.'
    )
    pattern: str
    parameters: dict[str, JsonValue] = Field({}, description='For all variants and cases.')
    variants: list[dict[str, JsonValue]] = Field(
        min_length=1,
        description='Each with `name` and `change`: fields of a launch that differ, such as `models`,'
        ' `instructions` (both by role) and `parameters`. The others are compared with the first.',
    )
    scorers: list[dict[str, JsonValue]] = Field(
        min_length=1,
        description='Each with `name`, `kind` (status, equal, contains, regex, schema, number, path, model)'
        ' and `settings`. The first decides.',
    )
    repeats: int = Field(1, ge=1, le=100)
    at_once: int = Field(4, ge=1, le=100, description='How many of its runs are under way at the same time.')
    budget: dict[str, JsonValue] | None = Field(
        None,
        description='Limits on all runs together, of `tokens`, `cost` (dollars) and `seconds`.',
    )
    stop_early: StrictBool = Field(False, description='Whether to stop once the answer is clear.')
    after: str = Field('', description='An earlier experiment: what has not changed since is not run again.')
    private: StrictBool = Field(False, description='Whether only its author and administrators can see it.')
    dry_run: bool = Field(False, description='Whether only to say how many runs and calls it would make.')


class GetExperiment(ToolArguments):
    """Show how far an experiment is, and which variant is better as far as that is clear."""

    experiment: str


class PauseExperiment(ToolArguments):
    """Start no more runs of an experiment; those under way go on."""

    experiment: str


class ResumeExperiment(ToolArguments):
    """Go on with an experiment that was paused, or has failed."""

    experiment: str


class CancelExperiment(ToolArguments):
    """Stop an experiment, and cancel its runs that are under way."""

    experiment: str
    reason: str = ''


async def _list(conductor: Conductor, arguments: ListExperiments, report: ReportProgress) -> dict[str, Any]:
    return {
        'datasets': [encode(dataset) for dataset in await conductor.datasets.list()],
        'experiments': [
            {'id': stored.id, 'name': stored.name, 'state': stored.state, 'reason': stored.reason}
            for stored in await conductor.experiments.list()
        ],
    }


async def _start(conductor: Conductor, arguments: StartExperiment, report: ReportProgress) -> dict[str, Any]:
    given = arguments.model_dump(exclude={'cases', 'pattern', 'parameters', 'private', 'dry_run'})
    try:
        cases = CASES.validate_python(arguments.cases)
        base = Launch.build(arguments.pattern, arguments.parameters, {'private': arguments.private})
        experiment = EXPERIMENT.validate_python({**given, 'base': base})
    except ValidationError as error:
        problems = {'.'.join(map(str, item['loc'])): item['msg'] for item in error.errors()}
        raise InvalidInput(problems) from None
    if cases:
        await conductor.datasets.save(experiment.dataset, cases)
    if arguments.dry_run:
        planned: dict[str, Any] = encode(await conductor.experiments.plan(experiment))
        return planned
    return await _describe(conductor, (await conductor.experiments.add(experiment)).id)


async def _get(conductor: Conductor, arguments: GetExperiment, report: ReportProgress) -> dict[str, Any]:
    return await _describe(conductor, arguments.experiment)


async def _pause(conductor: Conductor, arguments: PauseExperiment, report: ReportProgress) -> dict[str, Any]:
    await conductor.experiments.pause(arguments.experiment)
    return await _describe(conductor, arguments.experiment)


async def _resume(
    conductor: Conductor, arguments: ResumeExperiment, report: ReportProgress
) -> dict[str, Any]:
    await conductor.experiments.resume(arguments.experiment)
    return await _describe(conductor, arguments.experiment)


async def _cancel(
    conductor: Conductor, arguments: CancelExperiment, report: ReportProgress
) -> dict[str, Any]:
    await conductor.experiments.cancel(arguments.experiment, arguments.reason)
    return await _describe(conductor, arguments.experiment)


async def _describe(conductor: Conductor, experiment: str) -> dict[str, Any]:
    stored, page = await conductor.experiments.get(experiment), await conductor.experiments.cells(experiment)
    return {
        'id': stored.id,
        'state': stored.state,
        'reason': stored.reason,
        'runs': {'planned': page.planned, 'scored': sum(cell.state == 'scored' for cell in page.cells)},
        'answer': encode(await conductor.experiments.answer(experiment)),
    }


EXPERIMENT_TOOLS: Mapping[str, SteeringTool] = {
    'list_experiments': SteeringTool(ListExperiments, _list, reads=True),
    'start_experiment': SteeringTool(StartExperiment, _start),
    'get_experiment': SteeringTool(GetExperiment, _get, reads=True),
    'pause_experiment': SteeringTool(PauseExperiment, _pause),
    'resume_experiment': SteeringTool(ResumeExperiment, _resume),
    'cancel_experiment': SteeringTool(CancelExperiment, _cancel),
}
