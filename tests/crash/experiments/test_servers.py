"""An experiment on two servers that share a PostgreSQL database: the one that runs it is killed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from engine.operations.experiments import SAMPLE, ScorerSpec, read_experiment
from tests.crash.experiments.api import api_of
from tests.crash.fleet.processes import check_journal
from tests.crash.test_postgres_servers import Servers


@pytest.mark.slow
@pytest.mark.long
async def test_the_other_server_goes_on_with_an_experiment(tmp_path: Path, postgres_url: str) -> None:
    servers, sample = Servers(tmp_path, postgres_url), read_experiment(SAMPLE)
    people = ScorerSpec(name='liked', kind='people')
    experiment = replace(sample.experiment, scorers=(*sample.experiment.scorers, people))
    try:
        first = await servers.web(HEMICYCLE_PACE='20')
        second = await servers.web(HEMICYCLE_PACE='20')
        async with api_of(first) as one, api_of(second) as two:
            key = await one.begin(replace(sample, experiment=experiment))
            await two.wait_scored(key, 5, second)
            marked = next(cell['id'] for cell in await two.cells(key) if cell['state'] == 'scored')
            await two.post(f'experiments/{key}/marks', {'cell': marked, 'value': 1.0})
            first.kill()
            await two.wait_scored(key, await two.scored(key) + 8, second)
            cancelled = await two.begin(sample)
            await two.wait_scored(cancelled, 3, second)
            await two.post(f'experiments/{cancelled}/cancel')
            assert (await two.wait_over(key))['state'] == 'done'
            cells, rest = await two.cells(key), await two.cells(cancelled)
            runs = {run['id']: run['status'] for run in (await two.read('runs?limit=200'))['items']}
    finally:
        servers.close()
    assert Counter(cell['state'] for cell in cells) == {'scored': 48}
    assert {cell['id'] for cell in cells if cell['scores']['liked']['value'] == 1.0} == {marked}
    assert 'running' not in {cell['state'] for cell in rest}
    assert runs == {cell['run']: cell['status'] for cell in (*cells, *rest)}
    await check_journal(servers.database, [*runs])
