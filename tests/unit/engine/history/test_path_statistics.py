"""Path statistics of real runs, and of a damaged journal."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from engine import Conductor, LocalConductor, SimulatedClock, Status
from engine.history import path_statistics
from engine.records import RunId, RunQuery
from storage import open_journal
from tests.support.harness import FakeModel, catalog, complete_run, pipeline_reply


def make_conductor(journal: object = None) -> Conductor:
    return LocalConductor(journal, catalog=catalog(FakeModel(pipeline_reply)), clock=SimulatedClock())  # type: ignore[arg-type]


async def run_pipeline(conductor: Conductor, tags: tuple[str, ...] = ()) -> RunId:
    run = await complete_run(conductor, 'pipeline', {'task': 'a question'}, tags=tags)
    return run


async def test_the_loop_of_the_pipeline_is_counted_over_many_runs() -> None:
    async with make_conductor() as conductor:
        for _ in range(3):
            await run_pipeline(conductor)
        traffic = await conductor.traffic(RunQuery(pattern='pipeline'))
        edges = {f'{edge.source}>{edge.dest}': (edge.times, edge.runs) for edge in traffic.edges}
        assert edges['reviewing>analyzing'] == edges['researching>analyzing'] == (3, 3)
        analyzing = next(state for state in traffic.states if state.path == 'analyzing')
        assert (analyzing.runs, analyzing.visits, analyzing.repeated, analyzing.most) == (3, 6, 3, 2)
        assert traffic.statuses == {Status.DONE: 3} and not traffic.unread
        assert traffic.shapes == ((conductor.catalog.draw('pipeline', {'task': 'a question'}), 3),)


async def test_a_list_by_edge_needs_no_prior_survey() -> None:
    async with make_conductor() as conductor:
        run = await run_pipeline(conductor)
        assert [
            info.id for info in (await conductor.runs(RunQuery(edges=('reviewing>analyzing',)))).runs
        ] == [run]
        assert (await conductor.runs(RunQuery(state='reviewing', trouble=True))).total == 0


async def test_a_damaged_history_is_left_out_and_named(tmp_path: Path) -> None:
    async with make_conductor(await open_journal(tmp_path / 'runs.db')) as conductor:
        broken, _ = await run_pipeline(conductor), await run_pipeline(conductor)
        connection = sqlite3.connect(tmp_path / 'runs.db')
        connection.execute('UPDATE "transition" SET body = x\'00\' WHERE run = 1 AND seq = 3')
        connection.commit()
        connection.close()
        traffic = await conductor.traffic()
        assert list(traffic.unread) == [broken] and 'step 3' in traffic.unread[broken]
        assert {edge.runs for edge in traffic.edges} == {1}


async def test_a_cancelled_survey_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_statistics, 'RUNS_PER_WRITE', 2)
    async with make_conductor() as conductor:
        for _ in range(3):
            await run_pipeline(conductor)
        progress: list[tuple[int, int]] = []

        def tell(done: int, of: int) -> None:
            progress.append((done, of))
            if done == 2:
                looking.cancel()

        looking = asyncio.ensure_future(conductor.traffic(progress=tell))
        with pytest.raises(asyncio.CancelledError):
            await looking
        assert (await conductor.traffic(progress=lambda done, of: progress.append((done, of)))).runs == 3
        assert progress == [(0, 3), (2, 3), (0, 1), (1, 1)]
