"""Runs with shared files: they continue on another machine with the files of their last step."""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine import Activity, Catalog, Conductor, LocalConductor, Memory, Pattern, Status
from engine.agents.chart import agent
from engine.errors import FilesUnavailable, UnknownRun, WorkspaceError
from engine.journal import MemoryJournal
from engine.models.recording.exchange import read_exchanges
from engine.records import JournalOutage, RunId, Transition
from engine.tools.builtin.project.read_file import read_file
from engine.workspace import Workspaces
from storage.s3.files import S3Files
from tests.support.harness import FakeModel, HastyClock, catalog, complete_run, first_steps, until
from tests.support.servers.s3 import S3Server
from tests.unit.engine.models.test_recordings import FAR, Provider, make_catalog, sources
from tests.unit.engine.workspace.test_run_files import Pair, at_step, jot, list_files, writing

pytestmark = pytest.mark.slow


class Machines:
    """Conductors on one journal and one bucket, each with its own home."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.files, self.journal = folder, S3Files(url), MemoryJournal()

    def open(self, home: str, model: Any = None, **more: Any) -> Conductor:
        own_catalog = (
            model if isinstance(model, Catalog) else catalog(model or writing(2), Pair, tools=(jot,))
        )
        options = {'journal': self.journal, 'owner': home, 'workspaces': self.folder / home}
        return LocalConductor(**{**options, 'catalog': own_catalog, 'files': self.files, **more})


@pytest.fixture
def machines(s3: S3Server, tmp_path: Path) -> Machines:
    return Machines(tmp_path, s3.bucket())


async def wait_for_snapshots(conductor: Conductor, run: RunId, snapshots: int) -> None:
    """Wait until this many steps name a snapshot."""
    async for item in conductor.watch(run):
        snapshots -= isinstance(item, Transition) and 'snapshots' in item.event.data
        if not snapshots:
            return


async def test_a_run_continues_elsewhere_with_its_files(machines: Machines) -> None:
    async with machines.open('first', writing(2, hangs=True)) as first:
        run = (await first.start('pair')).id
        await wait_for_snapshots(first, run, 4)
    async with machines.open('second', writing(3)) as second:
        assert await second.recover() == [run]
        assert (await second.result(run)).status is Status.DONE
        assert list_files(second, run, 'one') == ['one-0', 'one-1', 'one-2']
        assert list_files(second, run, 'two') == ['two-0', 'two-1', 'two-2']
        assert await second.audit(run)
    async with machines.open('web') as web:
        last = (await web.info(run)).seq
        assert await at_step(web, run, last) == {
            'both.one': ['one-0', 'one-1', 'one-2'],
            'both.two': ['two-0', 'two-1', 'two-2'],
        }


async def test_a_run_that_was_only_journaled_elsewhere_starts_with_its_files(machines: Machines) -> None:
    class Reader(Pair):
        """One agent that reads files."""

        initial = 'working'
        states = (agent('working', prompt='ask', tools=('read_file',)), *Pair.states[1:])
        transitions = (['done', 'working', 'end'], ['failed', 'working', 'end'])

    patterns = catalog(FakeModel('over'), Reader, tools=(read_file,))
    async with machines.open('first', patterns) as first:
        run = await complete_run(first, 'reader', files={'a.txt': 'text'})
    machines.journal = await first_steps(machines.journal, run, 0)
    async with machines.open('second', patterns) as second:
        assert await second.recover() == [run]
        await second.result(run)
        assert await at_step(second, run, 1) == {'working': ['a.txt']}
        assert (second.workspaces.of(run, 'working').folder / 'a.txt').read_text() == 'text'


async def test_files_are_uploaded_before_their_step_is_journaled(machines: Machines) -> None:
    named: list[str] = []

    class Checking(MemoryJournal):
        async def append(self, info: Any, steps: Sequence[Transition], snapshot: Any = None) -> int:
            for step in steps:
                for digest in set(re.findall(r'\b[0-9a-f]{64}\b', json.dumps(dict(step.event.data)))):
                    path = f'{step.run}/objects/{digest[:2]}/{digest[2:]}'
                    assert await asyncio.to_thread(machines.files.size, path) is not None
                    named.append(digest)
            return await super().append(info, steps, snapshot)

    async with machines.open('first', journal=Checking()) as first:
        assert (await (await first.start('pair')).result()).status is Status.DONE
    assert len(named) >= 4


async def test_a_run_waits_while_files_are_unavailable(machines: Machines, s3: S3Server) -> None:
    async with machines.open('first', clock=HastyClock()) as first:
        run = await first.start('pair', paused=True)
        s3.stop()
        outages: list[JournalOutage] = []

        async def listen() -> None:
            async for item in run.watch():
                outages.extend([item] if isinstance(item, JournalOutage) else [])

        listening = asyncio.ensure_future(listen())
        resuming = asyncio.ensure_future(first.resume(run.id))
        await until(lambda: bool(outages))
        waits_at = (await first.info(run.id)).seq
        s3.start()
        assert (await run.result()).status is Status.DONE
        await asyncio.gather(listening, resuming)
        assert outages[0].problem.endswith('it cannot be reached') and outages[-1].problem == ''
        assert waits_at < (await first.info(run.id)).seq
        assert await first.audit(run.id)
    assert len(await at_step(machines.open('web'), run.id, (await machines.journal.info(run.id)).seq)) == 2


async def test_a_takeover_waits_for_the_files(machines: Machines, s3: S3Server) -> None:
    async with machines.open('first', writing(1, hangs=True)) as first:
        run = (await first.start('pair')).id
        await wait_for_snapshots(first, run, 2)
    async with machines.open('second', writing(2), clock=HastyClock()) as second:
        s3.stop()
        recovering = asyncio.ensure_future(second.recover())
        await until(lambda: bool(second.feed._outages))
        assert not recovering.done()
        s3.start()
        assert await recovering == [run]
        assert (await second.result(run)).status is Status.DONE


class Keeps(Pattern):
    """Stores something, and reads it after a person's approval."""

    class Memory(Memory):
        kept: str = ''
        read: str = ''

    initial = 'storing'
    answer = 'read'
    states = (
        {'name': 'storing', 'invoke': 'store'},
        {'name': 'asking', 'waits': 'a word'},
        {'name': 'reading', 'invoke': 'load'},
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    )
    transitions = (
        {'trigger': 'done', 'source': 'storing', 'dest': 'asking', 'after': 'keep'},
        ['said', 'asking', 'reading'],
        {'trigger': 'done', 'source': 'reading', 'dest': 'over', 'after': 'note'},
        ['failed', ['storing', 'reading'], 'lost'],
    )

    async def store(self, memory: Any, activity: Activity) -> Any:
        return {'kept': await activity.workspace('desk').store(b'an artifact')}

    def keep(self, memory: Any, event: Any) -> None:
        memory.kept = event.data['kept']

    async def load(self, memory: Any, activity: Activity) -> Any:
        return {'read': (await activity.workspace('desk').load(memory.kept)).decode()}

    def note(self, memory: Any, event: Any) -> None:
        memory.read = event.data['read']


async def test_an_activity_waits_for_unavailable_files(machines: Machines, s3: S3Server) -> None:
    own_catalog = catalog(FakeModel('over'), Keeps)
    async with machines.open('first', own_catalog) as first:
        run = (await first.start('keeps')).id
        async for item in first.watch(run):
            if isinstance(item, Transition) and 'asking' in item.active:
                break
    async with machines.open('second', catalog(FakeModel('over'), Keeps), clock=HastyClock()) as second:
        assert await second.recover() == [run]
        s3.stop()
        await second.send(run, 'said')
        await until(lambda: bool(second.feed._outages))
        s3.start()
        assert (await second.result(run)).answer == 'an artifact'
        assert await second.audit(run)


async def test_files_left_by_a_killed_process_are_uploaded(machines: Machines, tmp_path: Path) -> None:
    run = RunId('run')
    digest = Workspaces(tmp_path / 'first').objects(run).put(b'left')  # the process died before the upload
    workspaces = Workspaces(tmp_path / 'first', machines.files)
    assert workspaces.objects(run).put(b'left') == digest
    await workspaces.upload(run)
    assert await Workspaces(tmp_path / 'second', machines.files).content(run, digest) == b'left'


async def test_damaged_downloads_are_refused(machines: Machines, tmp_path: Path) -> None:
    run, first = RunId('run'), Workspaces(tmp_path / 'first', machines.files)
    digest = first.objects(run).put(b'said')
    await first.upload(run)
    machines.files.send(f'{run}/objects/{digest[:2]}/{digest[2:]}', b'something else')
    with pytest.raises(WorkspaceError, match='is damaged'):
        await Workspaces(tmp_path / 'second', machines.files).content(run, digest)
    assert [path for path in (tmp_path / 'second').rglob('*') if path.is_file()] == []


async def test_a_page_says_that_files_are_unavailable(machines: Machines, s3: S3Server) -> None:
    web = machines.open('web')
    with s3.away(), pytest.raises(FilesUnavailable, match='cannot be reached'):
        await web.workspaces.content(RunId('run'), '0' * 64)
    await web.close()


async def test_a_purge_removes_remote_files(machines: Machines) -> None:
    async with machines.open('first') as first:
        run = await complete_run(first, 'pair')
    async with machines.open('web') as web:
        used = (await web.disk_usage([await web.info(run)]))[run]
        assert used.files == sum(file.size for file in machines.files.list_files(f'{run}/')) > 0
        await web.delete(run)
        await web.purge(run)
        assert machines.files.folders() == []
        with pytest.raises(UnknownRun):
            await web.info(run)


async def test_late_files_of_a_purged_run_are_removed_after_a_day(machines: Machines) -> None:
    class Later(HastyClock):
        def __init__(self, seconds: float) -> None:
            self._now = time.time() + seconds

    machines.files.send('gone/objects/aa/b', b'late')
    async with machines.open('first', clock=Later(0)) as first:
        run = await complete_run(first, 'pair')
        await first.clean_up()
        assert set(machines.files.folders()) == {'gone', run}  # it may belong to an import in progress
    async with machines.open('web', clock=Later(2 * 86_400)) as web:
        await web.clean_up()
        assert machines.files.folders() == [run]


async def test_a_fork_is_made_on_another_machine(machines: Machines) -> None:
    async with machines.open('first') as first:
        run = await complete_run(first, 'pair')
        steps = await first.transitions(run)
    at = [step.seq for step in steps if 'snapshots' in step.event.data][1]
    async with machines.open('web') as web:
        fork = await web.fork(run, at)
        assert (await web.result(fork)).status is Status.DONE
        await web.delete(run)
        await web.purge(run)
    async with machines.open('third') as third:
        assert len(await at_step(third, fork, (await third.info(fork)).seq)) == 2


async def test_a_bundle_is_exported_and_imported_on_another_machine(machines: Machines) -> None:
    async with machines.open('first') as first:
        run = await complete_run(first, 'pair')
    async with machines.open('web') as web:
        bundle = b''.join([piece async for piece in web.export_bundle([run])])
    machines.journal = MemoryJournal()
    machines.files.remove(file.path for file in list(machines.files.list_files(f'{run}/')))
    async with machines.open('second') as second:
        assert [info.id for info in await second.import_bundle(io.BytesIO(bundle))] == [run]
    async with machines.open('third') as third:
        assert len(await at_step(third, run, (await third.info(run)).seq)) == 2


async def test_a_recording_continues_elsewhere_and_replays_on_a_third_machine(machines: Machines) -> None:
    provider = Provider()
    async with machines.open('first', make_catalog(provider), clock=HastyClock()) as first:
        run = (await first.start('lone', models={'': FAR}, record=True)).id
        expected_outcome = await first.result(run)
        assert expected_outcome.status is Status.DONE
        recorded = read_exchanges(first.recordings.path(run))
    machines.files.send(f'{run}/recording/0000000000-{0:015}', b'{"late": "of a displaced worker"}\n')
    async with machines.open('web', make_catalog(None), clock=HastyClock()) as web:
        second_run = (await web.start('lone', replay=run)).id
        assert sources(await web.transitions(second_run)) <= {'replayed'}
        outcome = await web.result(second_run)
        assert outcome.status is Status.DONE, outcome.error
        assert read_exchanges(web.recordings.path(run)) == recorded
    async with machines.open('third', make_catalog(None), clock=HastyClock()) as third:
        await third.recordings.fetch(second_run)
        assert read_exchanges(third.recordings.replayed_path(second_run)) == recorded


async def test_a_new_owner_keeps_the_recordings_of_finished_calls(machines: Machines) -> None:
    provider = Provider()
    async with machines.open('first', make_catalog(provider), clock=HastyClock()) as first:
        run = (await first.start('pair', models={'': FAR}, record=True)).id
        await until(lambda: provider.asked == 2)
        provider.gate = asyncio.Event()  # from here on, calls stay unanswered
        await until(lambda: provider.asked >= 3)
    provider.gate = None
    async with machines.open('second', make_catalog(provider), clock=HastyClock()) as second:
        assert await second.recover() == [run]
        assert (await second.result(run)).status is Status.DONE
        ended = [step for step in await second.transitions(run) if step.event.data.get('source') == 'live']
        assert len(read_exchanges(second.recordings.path(run))) == len(ended) == 4
        recording = second.recordings.path(run).read_bytes()
    async with machines.open('web', make_catalog(None)) as web:
        await web.recordings.fetch(run)
        assert web.recordings.path(run).read_bytes() == recording


async def test_without_shared_files_nothing_is_requested(tmp_path: Path) -> None:
    async with LocalConductor(
        catalog=catalog(FakeModel('over'), Pair, tools=(jot,)), workspaces=tmp_path
    ) as alone:
        assert (await (await alone.start('pair')).result()).status is Status.DONE
        assert alone.workspaces.courier is None
