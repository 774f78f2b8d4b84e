"""Ready-made inputs: samples that the scripted model knows, and earlier inputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nicegui import ui
from pydantic import BaseModel

from engine import Conductor, EngineError, Pattern
from engine.charts import ChartPattern
from engine.models.scripted import Sample, has_scenario, scenarios
from engine.records import Launch, RunInfo, RunQuery
from ui.app.backend import Backend

MAX_SEARCHED = 60
"""Number of newest runs searched for earlier inputs and recordings."""
MAX_OFFERED = 8
"""Maximum number of earlier inputs, and of recordings, that are offered."""
FIRST = 'pipeline'
"""The pattern shown to new users."""
SAMPLE = 'sample'
"""The tag of runs of samples."""


def samples(pattern: type[Pattern]) -> list[Sample]:
    """Return the pattern's samples, its own example first."""
    example = _example(pattern)
    offered = _scenarios_of(pattern) if issubclass(pattern, ChartPattern) else scenarios(pattern.name)
    if offered:
        return sorted(offered, key=lambda sample: not _contains(sample, example or {}))
    if example is None:
        return []
    return [Sample(name='example', title=f'{pattern.title}: example', about='', task='', parameters=example)]


def _scenarios_of(chart: type[ChartPattern]) -> list[Sample]:
    """Return the scenarios in the file of a chart; each has the chart's stubs if it has none of its own."""
    return [
        Sample(
            name=scenario.title,
            title=scenario.title,
            about=scenario.about,
            task='',
            parameters=scenario.parameters,
            stubs=chart.stubs_for(scenario),
        )
        for scenario in chart.file.scenarios
    ]


def is_known(pattern: type[Pattern], parameters: BaseModel | None) -> bool:
    """Return whether the scripted model has a scenario for an input; True for an incomplete input."""
    if parameters is None:
        return True
    values = parameters.model_dump(mode='json')
    return has_scenario(pattern.name, pattern.sample(values).task, values)


def title_of_sample(pattern: str, parameters: Mapping[str, Any]) -> str:
    """Return the title of the sample that an input is, or ''."""
    fits = (item.title for item in scenarios(pattern) if item.parameters.items() <= parameters.items())
    return next(fits, '')


def _contains(sample: Sample, example: Mapping[str, Any]) -> bool:
    return all(sample.parameters.get(name) == value for name, value in example.items())


def _example(pattern: type[Pattern]) -> dict[str, Any] | None:
    """Return the first example of each field; None if a required field has none."""
    example: dict[str, Any] = {}
    for name, field in pattern.Parameters.model_fields.items():
        if field.examples:
            example[name] = field.examples[0]
        elif field.is_required():
            return None
    return example


async def newest_runs(conductor: Conductor, pattern: str) -> Sequence[RunInfo]:
    """Return the newest runs of the pattern; none if the journal cannot be read."""
    try:
        return (await conductor.runs(RunQuery(pattern=pattern, limit=MAX_SEARCHED))).runs
    except EngineError:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSample:
    """A sample, and whether it has been run."""

    pattern: str
    sample: Sample
    was_run: bool


async def last_sample(conductor: Conductor, patterns: Mapping[str, type[Pattern]]) -> FoundSample | None:
    """Return the sample that was run last, or else the first; those that name models are left out."""
    try:
        runs = (await conductor.runs(RunQuery(tag=SAMPLE, limit=MAX_SEARCHED))).runs
    except EngineError:
        runs = ()
    offered = {
        name: [sample for sample in samples(pattern) if not sample.models]
        for name, pattern in patterns.items()
    }
    for info in runs:
        for sample in offered.get(info.pattern, ()):
            if info.title == sample.title:
                return FoundSample(pattern=info.pattern, sample=sample, was_run=True)
    for name in (FIRST, *patterns):
        if ready := offered.get(name):
            return FoundSample(pattern=name, sample=ready[0], was_run=False)
    return None


def distinct_inputs(runs: Iterable[RunInfo]) -> list[RunInfo]:
    """Return the first runs with distinct inputs."""
    distinct: dict[str, RunInfo] = {}
    for info in runs:
        distinct.setdefault(json.dumps(info.parameters, sort_keys=True, default=str), info)
    return list(distinct.values())[:MAX_OFFERED]


class Starter:
    """Starts one run and opens it; clicks while it is starting are ignored."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self.busy = backend, False

    async def start(self, launch: Launch) -> None:
        """Start a run and open its page; one of a sample's input has its title. Raises `EngineError`."""
        if self.busy:
            return
        self.busy = True
        title = launch.title or title_of_sample(launch.pattern, launch.parameters)
        try:
            run = (await self._backend().start(replace(launch, title=title))).id
        except BaseException:
            self.busy = False
            raise
        ui.navigate.to(f'/runs/{run}')

    async def start_sample(self, pattern: str, sample: Sample, model: str = '') -> bool:
        """Start a sample and open its page, or show why it does not start; return whether it does.

        By default the scripted model answers, unless the sample names another `model`.
        """
        models = {'': model} if model else sample.models
        try:
            await self.start(
                Launch(
                    pattern=pattern,
                    parameters=sample.parameters,
                    models=models,
                    stubs={} if model else sample.stubs,
                    title=sample.title if sample.stubs else '',
                    tags=(SAMPLE,),
                )
            )
        except EngineError as error:
            ui.notify(f'The sample did not start: {error}', type='negative', close_button='Close')
            return False
        return True
