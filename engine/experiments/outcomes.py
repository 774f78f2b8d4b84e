"""Outcomes: what the runs of experiments say of paths, and of versions of a workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.experiments.answer.path_records import PathAnswer, RunPath
from engine.experiments.answer.records import CellResult, TrendPoint
from engine.experiments.answer.trend import find_trend
from engine.experiments.records import Cell, Experiment
from engine.experiments.runner import results_of
from engine.experiments.store import ExperimentStore
from engine.history.path_statistics import paths_of
from engine.journal.protocol import Journal


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
    from engine.experiments.answer.paths import compare_paths  # Imports SciPy.

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


def _series(experiment: Experiment) -> tuple[object, ...]:
    launch = replace(experiment.base, version='', title='', tags=(), private=False)
    return experiment.dataset, launch, experiment.scorers[0]
