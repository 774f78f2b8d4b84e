"""SIGKILL during forks: they reach the recorded end, and their parent is unchanged."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine import Budget, Conductor, LocalConductor, Status
from engine.history import ForkOverrides
from storage import open_journal
from tests.crash.test_power_cut import PowerCut, PowerCutJournal
from tests.support.cli import Hemicycle, until, wait_for_exit
from tests.support.clocks import IdleClock
from tests.support.forks import PLAYED, Pair, normalize, working
from tests.support.harness import FakeModel, catalog
from tests.support.harness import until as eventually


def test_a_killed_fork_continues_its_replay(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    calls = hemicycle.home / 'calls'
    pattern_options = ('--patterns', str(hemicycle.patterns))
    sets = ('--set', f'calls={calls}', '--set', 'steps=400', '--set', 'pause=0')
    assert hemicycle('run', 'counting', *sets, *pattern_options, '--quiet').exit_code == 0
    parent = hemicycle.newest()
    assert parent.seq > 400
    original, text = hemicycle.steps(parent.id), calls.read_text()
    with hemicycle.process(
        'fork', 'start', 'last', '--at', '3', '--play', 'recorded', *pattern_options
    ) as process:
        until(lambda: 40 <= hemicycle.last_step() < parent.seq, 'the fork is on its way')
        process.send_signal(signal.SIGKILL)
        wait_for_exit(process)
    fork = hemicycle.newest()
    assert fork.id != parent.id and fork.status is Status.RUNNING, 'it was killed while running'
    before = hemicycle.steps(fork.id)
    with hemicycle.process('resume', fork.id, *pattern_options) as process:
        hemicycle.reaches(len(before) + 20, process)
        process.kill()
        wait_for_exit(process)
    result = hemicycle('resume', fork.id, *pattern_options, '--quiet')
    assert (result.exit_code, result.stdout) == (0, '400\n'), result.stderr
    after = hemicycle.steps(fork.id)
    assert after[: len(before)] == before
    assert [step.event.name for step in after].count('recover') == 3
    assert normalize(step for step in after if step.event.name != 'recover') == normalize(original)
    assert calls.read_text() == text, 'nothing was repeated'
    assert hemicycle.steps(parent.id) == original
    assert (
        hemicycle('runs', 'audit', fork.id, *pattern_options).exit_code
        == hemicycle('runs', 'audit', parent.id, *pattern_options).exit_code
        == 0
    )


def make_conductor(journal: Any, model: FakeModel, root: Path) -> Conductor:
    return LocalConductor(
        journal, catalog=catalog(model, Pair), clock=IdleClock(), owner='me', workspaces=root
    )


MIXED = ForkOverrides(after='recorded', plays={'right': 'live'})
MODES = {'played': PLAYED, 'mixed': MIXED, 'live': ForkOverrides(after='simulated')}


@pytest.mark.parametrize('written', [False, True], ids=['lost', 'written'])
@pytest.mark.parametrize('mode', MODES.values(), ids=MODES)
@pytest.mark.parametrize('at', range(4, 17, 6))
async def test_on_disk_the_power_fails_at_any_step_of_a_fork(
    tmp_path: Path, at: int, mode: ForkOverrides, written: bool
) -> None:
    model, begin = FakeModel(working), 3
    async with make_conductor(await open_journal(tmp_path / 'runs.db'), model, tmp_path) as conductor:
        run = (
            await conductor.start('pair', budget=Budget(tokens=200, warn=0.2) if mode == PLAYED else None)
        ).id
        expected_outcome = await conductor.result(run)
        original = await conductor.transitions(run)
    model.requests.clear()
    cutting = PowerCutJournal(await open_journal(tmp_path / 'runs.db'), at, written=written)
    async with make_conductor(cutting, model, tmp_path) as crashed:
        try:
            fork = await crashed.fork(run, begin, overrides=mode)
            await eventually(lambda: not crashed._live.runs)
        except PowerCut:
            pass
    async with make_conductor(await open_journal(tmp_path / 'runs.db'), model, tmp_path) as successor:
        unfinished = [info.id for info in await successor.journal.unfinished()]
        assert await successor.recover() == unfinished and not successor.stranded
        fork = next(info.id for info in (await successor.runs()).runs if info.id != run)
        outcome = await successor.result(fork)
        assert outcome.status is Status.DONE
        assert await successor.transitions(run) == original and await successor.audit(fork)
        own = await successor.transitions(fork)
        names = Counter(step.event.name for step in own)
        counts = Counter(request.hints.role for request in model.requests)
        if mode == PLAYED:
            assert not model.requests
            assert normalize(step for step in own if step.event.name != 'recover') == normalize(original)
            assert outcome.memory == expected_outcome.memory
        else:
            assert names['recover'] <= 3
            roles = {'right'} if mode == MIXED else {'left', 'right', 'closing'}
            assert set(counts) <= roles
        assert sorted(outcome.answer) == sorted(expected_outcome.answer)
