"""SIGKILL during runs: nothing is lost, and only the call in flight is repeated."""

import asyncio
import json
import signal
import sqlite3
import urllib.request
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from subprocess import TimeoutExpired
from typing import Any

import pytest

from engine import Catalog, LocalConductor, Status, Transition
from engine.records import RunId
from storage import open_journal
from tests.support.cli import DEADLINE, Hemicycle, line, until, wait_for_exit

KILLS, LONG = 6, 60
"""Kills of servers with ten runs, and the calls of each run."""
PIPELINE = ('run', 'pipeline', '--task', 'Compare tea and coffee for a small office')


def kill_while_counting(home: Path) -> tuple[Hemicycle, Path, tuple[str, str]]:
    """Kill a run of 60 steps; also returns its file of calls, and the option with its pattern."""
    hemicycle = Hemicycle(home)
    calls, pattern_options = hemicycle.home / 'calls', ('--patterns', str(hemicycle.patterns))
    sets = ('--set', f'calls={calls}', '--set', 'steps=60', '--set', 'pause=0.01')
    with hemicycle.process('run', 'counting', *sets, *pattern_options) as process:
        hemicycle.reaches(10, process)
        process.kill()
    return hemicycle, calls, pattern_options


@pytest.mark.parametrize('steps', [2, 9])
def test_a_killed_run_is_resumed_where_it_was(tmp_path: Path, steps: int) -> None:
    hemicycle = Hemicycle(tmp_path)
    with hemicycle.process(*PIPELINE, '--pace', '150', '--json') as process:
        hemicycle.reaches(steps, process)
        process.send_signal(signal.SIGKILL)
        _, out, _ = wait_for_exit(process)
    killed = hemicycle.newest()
    assert killed.status is Status.RUNNING
    before = hemicycle.steps(killed.id)
    assert len(before) >= steps
    # Everything shown is journaled; a line without a newline was cut off by the kill.
    printed = [json.loads(text) for text in out.splitlines(keepends=True) if text.endswith('\n')]
    assert [step['seq'] for step in printed] == [step.seq for step in before[: len(printed)]]
    assert [step['event']['name'] for step in printed] == [step.event.name for step in before[: len(printed)]]

    result = hemicycle('resume', 'last', '--json')
    assert result.exit_code == 0, result.stderr
    after = hemicycle.steps(killed.id)
    assert after[: len(before)] == before
    assert after[len(before)].event.name == 'recover'
    assert after[-1].active == ('complete',)
    assert find_repeats(after) == []
    assert hemicycle('runs', 'audit').exit_code == 0


def test_only_the_call_in_flight_is_repeated(tmp_path: Path) -> None:
    hemicycle, calls, pattern_options = kill_while_counting(tmp_path)
    for at_least in (20, 30):  # the resuming process may be killed as well
        with hemicycle.process('resume', *pattern_options) as process:
            hemicycle.reaches(at_least, process)
            process.kill()
    result = hemicycle('resume', *pattern_options, '--quiet')
    assert (result.exit_code, result.stdout) == (0, '60\n')
    info = hemicycle.newest()
    counts = Counter(calls.read_text().split())
    in_flight = sum(step.event.name == 'recover' for step in hemicycle.steps(info.id))
    assert in_flight == 3
    assert len(counts) == 60
    assert sum(counts.values()) <= 60 + in_flight
    assert max(counts.values()) <= 2
    assert hemicycle('runs', 'audit', *pattern_options).exit_code == 0


def test_a_restarted_server_continues_its_runs(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    with hemicycle.process(*PIPELINE, '--pace', '100', '--quiet') as process:
        hemicycle.reaches(2, process)
        process.kill()
    killed = hemicycle.newest()
    with hemicycle.process('serve', '--port', '0', '--pace', '100') as first:
        address = line(first.stdout).split()[-1]
        hemicycle.reaches(killed.seq + 4, first)
        with urllib.request.urlopen(f'{address}/runs/{killed.id}', timeout=DEADLINE) as page:
            assert page.status == 200
        first.kill()
    before = hemicycle.steps(killed.id)
    with hemicycle.process('serve', '--port', '0', '--pace', '0') as second:
        assert 'http://127.0.0.1:' in line(second.stdout)
        until(lambda: status(hemicycle) is Status.DONE, 'the second server finishes the run')
        second.terminate()
        assert wait_for_exit(second)[0] == 0
    after = hemicycle.steps(killed.id)
    assert after[: len(before)] == before
    assert [step.event.name for step in after].count('recover') == 2
    assert find_repeats(after) == []
    assert hemicycle('runs', 'audit').exit_code == 0


def test_a_server_survives_being_killed_while_it_starts(tmp_path: Path) -> None:
    hemicycle, calls, pattern_options = kill_while_counting(tmp_path)
    killed = hemicycle.newest()
    before = hemicycle.steps(killed.id)
    for moment in ('address', 'claim', 'claim', 'step'):
        epoch, seq = claims(hemicycle), hemicycle.last_step()
        with hemicycle.process('serve', '--port', '0', *pattern_options) as server:
            if moment == 'address':
                line(server.stdout)
            elif moment == 'claim':
                until(partial(was_claimed_since, hemicycle, epoch), 'it has claimed the run')
            else:
                hemicycle.reaches(seq + 1, server)
            server.kill()
    result = hemicycle('resume', *pattern_options, '--quiet')
    assert (result.exit_code, result.stdout) == (0, '60\n'), result.stderr
    after = hemicycle.steps(killed.id)
    assert after[: len(before)] == before
    assert find_repeats(after) == []
    recovered = [step.event.name for step in after].count('recover')
    assert sum(Counter(calls.read_text().split()).values()) <= 60 + 1 + recovered
    assert hemicycle('runs', 'audit', *pattern_options).exit_code == 0


@pytest.mark.long
def test_servers_of_many_runs_are_killed_at_any_moment(tmp_path: Path) -> None:
    hemicycle, random = Hemicycle(tmp_path), Random(5)
    calls, pattern_options = hemicycle.home / 'calls', ('--patterns', str(hemicycle.patterns))
    runs = asyncio.run(leave_ten_unfinished(hemicycle, calls))
    last = dict.fromkeys(runs, 0)
    for _ in range(KILLS):
        with (
            hemicycle.process('serve', '--port', '0', *pattern_options) as server,
            pytest.raises(TimeoutExpired),
        ):
            server.communicate(timeout=random.uniform(0.1, 1.5))  # Then it is killed.
        before, last = last, dict(table(hemicycle, 'SELECT id, seq FROM run'))
        assert all(before[run] <= last[run] for run in runs), 'journaled steps stay'
    with hemicycle.process('serve', '--port', '0', *pattern_options) as server:
        unfinished = "SELECT id FROM run WHERE status <> 'done'"
        until(lambda: not table(hemicycle, unfinished), 'the last server finishes all runs')
        server.kill()
    recovered = 0
    for run in runs:
        steps = hemicycle.steps(run)
        recovered += [step.event.name for step in steps].count('recover')
        assert find_repeats(steps) == [] and len(steps) >= last[run]
        assert hemicycle('runs', 'audit', run, *pattern_options).exit_code == 0
    counts = Counter(calls.read_text().split())
    assert len(counts) == 10 * LONG and sum(counts.values()) <= 10 * LONG + recovered


async def leave_ten_unfinished(hemicycle: Hemicycle, calls: Path) -> list[RunId]:
    """Leave ten unfinished runs behind."""
    catalog = Catalog.load([hemicycle.patterns])
    async with LocalConductor(await open_journal(hemicycle.database), catalog=catalog) as crashed:
        parameters = {'calls': str(calls), 'steps': LONG, 'pause': 0.02}
        return [(await crashed.start('counting', parameters)).id for _ in range(10)]


def table(hemicycle: Hemicycle, query: str) -> list[Any]:
    """The result of a query on the file itself."""
    with closing(sqlite3.connect(f'{hemicycle.database.as_uri()}?mode=ro', uri=True)) as file:
        return file.execute(query).fetchall()


def claims(hemicycle: Hemicycle) -> int:
    """How often the only run was claimed."""
    return int(table(hemicycle, 'SELECT epoch FROM run')[0][0])


def was_claimed_since(hemicycle: Hemicycle, epoch: int) -> bool:
    return claims(hemicycle) > epoch


def test_breakpoints_and_held_regions_survive_a_kill(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    stop = ('--break', 'enter analyzing', '--break', 'when tokens > 1', '--paused')
    assert hemicycle(*PIPELINE, *stop, '--quiet').exit_code == 4
    with hemicycle.process('step', 'last', '--over', '--pace', '2') as process:
        hemicycle.reaches(4, process)
        process.send_signal(signal.SIGKILL)
        wait_for_exit(process)
    killed = hemicycle.newest()
    assert not killed.status.ended
    before = hemicycle.steps(killed.id)
    assert before[-1].event.name == 'step', 'it was killed while running to the first breakpoint'
    assert hemicycle('resume', '--quiet').exit_code == 4, 'it stops at its breakpoints'
    assert 'tokens > 1 · hit once' in hemicycle('breakpoint', 'list').stdout
    assert hemicycle('resume', '--quiet').exit_code == 4
    listed = hemicycle('breakpoint', 'list').stdout.splitlines()
    assert listed == ['  1  enter analyzing · hit once', '  2  tokens > 1 · hit once']
    after = hemicycle.steps(killed.id)
    assert after[: len(before)] == before and after[-1].active == ('analyzing.thinking',)
    assert find_repeats(after) == [] and hemicycle('runs', 'audit').exit_code == 0


def status(hemicycle: Hemicycle) -> Status | None:
    info = hemicycle.find_newest()
    return info.status if info else None


def find_repeats(steps: list[Transition]) -> list[tuple[str, int]]:
    """Find visits whose work ended more than once; the step numbers must have no gaps."""
    assert [step.seq for step in steps] == list(range(1, len(steps) + 1))
    endings = Counter(
        (step.event.at, step.event.since)
        for step in steps
        if step.event.name in ('done', 'failed') and step.event.since and not step.raised
    )
    return [visit for visit, count in endings.items() if count > 1]
