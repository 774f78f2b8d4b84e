"""Agents that hang, flood, die, or send garbage or an older version; no processes remain."""

from __future__ import annotations

import asyncio
import re
from asyncio.subprocess import PIPE
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import uvloop
from acp import RequestError

from engine import Conductor, Status
from engine.records import RunId
from engine.statechart.retry import Retry
from engine.tools.acp.error_mapping import turn_error
from engine.tools.acp.process import AgentProcess, find_processes, kill_processes
from engine.workspace import Sandbox
from tests.processes.acp.conductor import BY_ODD, conductor_with, lone, odd
from tests.support.harness import turns, until

WORK = 'at_work'


@pytest.mark.parametrize(
    ('behaviour', 'message', 'fields'),
    [
        ('mute', r'did not begin a session within 3 s', {'start': 3.0}),
        ('hang', r'said nothing for 2 s', {'idle': 2.0}),
        ('flood', r'written more than 4,000,000 characters', {}),
        ('long_line', r'a message of more than 32 MB', {}),
        ('garbage', r"not messages of the protocol, such as 'Welcome to the best agent!'", {}),
        ('exits', r'ended with status 3: no licence', {}),
        ('die', r'ended with status 7: out of luck', {}),
        ('old', r'speaks version 0 of the protocol, and Hemicycle speaks 1', {}),
        ('signs_in', r'Authentication required; sign in with the agent itself', {}),
        ('hit_limit', r'usage limit reached.*\(until \d\d:\d\d\)', {}),
    ],
)
async def test_each_problem_has_its_own_message(
    behaviour: str, message: str, fields: dict[str, float]
) -> None:
    async with conductor_with(odd(behaviour, **fields)) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        outcome = await asyncio.wait_for(conductor.result(run), 120)
        assert outcome.status is Status.FAILED
        problem = (await conductor.view(run)).agents[WORK]['problem']
        assert problem.startswith('odd: ')
        with pytest.raises(AssertionError, match=message):
            raise AssertionError(problem)
        await wait_until_gone(run)


def test_the_exit_of_a_program_is_reported_under_uvloop_too() -> None:
    async def send() -> str:
        process = await asyncio.create_subprocess_exec(
            *('sh', '-c', 'echo no licence >&2; exit 3'), stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        agent = AgentProcess(process=process, cookie='ended', unsandboxed=False)
        await process.wait()
        with pytest.raises(ConnectionError):
            for _ in range(3):  # the first attempt closes the pipe
                await agent.send({'id': 1})
        problem = await agent.exit_error()
        await agent.close()
        return str(problem)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(send()) == 'it ended with status 3: no licence'


async def wait_until_gone(run: RunId) -> None:
    """Wait until no process of the run's agent is alive."""
    await until(lambda: not find_processes(f'{run}/{WORK}'))


def alive(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


async def wait_for_children(conductor: Conductor, run: RunId) -> list[int]:
    """Wait until the agent has started its children, and return all their process ids."""
    place = conductor.workspaces.of(run, WORK).folder / 'pids.txt'
    await until(lambda: place.is_file() and len(place.read_text().split()) == 3)
    return [int(pid) for pid in place.read_text().split()]


async def test_cancelling_kills_the_agent_and_all_its_children() -> None:
    async with conductor_with(odd('children')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        pids = await wait_for_children(conductor, run)
        assert all(map(alive, pids))
        await conductor.cancel(run, 'enough')
        await until(lambda: not any(map(alive, pids)))
        await wait_until_gone(run)


async def test_cancelling_in_the_sandbox_leaves_nothing_either(sandbox: Sandbox) -> None:
    async with conductor_with(odd('children', sandboxed=True)) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await wait_for_children(conductor, run)
        assert find_processes(f'{run}/{WORK}')
        await conductor.cancel(run, 'enough')
        await wait_until_gone(run)


async def test_an_agent_that_waits_for_a_person_is_killed_with_its_run() -> None:
    async with conductor_with(odd('asks')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        view = await conductor.view(run)
        while f'{WORK}.approving' not in view.active:
            await asyncio.sleep(0.05)
            view = await conductor.view(run)
        assert find_processes(f'{run}/{WORK}')
        await conductor.cancel(run, 'no answer')
        await wait_until_gone(run)


async def test_closing_hemicycle_leaves_no_agent() -> None:
    async with conductor_with(odd('children')) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        pids = await wait_for_children(conductor, run)
    await until(lambda: not any(map(alive, pids)))  # killed processes disappear with a delay


@pytest.mark.parametrize('loads', [True, False])
async def test_work_continues_after_a_crash(loads: bool) -> None:
    """The session is resumed if the agent can; otherwise a new one gets the history from the journal."""
    pattern = lone(retry=Retry(attempts=2, delay=0.01))
    async with conductor_with(odd('dies_once', *(['loads'] if loads else [])), pattern) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        outcome = await asyncio.wait_for(conductor.result(run), 60)
        log = (conductor.workspaces.of(run, WORK).folder / 'log.txt').read_text()
    assert outcome.answer == 'finished', outcome.error
    assert log.count('session/new') == (1 if loads else 2) and log.count('session/load') == int(loads)
    first, second = log.split('prompt: ')[1:]
    assert 'Do the work.' in first
    if loads:
        assert second.startswith('You were interrupted')
    else:
        assert 'Do the work.' in second and 'You used edit' in second and 'You were interrupted' in second


async def test_a_killed_agent_is_retried() -> None:
    async with conductor_with(
        odd('dies_once', 'loads'), lone(retry=Retry(attempts=3, delay=0.01))
    ) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        await until(lambda: conductor.workspaces.of(run, WORK).folder.joinpath('half.txt').exists())
        (conductor.workspaces.of(run, WORK).folder / 'second.txt').write_text('x')
        kill_processes(f'{run}/{WORK}')
        outcome = await asyncio.wait_for(conductor.result(run), 60)
    assert outcome.answer == 'finished', outcome.error


async def test_a_long_usage_limit_ends_the_turn_and_says_when_it_resets() -> None:
    async with conductor_with(odd('hit_limit_once'), lone(retry=Retry(attempts=2))) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        assert (await asyncio.wait_for(conductor.result(run), 120)).status is Status.FAILED
        problem = (await conductor.view(run)).agents[WORK]['problem']
        assert 'usage limit reached' in problem and UNTIL.search(problem)


async def test_a_short_usage_limit_is_waited_for() -> None:
    async with conductor_with(
        odd('hit_limit_once', patience=7_200.0), lone(retry=Retry(attempts=2))
    ) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        async for _ in turns():
            matching = [step for step in await conductor.transitions(run) if step.event.name == 'retry']
            if matching:
                break
        (step,) = matching
        assert 3_500 < step.event.data['delay'] <= 3_600
        assert 'usage limit reached' in step.event.data['error'] and UNTIL.search(step.event.data['error'])
        await conductor.cancel(run, 'enough')


UNTIL = re.compile(r'\(until (\d\d \w+ )?\d\d:\d\d\)')


@pytest.mark.parametrize(
    ('message', 'seconds'),
    [
        ('You have hit your usage limit. Try again in 3 days 4 hours 5 minutes.', 273_900),
        ('rate limit: retry in 20 s', 20),
        ('usage limit: resets in 2h 10m', 2 * 3_600 + 600),
    ],
)
def test_the_reset_time_is_read_from_agents_messages(message: str, seconds: float) -> None:
    error = turn_error(RequestError(-32_603, message))
    assert error.retry_after == seconds and error.retryable and '(until ' in str(error)


def test_a_time_of_day_means_its_next_occurrence() -> None:
    later = datetime.now(ZoneInfo('Europe/Berlin')) + timedelta(hours=2)
    message = f"You've hit your limit · resets {later:%I:%M}{later:%p} (Europe/Berlin)".replace(' 0', ' ')
    error = turn_error(RequestError(-32_603, message))
    assert error.kind == 'quota' and error.retry_after is not None and 7_100 < error.retry_after <= 7_200


@pytest.mark.parametrize('how', ['{0:%b %-d}th, {0:%Y} {0:%-I:%M %p}', '{0:%b %-d}, {0:%-I:%M%p}'])
def test_a_date_may_come_with_the_time(how: str) -> None:
    later = datetime.now().astimezone() + timedelta(days=3, minutes=1)
    error = turn_error(
        RequestError(-32_603, f"You've hit your usage limit. Try again at {how.format(later)}.")
    )
    assert error.retryable and error.retry_after is not None
    assert 3 * 86_400 - 5 < error.retry_after <= 3 * 86_400 + 60
    never = turn_error(
        RequestError(-32_603, "You've hit your usage limit. Try again at Nov 31st, 2026 4:02 AM.")
    )
    assert never.kind == 'quota' and never.retry_after is None


def test_the_error_kind_of_claude_is_used_but_not_shown() -> None:
    error = turn_error(RequestError(-32_603, 'Request rejected', {'errorKind': 'rate_limit'}))
    assert (error.kind, error.problem) == ('rate limit', 'Request rejected')
