"""Merges of agents' work: the in-process conductor and the HTTP one behave alike."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine import Conductor, InvalidInput, LocalConductor
from engine.errors import UnknownRun, WorkspaceError
from engine.history import Pick
from engine.history.merging import COMPOSED_AGENT
from engine.journal import MemoryJournal
from engine.records import RunId
from engine.workspace.git.merge import Resolution
from tests.support.harness import FakeModel, catalog, complete_run
from tests.support.teams.merging import ONE, TEXT, Making, git, make_project

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / 'project')


@pytest.fixture
async def local_conductor(tmp_path: Path) -> AsyncIterator[Conductor]:
    own_catalog = catalog(FakeModel(), Making)
    async with LocalConductor(
        MemoryJournal(), catalog=own_catalog, workspaces=tmp_path / 'files'
    ) as conductor:
        yield conductor


@pytest.fixture
async def run(local_conductor: Conductor, project: Path) -> RunId:
    return await complete_run(local_conductor, 'making', project=str(project))


async def test_a_result_is_composed_tested_and_merged(conductor: Conductor, run: RunId, project: Path):
    merging = conductor.merging
    mergeable = await merging.mergeable(run)
    assert (set(mergeable.folders), mergeable.best, mergeable.branches) == ({'one', 'two'}, '', ('main',))
    assert [change.path for change in await merging.changes(mergeable, 'one')] == ['a.txt']
    with pytest.raises(InvalidInput, match='name whose work'):
        await merging.preview(mergeable)
    with pytest.raises(InvalidInput, match='has 2 changes'):
        await merging.compose(mergeable, [Pick(path='a.txt', agent='one', hunks=(2,))])
    composed = await merging.compose(mergeable, [Pick(path='a.txt', agent='one', hunks=(0,))])
    assert composed.best == COMPOSED_AGENT
    look = await merging.preview(composed)
    assert (look.branch, look.paths, look.conflicts) == ('main', ('a.txt',), ())
    assert '+three' in look.patch and '+late' not in look.patch
    assert git(project, 'rev-parse', 'main') == look.onto
    assert await merging.merge(composed, look, message='Take one change') == git(project, 'rev-parse', 'main')
    assert git(project, 'log', '-1', '--format=%s') == 'Take one change'
    assert (project / 'a.txt').read_text() == TEXT.replace('3\n', 'three\n', 1)


async def test_tests_are_run_on_an_agents_work(conductor: Conductor, run: RunId):
    mergeable = await conductor.merging.mergeable(run)
    assert (await conductor.merging.test(mergeable, 'one')).ran.code == 0
    assert (await conductor.merging.test(mergeable, 'two')).ran.code != 0


async def test_a_branch_that_moved_is_not_overwritten(conductor: Conductor, run: RunId, project: Path):
    mergeable = await conductor.merging.mergeable(run)
    look = await conductor.merging.preview(mergeable, 'one')
    git(project, 'commit', '-q', '--allow-empty', '-m', 'meanwhile')
    tip = git(project, 'rev-parse', 'main')
    with pytest.raises(WorkspaceError, match='main has moved'):
        await conductor.merging.merge(mergeable, look, 'one')
    assert git(project, 'rev-parse', 'main') == tip


async def test_a_conflict_is_reported_and_resolved(conductor: Conductor, run: RunId, project: Path):
    (project / 'a.txt').write_text(TEXT.replace('3\n', 'drei\n', 1))
    git(project, 'commit', '-q', '-a', '-m', 'meanwhile')
    mergeable = await conductor.merging.mergeable(run)
    look = await conductor.merging.preview(mergeable, 'one', 'main')
    assert [conflict.path for conflict in look.conflicts] == ['a.txt']
    with pytest.raises(WorkspaceError, match='resolve these first'):
        await conductor.merging.merge(mergeable, look, 'one')
    chosen = {'a.txt': Resolution(side='theirs')}
    look = await conductor.merging.preview(mergeable, 'one', 'main', resolutions=chosen)
    await conductor.merging.merge(mergeable, look, 'one', resolutions=chosen)
    assert (project / 'a.txt').read_text() == ONE


async def test_a_run_can_be_merged_without_its_pattern(local_conductor: Conductor, run: RunId, project: Path):
    before = await local_conductor.merging.mergeable(run)
    del local_conductor.catalog.patterns['making']
    assert await local_conductor.merging.mergeable(run) == before
    assert (before.project, set(before.folders)) == (str(project), {'one', 'two'})


async def test_missing_things_are_reported(conductor: Conductor, run: RunId):
    with pytest.raises(UnknownRun):
        await conductor.merging.mergeable(RunId('nothing'))
    with pytest.raises(InvalidInput, match='has not finished a turn'):
        await conductor.merging.send_back(run, 'one', 'again')


async def test_bad_input_is_a_problem(url: str, run: RunId):
    bodies: dict[str, list[tuple[dict[str, Any], int]]] = {
        'preview': [({'agent': 'nobody'}, 422), ({'agent': 'one', 'into': '../x y'}, 409)],
        'merge': [
            ({'agent': 'one', 'into': 'main'}, 422),
            ({'agent': 'one', 'into': 'main', 'onto': 'x'}, 409),
        ],
        'compose': [({'picks': []}, 422), ({'picks': [{'path': '../../x', 'agent': 'one'}]}, 422)],
        'test': [({'result': ['', 'f' * 64]}, 409), ({'result': ['', '../../etc']}, 422)],
        'send-back': [({'agent': 'one', 'text': ''}, 422)],
    }
    async with httpx.AsyncClient(base_url=f'{url}/api/v1/runs/{run}/merging/') as http:
        for path, cases in bodies.items():
            for body, status in cases:
                response = await http.post(path, json=body)
                assert response.status_code == status, (path, body, response.text)
                assert response.headers['content-type'] == 'application/problem+json'
