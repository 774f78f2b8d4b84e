"""A conductor with a dataset, for the pages of experiments."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine import Catalog, LocalConductor
from engine.charts.library import ChartLibrary
from engine.operations.experiments import Case, Experiment, ScorerSpec, Variant
from engine.records import Launch
from tests.support.charts.echo import Echo

LOAVES = Experiment(
    name='Loaves',
    dataset='loaves',
    base=Launch(pattern='echo'),
    variants=(
        Variant(name='as it is'),
        Variant(name='wrong', change={'parameters': {'answer': 'none'}}),
        Variant(name='breaks', change={'parameters': {'fails': True}}),
    ),
    scorers=(ScorerSpec(name='right', kind='contains'), ScorerSpec(name='status', kind='status')),
)


@pytest.fixture
async def conductor(tmp_path: Path) -> AsyncIterator[LocalConductor]:
    """A conductor with eight cases of a pattern that answers what it is given, and a folder for charts."""
    catalog = Catalog.load()
    ChartLibrary(catalog, tmp_path)
    async with LocalConductor(catalog=catalog) as conductor:
        conductor.catalog.add(Echo)
        cases = [
            Case(id=f'case {n}', parameters={'answer': f'{n} loaves'}, expectation=str(n)) for n in range(8)
        ]
        await conductor.datasets.save('loaves', cases)
        yield conductor


@pytest.fixture
async def over(conductor: LocalConductor) -> Experiment:
    """An experiment that is over."""
    return (await conductor.experiment(LOAVES)).experiment
