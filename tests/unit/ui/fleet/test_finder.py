"""Which worker may take a run: one that has its version, or one whose code leads through its steps alike."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from engine import Catalog
from engine.charts.library import ChartLibrary
from engine.errors import InvalidInput, UnknownPattern
from tests.support.charts.files import chart_text
from tests.support.harness import Lone
from ui.app.fleet import WorkerInfo
from ui.fleet.finder import Finder
from ui.fleet.owners import address_of, name_of, owner_of
from ui.fleet.records import Placement
from ui.fleet.worker import served_versions


class Connected:
    """A worker that can be reached, and says whether its code fits a run."""

    def __init__(self, info: WorkerInfo, problem: str) -> None:
        self._info, self._problem = info, problem

    async def one(self, kind: Any, path: str) -> WorkerInfo:
        return self._info

    async def ask(self, *request: Any, **options: Any) -> Any:
        return SimpleNamespace(json=lambda: {'problem': self._problem})


def finder(*versions: tuple[str, ...], problem: str = '') -> Finder:
    """A fleet whose workers have these versions of the pattern `ask`."""
    owners = [owner_of(f'http://w{number}:1') for number in range(len(versions))]
    workers = {
        address_of(owner): WorkerInfo(name=name_of(owner), url=address_of(owner), patterns={'ask': each})
        for owner, each in zip(owners, versions, strict=True)
    }

    async def pollers() -> list[str]:
        return owners

    temporal = cast(Any, SimpleNamespace(pollers=pollers))
    return Finder(temporal, lambda url: cast(Any, Connected(workers[url], problem)))


def placement(version: str) -> Placement:
    return Placement(run='r', pattern='ask', version=version)


async def test_a_worker_that_has_an_earlier_version_takes_its_runs() -> None:
    assert (await finder(('c',), ('b', 'a')).find(placement('a'))).version == 'a'


async def test_a_run_whose_version_nobody_has_waits_unless_other_code_fits() -> None:
    gone = await finder(('c',), ('b', 'a'), problem='version z is gone').find(placement('z'))
    assert gone.version == '' and 'version z is gone' in gone.reason
    assert (await finder(('c',), ('b', 'a')).find(placement('z'))).version in ('b', 'c')


def test_a_worker_serves_all_versions_of_charts_also_of_removed_ones(tmp_path: Path) -> None:
    catalog = Catalog(patterns={'lone': Lone})
    charts = ChartLibrary(catalog, tmp_path)
    one = charts.save('ask', chart_text('first'), base='').version
    two = charts.save('ask', chart_text('second'), base=one).version
    charts.save('ask', chart_text('first'), base=two)
    charts.show(charts.look())
    lone = (Lone.version,)
    assert served_versions(catalog, ()) == {'lone': lone, 'ask': (one, two)}
    assert served_versions(catalog, ('lone',)) == {'lone': lone}
    charts.remove('ask')
    charts.show(charts.look())
    assert served_versions(catalog, ()) == {'lone': lone, 'ask': (two, one)}
    with pytest.raises(UnknownPattern):
        served_versions(catalog, ('ask',))
    with pytest.raises(InvalidInput):
        served_versions(Catalog(), ())
