"""Checks: an experiment on recordings, run aside from all other runs, without models, tools or people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.errors import EngineError, InvalidInput
from engine.history.bundle.closing import is_closing
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.experiments import Experiments
from engine.operations.experiments.files.yaml_file import ExperimentFile
from engine.operations.experiments.records import Cell, Experiment, Miss, Score, ScorerSpec
from engine.records import RunId, Transition

ASKING = ('model', 'people')
"""Kinds of scorers that ask somebody."""
FULL, NONE = 1.0, 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """How a case, run by a variant, compares with its recording and with what is expected of it."""

    case: str
    variant: str
    repeat: int = 1
    steps: int = 0
    parted: int = 0
    """The first step that differs from the recording; 0 if none does."""
    misses: tuple[Miss, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything is as expected."""
        return not self.misses


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What came of a check."""

    runs: tuple[CheckedRun, ...]
    """All of them, by case, repeat and variant."""

    @property
    def passed(self) -> bool:
        """Whether every run is as expected."""
        return all(run.passed for run in self.runs)


class _Place(Protocol):
    """A conductor without other runs."""

    @property
    def experiments(self) -> Experiments: ...
    async def transitions(self, run: RunId) -> list[Transition]: ...


async def check_file(place: _Place, file: ExperimentFile) -> CheckResult:
    """Run the experiment of a file on its recordings, and say what is not as expected.

    Every scorer has to give the best score: 1, or 0 if lower ones are better. The first one may fall short of
    it as far as `fail_under` allows.

    Args:
        place: a conductor in memory, to which the runs are written.
        file: the experiment with its cases.

    Raises:
        UnknownPattern, PatternError
        InvalidInput: it cannot be run without models or people, or is not (or no longer) valid; names the
            field.
    """
    experiment = file.experiment
    _check_is_offline(file)
    operations = place.experiments
    dataset = await operations.datasets.save(experiment.dataset, file.cases)
    # Every run is checked: recordings cost nothing, so that nothing ends it early.
    whole = replace(experiment, dataset=dataset.id, version='', after='', budget=None, stop_early=False)
    started = await operations.add(whole)
    await operations.wait(started.id)
    ended = await operations.get(started.id)
    if ended.state != 'done':
        raise EngineError(ended.reason or f'the check is {ended.state}')
    cases = {case.id: case for case in await operations.datasets.cases(dataset.id)}
    cells = (await operations.cells(ended.id)).cells
    places = {variant.name: number for number, variant in enumerate(experiment.variants)}
    order = {case: number for number, case in enumerate(cases)}
    runs = [
        await _checked(place, ended, cell, cases[cell.case])
        for cell in sorted(cells, key=lambda cell: (order[cell.case], cell.repeat, places[cell.variant]))
    ]
    return CheckResult(runs=tuple(runs))


def _check_is_offline(file: ExperimentFile) -> None:
    problems: dict[str, str] = {}
    if not file.experiment.recorded:
        problems['recorded'] = 'must be true: a check calls no model'
    if not file.cases:
        problems['cases'] = 'must be in the file, with their recordings'
    for place, spec in enumerate(file.experiment.scorers):
        if spec.kind in ASKING:
            problems[f'scorers.{place}.kind'] = f'a check asks nobody, as {spec.kind!r} would'
    for case in file.cases:
        if case.recording is None:
            problems[f'cases.{case.id}.recording'] = 'is missing: `test save` writes it'
    if problems:
        raise InvalidInput(dict([*problems.items()][:20]))


async def _checked(place: _Place, experiment: Experiment, cell: Cell, case: Case) -> CheckedRun:
    recorded = await place.transitions(case.source)
    steps = await place.transitions(cell.run) if cell.run else []
    return CheckedRun(
        case=cell.case,
        variant=cell.variant,
        repeat=cell.repeat,
        steps=len(steps),
        parted=_first_difference(recorded[: len(recorded) - is_closing(recorded)], steps),
        misses=tuple(_misses(experiment, cell)),
    )


def _misses(experiment: Experiment, cell: Cell) -> Iterator[Miss]:
    if not cell.run:
        yield Miss(what='status', wanted='a run', came=cell.error)
        return
    for place, spec in enumerate(experiment.scorers):
        score = cell.scores.get(spec.name) or Score(reason=f'the run is {cell.status}')
        is_enough = _is_best(score, spec)
        if score.value is not None and place == 0 and experiment.fail_under is not None:
            is_enough = not experiment.falls_short(score.value)
        if not is_enough:
            yield from score.misses or (_shortfall(spec, score),)


def _is_best(score: Score, spec: ScorerSpec) -> bool:
    if score.value is None:
        return False
    return score.value <= NONE if spec.better == 'lower' else score.value >= FULL


def _shortfall(spec: ScorerSpec, score: Score) -> Miss:
    why = f': {score.reason}' if score.reason else ''
    came = f'not scored{why}' if score.value is None else f'{score.value:.3g}{why}'
    return Miss(what=spec.name, wanted='0' if spec.better == 'lower' else '1', came=came)


def _first_difference(recorded: Sequence[Transition], steps: Sequence[Transition]) -> int:
    pairs = zip(recorded, steps, strict=False)
    seq = next((now.seq for was, now in pairs if was.active != now.active), 0)
    return seq or (min(len(recorded), len(steps)) + 1 if len(recorded) != len(steps) else 0)
