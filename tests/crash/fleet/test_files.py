"""A run whose agent writes files continues with them on a machine that has none of them."""

from __future__ import annotations

import io
import os
import zipfile

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, Process, check_journal, launch, until
from tests.support.servers.s3 import S3Server

pytestmark = [pytest.mark.slow, pytest.mark.long]
SQLITE = True
STEPS = 30


def machine(fleet: Fleet, name: str, files: str) -> dict[str, str]:
    """The environment of another machine: a separate, empty home."""
    return {
        'HEMICYCLE_HOME': str(fleet.home / name),
        'HEMICYCLE_FILES': files,
        'HEMICYCLE_FLEET_TOKEN': 'a token of the whole fleet',
    }


@pytest.fixture
def files(s3: S3Server) -> str:
    return s3.bucket()


@pytest.fixture
async def server(fleet: Fleet, files: str) -> Process:
    return await fleet.web(**machine(fleet, 'web', files))


async def seq(journal: Journal, run: str) -> int:
    return (await journal.info(RunId(run))).seq


async def test_files_follow_a_run_to_another_machine(
    fleet: Fleet, files: str, web: httpx.AsyncClient, reader: Journal
) -> None:
    first = await fleet.worker(**machine(fleet, 'first', files))
    run = await launch(web, 'filing', steps=STEPS)

    async def halfway() -> bool:
        return await seq(reader, run) > STEPS // 3

    await until(halfway, 'some files are written')
    first.kill()
    before = await seq(reader, run)
    second = await fleet.worker(**machine(fleet, 'second', files))
    await fleet.wait_for_end([run], reader)
    info = await reader.info(RunId(run))
    assert (info.status, before < info.seq) == (Status.DONE, True), second.log.read_text()
    steps = (await check_journal(fleet.database, [run]))[run]
    names = [f'{number:03}.txt' for number in range(STEPS)]
    assert sorted(os.listdir(fleet.home / 'second' / 'workspaces' / run / 'agents' / 'desk')) == names
    assert not (fleet.home / 'web' / 'workspaces' / run / 'agents').exists()
    listed = (await web.get(f'runs/{run}/files')).json()
    assert [file['path'] for item in listed for file in item['files']] == names
    (snapshot,) = (item['snapshot'] for item in listed)
    archive = await web.get(f'runs/{run}/snapshots/{snapshot}/archive')
    with zipfile.ZipFile(io.BytesIO(archive.content)) as packed:
        assert packed.read(names[-1]) == b'file %d' % (STEPS - 1)
    artifact = [step.event.data['artifact'] for step in steps if 'artifact' in step.event.data][-1]
    assert (await web.get(f'runs/{run}/contents/{artifact}')).content == b'artifact %d' % (STEPS - 1)


async def test_runs_wait_while_the_bucket_is_unavailable(
    fleet: Fleet, files: str, web: httpx.AsyncClient, reader: Journal, s3: S3Server
) -> None:
    await fleet.worker(**machine(fleet, 'first', files))
    run = await launch(web, 'filing', steps=STEPS)

    async def has_begun() -> bool:
        return await seq(reader, run) > 5

    await until(has_begun, 'some files are written')
    with s3.away():
        stood = [await seq(reader, run)]

        async def stands() -> bool:
            stood.append(await seq(reader, run))
            return len(stood) > 40 and stood[-40] == stood[-1]

        await until(stands, 'the run waits')
        assert stood[-1] < STEPS
    await fleet.wait_for_end([run], reader)
    assert (await reader.info(RunId(run))).status is Status.DONE
    await check_journal(fleet.database, [run])


async def test_a_worker_does_not_start_without_its_bucket(fleet: Fleet, s3: S3Server) -> None:
    worker = fleet._start('worker', 'serve', **machine(fleet, 'first', 's3://nothing-here/x'))
    await until(lambda: worker.ended is not None, 'it gives up')
    assert f's3://nothing-here/x at {s3.url}: there is no bucket of that name' in worker.log.read_text()
