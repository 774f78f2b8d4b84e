"""What experiments say of paths, and of versions of a workflow."""

from typing import Any

import pytest

from engine import LocalConductor
from engine.operations.experiments.answer import CellResult
from engine.operations.experiments.answer.trend import find_trend
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.records import Experiment, ScorerSpec, Variant
from engine.records import Launch
from tests.support.charts.echo import Echo

CASES = [Case(id=f'case {n}', parameters={'answer': f'{n} loaves'}, expectation=str(n)) for n in range(8)]


async def run_experiment(conductor: LocalConductor, **values: Any) -> Experiment:
    """Run an experiment in which one variant takes a detour."""
    conductor.catalog.add(Echo)
    await conductor.datasets.save('loaves', CASES)
    variants = (
        Variant(name='straight'),
        Variant(name='alike', change={'parameters': {'task': 'Say it again'}}),
        Variant(name='around', change={'parameters': {'detour': True}}),
    )
    fields = {'base': Launch(pattern='echo'), 'variants': variants, 'repeats': 2, **values}
    scorers = (ScorerSpec(name='right', kind='contains'),)
    result = await conductor.experiment(
        Experiment(name='Loaves', dataset='loaves', scorers=scorers, **fields)
    )
    return result.experiment


def cell(variant: str, score: float | None, case: str) -> CellResult:
    return CellResult(case=case, variant=variant, scores={'quality': score})


def test_a_trend_compares_versions_on_the_cases_they_share() -> None:
    def version(first: int, gain: float) -> list[CellResult]:
        return [cell('A', case / 10 + gain, str(case)) for case in range(first, first + 8)]

    one, two, apart = find_trend(
        'quality', [('1', version(0, 0)), ('2', version(2, 0.5)), ('3', []), ('4', version(50, 0))]
    )
    assert (one.version, one.cases, one.mean, one.change) == ('1', 8, pytest.approx(0.35), None)
    assert one.low < 0.35 < one.high
    assert two.mean == pytest.approx(1.05) and two.change == pytest.approx(0.5) == two.change_low
    assert (apart.version, apart.change, apart.change_high) == ('4', None, None)


async def test_where_variants_part_is_read_from_their_runs() -> None:
    async with LocalConductor() as conductor:
        ended = await run_experiment(conductor)
        answer = await conductor.experiments.paths(ended.id)
        assert answer == await conductor.experiments.paths(ended.id)
    apart = {str(item.place): item for item in answer.places if item.gap}
    assert set(apart) == {'`around`', '`start` to `around`', '`around` to `end`', '`start` to `end`'}
    alike, around = apart['`around`'].partings
    assert (alike.variant, alike.gap, alike.clear) == ('alike', 0, False)
    assert (around.variant, around.gap, around.clear) == ('around', 1, True)
    use = apart['`around`'].uses[2]
    assert (use.runs, use.of, use.times, use.score) == (16, 16, 1, 1)


async def test_versions_are_compared_over_experiments_like_one_another() -> None:
    async with LocalConductor() as conductor:
        first = await run_experiment(conductor)
        await run_experiment(conductor, repeats=1)
        await run_experiment(conductor, base=Launch(pattern='echo', parameters={'fails': True}))
        (point,) = await conductor.experiments.trend(first.id)
    assert (point.version, point.cases, point.mean) == (first.parts['straight']['version'], 8, 1.0)
    assert point.change is None
