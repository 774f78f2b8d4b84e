"""Tools with side effects in forks: recorded calls are not repeated, live ones use the fork's folder."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine import Conductor, LocalConductor, Status, ToolContext
from engine.agents.chart import agent
from engine.errors import WorkspaceError
from engine.history import ForkOverrides
from engine.history.forks.fork_setup import ForkSetup
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import RunId, RunInfo
from engine.tools.builtin.research.fetch_page import fetch_page
from engine.tools.builtin.writing.blog_notion import blog_notion
from engine.tools.protocol import tool
from tests.support.clocks import IdleClock
from tests.support.forks import PLAYED, forks_alike
from tests.support.harness import ENDS, FakeModel, Lone, calls, catalog, to_the_end, until, wait_for_state
from tests.support.servers.http_server import json_answer, local
from tests.unit.engine.tools.test_notion import Stand

SENT: Counter[str] = Counter()
"""Number of irrevocable sends by key."""


@tool(side_effects=True)
async def send(context: ToolContext, text: str) -> str:
    """Send something to somebody, and keep a copy."""
    SENT[context.key] += 1
    files = context.files
    sent = (await files.read('sent.txt')).decode() if (files.folder / 'sent.txt').exists() else ''
    await files.write('sent.txt', f'{sent}{text}\n'.encode())
    return f'{sent}{text}'


class Post(Lone):
    """One agent writes three letters, and another adds one of its own in the same folder."""

    initial = 'writing'
    states = [
        agent('writing', prompt='ask', tools=('send',), folder='work'),
        agent('adding', prompt='ask', tools=('send',), folder='work'),
        *ENDS,
    ]
    transitions = [['done', 'writing', 'adding'], ['done', 'adding', 'over'], ['failed', '*', 'lost']]


def letters(request: ModelRequest) -> Any:
    hints = request.hints
    if hints.turn < (3 if hints.role == 'writing' else 1):
        return calls(('send', {'text': f'{hints.role} {hints.turn}'}))
    return 'sent'


ALL = 'writing 0\nwriting 1\nwriting 2\nadding 0\n'


def make_conductor(model: FakeModel, root: Path, journal: MemoryJournal | None = None) -> Conductor:
    own_catalog = catalog(model, Post, tools=(send,))
    return LocalConductor(journal or MemoryJournal(), catalog=own_catalog, clock=IdleClock(), workspaces=root)


async def run_post(conductor: Conductor) -> RunId:
    SENT.clear()
    run = (await conductor.start('post')).id
    assert (await conductor.result(run)).status is Status.DONE
    return run


@pytest.fixture
async def conductor(tmp_path: Path) -> AsyncIterator[Conductor]:
    async with make_conductor(FakeModel(letters), tmp_path) as conductor:
        yield conductor


@pytest.fixture
async def run(conductor: Conductor) -> RunId:
    """A run that has sent all letters."""
    return await run_post(conductor)


def on_disk(conductor: Conductor, run: RunId) -> str:
    file = conductor.workspaces.of(run, 'work').folder / 'sent.txt'
    return file.read_text() if file.exists() else ''


async def read_snapshot(conductor: Conductor, run: RunId, at: int | None = None) -> str:
    """Return the file's content at a step, from its snapshot."""
    files = (await conductor.view(run, at)).files
    if 'work' not in files:
        return ''
    (file,) = await conductor.workspaces.files(run, files['work'])
    return (await conductor.workspaces.content(run, file.digest)).decode()


async def batches(conductor: Conductor, run: RunId) -> list[int]:
    """Return the numbers of the steps with tool results."""
    return [step.seq for step in await conductor.transitions(run) if 'results' in step.event.data]


async def test_replayed_tools_do_nothing_and_their_files_are_restored(
    conductor: Conductor, run: RunId
) -> None:
    assert set(SENT.values()) == {1} and len(SENT) == 4 and on_disk(conductor, run) == ALL
    assert await forks_alike(conductor, run) > 8
    fork = await conductor.fork(run, 3, overrides=PLAYED)
    await conductor.result(fork)
    own = await batches(conductor, fork)
    assert [await read_snapshot(conductor, fork, at) for at in own] == [
        await read_snapshot(conductor, run, at) for at in await batches(conductor, run)
    ]
    assert len(SENT) == 4 and on_disk(conductor, run) == ALL
    await conductor.workspaces.delete(run)
    assert await read_snapshot(conductor, fork) == ALL, 'it has its own copies'


@pytest.mark.parametrize('how', ['live', 'simulated'])
async def test_live_tools_of_a_fork_work_on_a_copy_of_its_steps_files(
    conductor: Conductor, run: RunId, how: Any
) -> None:
    second = (await batches(conductor, run))[1]
    before = await read_snapshot(conductor, run, second)
    fork = await conductor.fork(run, second, overrides=ForkOverrides(after=how), paused=True)
    assert (on_disk(conductor, fork), len(SENT)) == ('writing 0\nwriting 1\n', 4) and before
    await conductor.resume(fork)
    assert (await conductor.result(fork)).status is Status.DONE
    assert on_disk(conductor, fork) == await read_snapshot(conductor, fork) == ALL
    assert on_disk(conductor, run) == ALL and set(SENT.values()) == {1}
    assert Counter(key.partition(':')[0] for key in SENT) == {run: 4, fork: 2}


async def test_a_live_agent_finds_replayed_files(conductor: Conductor, run: RunId) -> None:
    overrides = ForkOverrides(after='recorded', plays={'adding': 'live'})
    fork = await conductor.fork(run, 2, overrides=overrides)
    assert (await conductor.result(fork)).status is Status.DONE
    assert on_disk(conductor, fork) == await read_snapshot(conductor, fork) == ALL
    assert Counter(key.partition(':')[0] for key in SENT) == {run: 4, fork: 1}
    assert on_disk(conductor, run) == ALL


async def test_a_live_batch_among_replayed_ones_uses_their_files(conductor: Conductor, run: RunId) -> None:
    second = (await batches(conductor, run))[1]
    overrides = ForkOverrides(after='recorded', plays={f'@{second}': 'live'})
    fork = await conductor.fork(run, 1, overrides=overrides)
    await conductor.result(fork)
    assert Counter(key.partition(':')[0] for key in SENT) == {run: 4, fork: 1}
    assert await read_snapshot(conductor, fork) == ALL == await read_snapshot(conductor, run)


async def test_live_work_of_a_mixed_fork_survives_an_interruption(tmp_path: Path) -> None:
    journal, model = MemoryJournal(), FakeModel(letters)
    overrides = ForkOverrides(after='recorded', plays={'adding': 'live'})
    async with make_conductor(model, tmp_path, journal) as conductor:
        run = await run_post(conductor)
        model._reply = lambda request: asyncio.Event() if request.hints.turn else letters(request)
        fork = await conductor.fork(run, 2, overrides=overrides)
        await until(lambda: model.running)
        assert on_disk(conductor, fork) == ALL
    async with make_conductor(FakeModel(letters), tmp_path, journal) as successor:
        assert await successor.recover() == [fork]
        assert (await successor.result(fork)).status is Status.DONE
        assert on_disk(successor, fork) == await read_snapshot(successor, fork) == ALL
        assert Counter(key.partition(':')[0] for key in SENT) == {run: 4, fork: 1}


async def test_a_fork_going_live_has_the_replayed_files(conductor: Conductor, run: RunId) -> None:
    third = (await batches(conductor, run))[2]
    part = await conductor.fork(run, third, paused=True)
    await conductor._live.runs[part].release()  # as if the process had died
    fork = await conductor.fork(part, 1, overrides=ForkOverrides(after='recorded'))
    assert (await conductor.result(fork)).status is Status.DONE
    assert on_disk(conductor, fork) == await read_snapshot(conductor, fork) == ALL
    assert Counter(key.partition(':')[0] for key in SENT) == {run: 4, fork: 1}
    assert on_disk(conductor, part) == 'writing 0\nwriting 1\nwriting 2\n'


async def test_a_fork_with_missing_files_is_refused_with_the_reason(conductor: Conductor, run: RunId) -> None:
    at = (await batches(conductor, run))[1]
    await conductor.workspaces.delete(run)
    with pytest.raises(WorkspaceError, match='is no longer kept'):
        await conductor.fork(run, at)
    assert (await conductor.runs()).total == 1


class Killed(BaseException):
    """Simulates the death of the process."""


async def test_recovery_copies_the_files_of_an_interrupted_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die(setup: ForkSetup, info: RunInfo) -> None:
        raise Killed

    journal = MemoryJournal()
    async with make_conductor(FakeModel(letters), tmp_path, journal) as conductor:
        run = await run_post(conductor)
        second = (await batches(conductor, run))[1]
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(ForkSetup, 'equip', die)
            await conductor.fork(run, second)
        (fork,) = [name for name in await conductor.family(run) if name != run]
        assert on_disk(conductor, fork) == ''
    async with make_conductor(FakeModel(letters), tmp_path, journal) as later:
        assert await later.recover() == [fork]
        assert (await later.result(fork)).status is Status.DONE
        assert on_disk(later, fork) == await read_snapshot(later, fork) == ALL


async def test_a_fork_whose_files_cannot_be_copied_leaves_neither_a_run_nor_files(
    conductor: Conductor, run: RunId, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = conductor.workspaces.fork

    async def fail(*args: Any) -> None:
        await copy(*args)
        raise WorkspaceError('the disk is full')

    monkeypatch.setattr(conductor.workspaces, 'fork', fail)
    with pytest.raises(WorkspaceError, match='the disk is full'):
        await conductor.fork(run, (await batches(conductor, run))[1])
    assert await conductor.family(run) == [run]
    assert [path.name for path in tmp_path.iterdir()] == [run]


@pytest.mark.parametrize('place', ['workspaces.fork', 'journal.claim', 'workspaces.restore'])
async def test_a_fork_that_cannot_start_is_removed_files_first(
    conductor: Conductor, run: RunId, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    delete = conductor.journal.delete

    async def fail(*args: Any) -> None:
        raise OSError(28, 'No space left on device')

    async def delete_with_room(deleted: RunId) -> None:
        assert [path.name for path in tmp_path.iterdir()] == [run], 'a full disk has room now'
        await delete(deleted)

    owner, name = place.split('.')
    monkeypatch.setattr(getattr(conductor, owner), name, fail)
    monkeypatch.setattr(conductor.journal, 'delete', delete_with_room)
    with pytest.raises(WorkspaceError, match="the run's files cannot be made: No space left on device"):
        await conductor.fork(run, (await batches(conductor, run))[1])
    assert await conductor.family(run) == [run]
    assert not await conductor.journal.unfinished(), 'it does not begin at the next start'


class Web(Lone):
    """An agent that reads a page and publishes what it found."""

    states = [agent('working', prompt='ask', tools=('fetch_page', 'blog_notion')), *ENDS]


def publishing(url: str) -> Any:
    def reply(request: ModelRequest) -> Any:
        if request.hints.turn == 0:
            return calls(('fetch_page', {'url': f'{url}/page'}))
        return 'done' if request.hints.turn > 1 else calls(('blog_notion', {'title': 'T', 'content': 'text'}))

    return reply


async def test_only_live_forks_call_the_web_and_notion(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(keyed=True)
    with local(
        lambda *request: json_answer({'page': 1}) if request[1] == '/page' else stand(*request)
    ) as server:
        for name, value in (('TOKEN', 'secret'), ('DATABASE_ID', 'd1')):
            monkeypatch.setenv(f'NOTION_{name}', value)
        monkeypatch.setenv('HEMICYCLE_NOTION_URL', server.url)
        own_catalog = catalog(FakeModel(publishing(server.url)), Web, tools=(fetch_page, blog_notion))
        async with LocalConductor(MemoryJournal(), catalog=own_catalog, private_addresses=True) as conductor:
            run = (await conductor.start('web')).id
            assert (await to_the_end(conductor, run)).status is Status.DONE
            request_count = len(server.asked)
            assert len(stand.pages) == 1 and request_count > 2
            assert await forks_alike(conductor, run) > 4
            assert len(server.asked) == request_count, 'a replay calls nothing'
            reading, published = await batches(conductor, run)
            for at in (reading - 1, reading):
                fork = await conductor.fork(run, at)
                await wait_for_state(conductor, fork, 'working.approving')
                fetched = len(server.asked) - request_count
                assert (fetched, len(stand.pages)) == (int(at < reading), 1), 'it waits for its own approval'
                await conductor.cancel(fork)
                request_count = len(server.asked)
            overrides = ForkOverrides(after='recorded', plays={f'@{published}': 'live'})
            fork = await conductor.fork(run, 1, overrides=overrides)
            assert (await conductor.result(fork)).status is Status.DONE
            assert len(stand.pages) == 2, 'a draft of its own, for the call that was allowed'
            assert not any(path == '/page' for _, path, _, _ in server.asked[request_count:])
