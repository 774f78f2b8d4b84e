"""Ctrl+C and signals from other processes while a run is shown."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine import Catalog, LocalConductor, Status, Transition
from engine.errors import JournalUnavailable
from engine.journal import Fold, MemoryJournal
from engine.records import JournalOutage, Outcome, RunInfo, Snapshot
from tests.browser.provider import Provider, provider
from tests.support.cli import Hemicycle, wait_for_exit
from tests.support.harness import start_run
from ui.cli.execution.follow import follow
from ui.cli.exit_codes import ExitCode
from ui.cli.output.reporters import QuietReporter


def test_ctrl_c_cancels_the_run(hemicycle: Hemicycle) -> None:
    with hemicycle.process('run', 'endless', '--patterns', str(hemicycle.patterns)) as process:
        hemicycle.reaches(1, process)
        process.send_signal(signal.SIGINT)
        code, out, err = wait_for_exit(process)
    assert (code, out) == (ExitCode.CANCELLED, '')
    assert 'is cancelled: Ctrl+C in the terminal' in err
    assert 'Traceback' not in err
    info = hemicycle.newest()
    assert info.status is Status.CANCELLED
    assert not list(hemicycle.home.glob('*.locks/owner-*'))


BLOCKING = '''
import time

from langgraph.graph import END, START, StateGraph

from engine import stage
from engine.patterns.pipeline.pattern import Pipeline


def block(state):
    time.sleep(1_000)


def graph():
    made = StateGraph(dict)
    made.add_node('block', block)
    made.add_edge(START, 'block')
    made.add_edge('block', END)
    return made.compile()


class Blocks(Pipeline):
    """A pipeline with a stage that blocks."""

    name = 'blocks'
    states = (*Pipeline.states, stage('blocking', WORK))
    transitions = (['always', 'pending', 'blocking'], ['done', 'blocking', 'researching'],
                   *Pipeline.transitions)
'''


@pytest.mark.parametrize('work', ['block', 'graph()'], ids=['function', 'graph'])
def test_one_ctrl_c_stops_a_stage_that_blocks(hemicycle: Hemicycle, tmp_path: Path, work: str) -> None:
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'blocks.py').write_text(BLOCKING.replace('WORK', work), 'utf-8')
    with hemicycle.process(
        'run', 'blocks', '--task', 'six?', '--patterns', str(tmp_path / 'mine')
    ) as process:
        hemicycle.reaches(2, process)
        process.send_signal(signal.SIGINT)
        code, _, err = wait_for_exit(process)
    assert code == ExitCode.CANCELLED and 'is cancelled: Ctrl+C in the terminal' in err


SLEEPING = '''
from engine import Pattern
from engine.workspace.testing.test_run import run_test_suite


class Sleeps(Pattern):
    """Tests that do not end."""

    name = 'sleeps'
    initial = 'testing'
    states = ({'name': 'testing', 'invoke': 'test'}, {'name': 'over', 'final': True})
    transitions = (['done', 'testing', 'over'],)

    async def test(self, memory, activity):
        workspace = activity.workspace('project')
        await workspace.make()
        await run_test_suite(workspace, activity.services.sandbox, command='sleep 1000', seconds=3_600)
'''


def test_one_ctrl_c_stops_tests_that_block(
    hemicycle: Hemicycle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('HEMICYCLE_UNSAFE_COMMANDS', '1')
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'sleeps.py').write_text(SLEEPING, 'utf-8')
    with hemicycle.process('run', 'sleeps', '--patterns', str(tmp_path / 'mine')) as process:
        hemicycle.reaches(1, process)
        process.send_signal(signal.SIGINT)
        code, _, err = wait_for_exit(process)
    assert code == ExitCode.CANCELLED and 'is cancelled: Ctrl+C in the terminal' in err


def test_sigterm_releases_the_run_which_can_be_resumed(hemicycle: Hemicycle) -> None:
    with hemicycle.process('run', 'pipeline', '--task', 'Compare tea and coffee', '--pace', '100') as process:
        hemicycle.reaches(3, process)
        refused = hemicycle('resume')
        assert refused.exit_code == ExitCode.REFUSED
        assert 'is still running' in refused.stderr
        process.terminate()
        code, _, err = wait_for_exit(process)
    assert code == ExitCode.UNFINISHED
    assert '`hemicycle resume' in err
    assert '→ complete' in hemicycle('resume').stderr
    assert hemicycle('runs', 'audit').exit_code == 0


LIVE = """
from engine import Pattern, agent


class Asks(Pattern):
    name = 'asks'
    initial = 'working'
    states = (agent('working', prompt='ask'), {'name': 'over', 'final': True})
    transitions = (['done', 'working', 'over'],)

    def ask(self, memory):
        return 'do it'
"""


@pytest.mark.parametrize(('grace', 'calls'), [('60', 1), ('0', 2)])
def test_a_paid_call_may_finish_before_the_run_is_released(
    grace: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hemicycle, begun, go_on = Hemicycle(tmp_path), threading.Semaphore(0), threading.Event()
    (hemicycle.patterns / 'asks.py').write_text(LIVE, 'utf-8')

    class Slow(Provider):
        def do_POST(self) -> None:
            begun.release()
            go_on.wait(60)
            with contextlib.suppress(OSError):
                super().do_POST()

    with provider(Slow) as url:
        monkeypatch.setenv('HEMICYCLE_GRACE', grace)
        monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(tmp_path / 'endpoints.toml'))
        (tmp_path / 'endpoints.toml').write_text(f'[endpoints.slow]\nurl = "{url}"\n', 'utf-8')
        live = ('--patterns', str(hemicycle.patterns), '--model', 'slow/small')
        with hemicycle.process('run', 'asks', *live) as process:
            assert begun.acquire(timeout=60)
            process.terminate()
            if calls == 1:
                assert any('may finish their calls first' in line for line in process.stderr)
                go_on.set()
            wait_for_exit(process)
        go_on.set()
        if calls == 2:
            resumed = hemicycle('resume', '--patterns', str(hemicycle.patterns))
            assert resumed.exit_code == ExitCode.DONE, resumed.stderr
        info = hemicycle.newest()
        assert info.status is Status.DONE
        assert 1 + begun._value == calls


STOPPING = """
import os, signal, sys

done = []

def stop(event, arguments):
    if event == 'sqlite3.connect' and not done:
        done.append(event)
        os.kill(os.getpid(), signal.SIGTERM)

sys.addaudithook(stop)
"""


def test_a_backup_that_is_stopped_while_it_is_checked_leaves_no_copy(
    hemicycle: Hemicycle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hemicycle('user', 'list')  # Creates the database.
    (scratch := tmp_path / 'scratch').mkdir()
    (patterns := tmp_path / 'mine').mkdir()  # Loaded once there is a copy of the database to check.
    (patterns / 'stop.py').write_text(STOPPING, 'utf-8')
    monkeypatch.setenv('TMPDIR', str(scratch))
    archive = tmp_path / 'backup.tar.gz'
    with hemicycle.process('database', 'backup', str(archive), '--patterns', str(patterns)) as process:
        code, out, _ = wait_for_exit(process)
    assert code == 128 + signal.SIGTERM and out.startswith(f'{archive}: 0 runs')
    assert list(scratch.iterdir()) == []


def test_an_invalid_grace_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HEMICYCLE_GRACE', 'soon')
    refused = Hemicycle(tmp_path)('runs', 'list')
    assert refused.exit_code == ExitCode.REFUSED and 'HEMICYCLE_GRACE' in refused.stderr


def test_a_second_ctrl_c_releases_a_run_that_cannot_be_journaled() -> None:
    asyncio.run(_twice())


async def _twice() -> None:
    reporter = Interrupting()
    async with LocalConductor(Stuck(), catalog=Catalog.load()) as conductor:
        for model in conductor.catalog.models.values():
            model.pace = 200  # type: ignore[attr-defined]
        begin = start_run(conductor, 'pipeline', {'task': 'Compare tea and coffee'})
        code = await asyncio.wait_for(follow(conductor, begin, reporter), 20)
        assert (await conductor.runs()).runs[0].status is Status.RUNNING
    assert code is ExitCode.UNFINISHED
    assert reporter.outcome and reporter.outcome.status is Status.RUNNING


class Stuck(MemoryJournal):
    """A journal whose disk is too full to store a cancel."""

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        if any(transition.event.name == 'cancel' for transition in transitions):
            raise JournalUnavailable('the disk is full')
        return await super().append(info, transitions, snapshot)


class Interrupting(QuietReporter):
    """Presses Ctrl+C at the first step, and again once the cancel cannot be journaled."""

    outcome: Outcome | None = None

    def step(self, transition: Transition, fold: Fold) -> None:
        if transition.seq == 1:
            signal.raise_signal(signal.SIGINT)

    def outage(self, outage: JournalOutage) -> None:
        signal.raise_signal(signal.SIGINT)

    def end(self, outcome: Outcome, fold: Fold) -> None:
        self.outcome = outcome
