"""A run's initial files: present even if its start is interrupted, and removed if there is no run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Status
from engine.errors import JournalUnavailable, WorkspaceError
from engine.journal import MemoryJournal
from engine.records import RunId
from engine.workspace.object_store import ObjectStore
from tests.support.harness import FakeModel, complete_run, wait_for_state
from tests.unit.engine.models.test_recordings import FAR, Place
from tests.unit.engine.workspace.test_run_files import at_step, make_conductor, writing


class PowerCut(Exception):
    """Simulates a power failure."""


class FailingCreation:
    """A journal that refuses new runs, or whose power fails after writing one."""

    def __init__(self, journal: MemoryJournal, *, written: bool) -> None:
        self.journal, self.written = journal, written
        self.dark = False

    def __getattr__(self, name: str) -> Any:
        if self.dark and name != 'close':
            raise PowerCut
        return getattr(self.journal, name)

    async def create(self, *args: Any) -> None:
        await self._keep(self.journal.create(*args))

    async def fork(self, *args: Any) -> None:
        await self._keep(self.journal.fork(*args))

    async def _keep(self, writing: Any) -> None:
        if not self.written:
            writing.close()
            raise JournalUnavailable('disk full')
        await writing
        self.dark = True


def folders(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


@pytest.fixture
async def parent(tmp_path: Path) -> tuple[MemoryJournal, RunId, int]:
    """A run whose agents wrote files, and a step with some of them."""
    journal = MemoryJournal()
    async with make_conductor(journal, writing(2), tmp_path) as conductor:
        run = await complete_run(conductor, 'pair')
        steps = await conductor.transitions(run)
    return journal, run, [step.seq for step in steps if 'snapshots' in step.event.data][1]


async def test_a_fork_that_is_not_journaled_leaves_no_files(
    parent: tuple[MemoryJournal, RunId, int], tmp_path: Path
) -> None:
    journal, run, at = parent
    async with make_conductor(FailingCreation(journal, written=False), writing(2), tmp_path) as conductor:
        with pytest.raises(JournalUnavailable):
            await conductor.fork(run, at)
        assert folders(tmp_path) == {run}


async def test_a_fork_without_its_files_is_not_kept(
    parent: tuple[MemoryJournal, RunId, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, run, at = parent
    lend, lent = ObjectStore.link_one, 0

    def break_off(self: ObjectStore, *args: Any) -> None:
        nonlocal lent
        lent += 1
        if lent > 1:
            raise OSError('disk full')
        lend(self, *args)

    monkeypatch.setattr(ObjectStore, 'link_one', break_off)
    async with make_conductor(journal, writing(2), tmp_path) as conductor:
        with pytest.raises(WorkspaceError, match='disk full'):
            await conductor.fork(run, at)
        assert folders(tmp_path) == {run} and (await conductor.runs()).total == 1


async def test_an_interrupted_fork_gets_its_files_at_recovery(
    parent: tuple[MemoryJournal, RunId, int], tmp_path: Path
) -> None:
    journal, run, at = parent
    async with make_conductor(FailingCreation(journal, written=True), writing(2), tmp_path) as crashed:
        with pytest.raises(PowerCut):
            await crashed.fork(run, at)
    async with make_conductor(journal, writing(3), tmp_path) as successor:
        (recovered,) = await successor.recover()
        assert await at_step(successor, recovered, at) == await at_step(successor, run, at)
        assert (await successor.result(recovered)).status is Status.DONE
        await successor.delete(recovered)
        await successor.purge(recovered)
        assert folders(tmp_path) == {run}


async def test_a_fork_without_its_parent_continues_with_its_files(
    parent: tuple[MemoryJournal, RunId, int], tmp_path: Path
) -> None:
    journal, run, at = parent
    async with make_conductor(journal, FakeModel(), tmp_path) as crashed:
        fork = await crashed.fork(run, at, paused=True)
        await wait_for_state(crashed, fork, (await crashed.view(fork)).active[0])
        await crashed.delete(run)
        await crashed.purge(run)
    journal._transitions[fork] = journal._transitions[fork][:at]
    journal._infos[fork] = replace(journal._infos[fork], seq=at)
    async with make_conductor(journal, writing(3), tmp_path) as successor:
        assert await successor.recover() == [fork]


async def test_a_replay_that_is_not_journaled_leaves_no_recording(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.open() as conductor:
        first = await complete_run(conductor, 'lone', models={'': FAR}, record=True)
    place.journal = FailingCreation(place.journal, written=False)  # type: ignore[assignment]
    async with place.open() as conductor:
        with pytest.raises(JournalUnavailable):
            await conductor.start('lone', replay=first)
        assert folders(tmp_path) == {first}


async def test_an_interrupted_replay_gets_its_recording_at_recovery(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.open() as conductor:
        first = await complete_run(conductor, 'lone', models={'': FAR}, record=True)
    journal = place.journal
    place.journal = FailingCreation(journal, written=True)  # type: ignore[assignment]
    async with place.open() as conductor:
        with pytest.raises(PowerCut):
            await conductor.start('lone', replay=first)
    place.journal = journal
    async with place.open(offline=True) as successor:
        (recovered,) = await successor.recover()
        assert (await successor.result(recovered)).status is Status.DONE
    assert place.provider.asked == 1
