"""Outcomes: what the runs of experiments say of paths, and of versions of a workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.history.path_statistics import paths_of
from engine.journal.protocol import Journal
from engine.operations.experiments.answer import find_answer
from engine.operations.experiments.answer.path_records import PathAnswer, RunPath
from engine.operations.experiments.answer.records import CellResult, Design, Measure, TrendPoint
from engine.operations.experiments.answer.trend import find_trend
from engine.operations.experiments.answer.words import plain, quoted
from engine.operations.experiments.records import Cell, Experiment
from engine.operations.experiments.running.runner import results_of
from engine.operations.experiments.store import ExperimentStore

NOW, LAST = 'now', 'before'
"""Names of the same variant in two experiments."""


async def read_paths(journal: Journal, experiment: Experiment, cells: Sequence[Cell]) -> PathAnswer:
    """Return where the variants of an experiment part, by the runs that are scored."""
    scored = [cell for cell in cells if cell.state == 'scored' and cell.run]
    paths = await paths_of(journal, [cell.run for cell in scored])
    main = experiment.scorers[0].name
    runs = [
        RunPath(
            case=cell.case,
            variant=cell.variant,
            score=cell.scores[main].value if main in cell.scores else None,
            stats=paths[cell.run],
        )
        for cell in scored
        if cell.run in paths
    ]
    base, *variants = [variant.name for variant in experiment.variants]
    return await asyncio.to_thread(_compare_paths, base, variants, runs)


def _compare_paths(base: str, variants: Sequence[str], runs: Sequence[RunPath]) -> PathAnswer:
    from engine.operations.experiments.answer.paths import compare_paths  # Imports SciPy.

    return compare_paths(base, variants, runs)


async def read_trend(
    store: ExperimentStore, experiment: Experiment, others: Iterable[Experiment]
) -> tuple[TrendPoint, ...]:
    """Return what the versions of a workflow scored in experiments like this one, the oldest first.

    Like this one are those with the same base, apart from its version, the same dataset and the same first
    scorer. Only variants count that change nothing, or the version.
    """
    cells: dict[str, list[CellResult]] = {}
    for other in sorted(others, key=lambda item: item.created):
        if _series(other) != _series(experiment):
            continue
        plain = [variant.name for variant in other.variants if variant.change.keys() <= {'version'}]
        results = results_of(await store.cells.list(about=other.id)) if plain else []
        for name in plain:
            version = other.parts.get(name, {}).get('version', '')
            cells.setdefault(version, []).extend(result for result in results if result.variant == name)
    measure = experiment.scorers[0].name
    return await asyncio.to_thread(find_trend, measure, list(cells.items()))


async def read_regression(store: ExperimentStore, experiment: Experiment) -> str:
    """Return why the first variant of an experiment is a regression, in words; '' if it is none.

    It is one if its mean is worse than the experiment says, or if it is worse, by the paired test, than when
    an experiment like this one was last done.
    """
    first, measure = experiment.variants[0], experiment.scorers[0]
    now = await _results(store, experiment, NOW)
    before = await _find_before(store, experiment)
    last = await _results(store, before, LAST) if before else []
    design = Design(
        base=LAST,
        variants=(NOW,),
        measures=(
            Measure(name=measure.name, lower_is_better=measure.better == 'lower', worth=measure.worth),
        ),
        cases=len({result.case for result in now}),
        repeats=experiment.repeats,
        words={NOW: quoted(first.name), LAST: 'last time'},
    )
    answer = await asyncio.to_thread(find_answer, design, [*last, *now], cut_short=True)
    mean = answer.variants[1].scores[0].mean
    if experiment.falls_short(mean):
        limit = plain(experiment.fail_under or 0.0)
        if mean is None:
            return f'{quoted(first.name)} was not scored by {measure.name}, and must reach {limit}.'
        return f'{quoted(first.name)} scored {plain(mean)} by {measure.name}, worse than {limit}.'
    return answer.text if before and answer.comparisons[0].standing == 'worse' else ''


async def _find_before(store: ExperimentStore, experiment: Experiment) -> Experiment | None:
    """Return the last experiment like this one that was done before it, with an equal first variant.

    One that is private to somebody else does not count, as this one's regression may be told to anybody.
    """
    for other in await store.experiments.list(state='done', until=experiment.created, newest=True):
        is_like_it = _series(other) == _series(experiment)
        if other.private and other.author != experiment.author:
            continue
        if other.id != experiment.id and is_like_it and other.variants[0] == experiment.variants[0]:
            return other
    return None


async def _results(store: ExperimentStore, experiment: Experiment, name: str) -> list[CellResult]:
    """Return the results of the first variant of an experiment, under another name."""
    first = experiment.variants[0].name
    results = results_of(await store.cells.list(about=experiment.id))
    return [replace(result, variant=name) for result in results if result.variant == first]


def _series(experiment: Experiment) -> tuple[object, ...]:
    launch = replace(experiment.base, version='', title='', tags=(), private=False)
    return experiment.dataset, launch, experiment.scorers[0]
