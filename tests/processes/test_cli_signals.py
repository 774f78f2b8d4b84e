"""Ctrl+C, and signals from outside, while a run is shown."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

from engine import (
    Catalog,
    Conductor,
    Fold,
    JournalUnavailable,
    MemoryJournal,
    Outcome,
    RunInfo,
    Snapshot,
    Status,
    Transition,
    Trouble,
)
from tests.commandline import Hemicycle, ended
from ui.commands.exits import Code
from ui.commands.showers import Quiet
from ui.commands.watching import follow


def test_ctrl_c_cancels_the_run(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    with hemicycle.process('run', 'endless', '--patterns', str(hemicycle.patterns)) as process:
        hemicycle.reaches(1, process)
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
    assert (code, out) == (Code.CANCELLED, '')
    assert 'is cancelled: Ctrl+C in the terminal' in err
    assert 'Traceback' not in err
    found = hemicycle.newest()
    assert found and found.status is Status.CANCELLED
    assert not list(hemicycle.home.glob('*.locks/owner-*'))


def test_a_request_to_end_lets_go_of_the_run_and_it_is_resumed(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    with hemicycle.process('run', 'pipeline', '--task', 'Compare tea and coffee', '--pace', '100') as process:
        hemicycle.reaches(3, process)
        refused = hemicycle('resume')
        assert refused.exit_code == Code.REFUSED
        assert 'is still there' in refused.stderr
        process.terminate()
        code, _, err = ended(process)
    assert code == Code.UNFINISHED
    assert '`hemicycle resume' in err
    assert '→ complete' in hemicycle('resume').stderr
    assert hemicycle('audit').exit_code == 0


def test_a_second_ctrl_c_lets_go_where_the_first_cannot_be_journaled() -> None:
    asyncio.run(_twice())


async def _twice() -> None:
    shower = Interrupting()
    async with Conductor(Stuck(), catalog=Catalog.load()) as conductor:
        for model in conductor.catalog.models.values():
            model.pace = 200  # type: ignore[attr-defined]
        begin = conductor.start('pipeline', {'task': 'Compare tea and coffee'})
        code = await asyncio.wait_for(follow(conductor, begin, shower), 20)
        assert (await conductor.runs()).runs[0].status is Status.RUNNING
    assert code is Code.UNFINISHED
    assert shower.outcome and shower.outcome.status is Status.RUNNING


class Stuck(MemoryJournal):
    """A journal that has no room for a cancel."""

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        if any(transition.event.name == 'cancel' for transition in transitions):
            raise JournalUnavailable('the disk is full')
        return await super().append(info, transitions, snapshot)


class Interrupting(Quiet):
    """Presses Ctrl+C at the first step, and again when told that it cannot be journaled."""

    outcome: Outcome | None = None

    def step(self, transition: Transition, fold: Fold) -> None:
        if transition.seq == 1:
            signal.raise_signal(signal.SIGINT)

    def trouble(self, trouble: Trouble) -> None:
        signal.raise_signal(signal.SIGINT)

    def end(self, outcome: Outcome, fold: Fold) -> None:
        self.outcome = outcome
