"""Agents resume after a crash; replaying or viewing a run starts none; none reaches another's folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from engine import InvalidInput, Status
from engine.history import ForkOverrides
from engine.journal import MemoryJournal
from engine.tools.acp.process import find_processes
from engine.workspace import Sandbox
from tests.processes.acp.conductor import BY_ODD, conductor_with, odd
from tests.support.harness import first_steps, until, wait_for_state

WORK = 'at_work'
APPROVING = f'{WORK}.approving'


async def test_a_permission_open_at_a_crash_is_requested_again(tmp_path: Path) -> None:
    """An approval given to a dead process counts only after the agent asks again."""
    journal = MemoryJournal()
    async with conductor_with(odd('asks', 'loads'), journal=journal, workspaces=tmp_path) as first:
        run = (await first.start('lone', models=BY_ODD)).id
        view = await wait_for_state(first, run, APPROVING)
        partial_journal = await first_steps(journal, run, view.seq)
    await until(lambda: not find_processes(f'{run}/{WORK}'))
    async with conductor_with(odd('asks', 'loads'), journal=partial_journal, workspaces=tmp_path) as second:
        assert await second.recover() == [run]
        await second.send(run, 'approve', at=APPROVING)
        await until(lambda: find_processes(f'{run}/{WORK}'))
        view_after = await wait_for_state(second, run, APPROVING)
        assert view_after.seq > view.seq
        lost = next(
            part
            for message in view_after.agents[WORK]['messages']
            for part in message['parts']
            if part['kind'] == 'result'
        )
        assert lost['text'].startswith('This was not run') and not lost['ok']
        assert not (second.workspaces.of(run, WORK).folder / 'removed.txt').exists()
        await second.send(run, 'approve', at=APPROVING)
        outcome = await asyncio.wait_for(second.result(run), 60)
        assert outcome.answer == 'allowed: True' and await second.audit(run)


async def test_a_replaying_fork_starts_no_agent(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with conductor_with(odd('plain'), journal=journal, workspaces=tmp_path) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        assert (await conductor.result(run)).answer == 'one two'
        last = (await conductor.info(run)).seq
        conductor.catalog.agents._agents['odd'] = odd('exits')  # starting it now is a failure
        fork = await conductor.fork(run, 1, overrides=ForkOverrides(after='recorded'))
        outcome = await asyncio.wait_for(conductor.result(fork), 60)
        assert outcome.status is Status.DONE and outcome.answer == 'one two'
        assert [(await conductor.view(run, at)).seq for at in range(1, last + 1)] == [*range(1, last + 1)]
        assert await conductor.audit(run) and await conductor.audit(fork)


async def test_a_live_fork_gets_the_history_in_a_new_session(tmp_path: Path) -> None:
    async with conductor_with(odd('asks', 'loads'), workspaces=tmp_path) as conductor:
        run = (await conductor.start('lone', models=BY_ODD, approvals='none')).id
        await asyncio.wait_for(conductor.result(run), 60)
        steps = await conductor.transitions(run)
        used = next(step.seq for step in steps if f'{WORK}.using_tools' in step.left)
        fork = await conductor.fork(run, used)
        await asyncio.wait_for(conductor.result(fork), 60)
        session = (await conductor.view(fork)).agents[WORK]['session']
        assert session['run'] == fork
        assert (conductor.workspaces.of(fork, WORK).folder / 'removed.txt').exists()


async def test_a_fork_gives_a_role_to_an_agent_and_takes_it_back(tmp_path: Path) -> None:
    async with conductor_with(odd('plain'), workspaces=tmp_path) as conductor:
        run = (await conductor.start('lone')).id
        assert (await conductor.result(run)).answer == 'from the model '
        fork = await conductor.fork(run, 1, overrides=ForkOverrides(models=BY_ODD))
        assert (await asyncio.wait_for(conductor.result(fork), 60)).answer == 'one two'
        assert (await conductor.view(fork)).agents[WORK]['model'] == 'agent:odd'
        child = await conductor.fork(fork, 1, overrides=ForkOverrides(models={'': 'scripted'}))
        assert (await conductor.result(child)).answer == 'from the model '


async def test_no_agent_reaches_the_folder_of_another_in_the_sandbox(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """It tries every path it may know, through the protocol and directly."""
    async with conductor_with(odd('roams', sandboxed=True), workspaces=tmp_path) as conductor:
        victim = conductor.workspaces.of(
            (await conductor.start('lone', models=BY_ODD, paused=True)).id, 'other'
        )
        await victim.write('mine.txt', b'mine')
        run = (
            await conductor.start('lone', models=BY_ODD, instructions={'worker': f'Go to {victim.folder}'})
        ).id
        outcome = await asyncio.wait_for(conductor.result(run), 60)
        assert outcome.status is Status.DONE, outcome.error
        assert outcome.answer.count('refused') == 2 and 'wrote' not in outcome.answer, outcome.answer
        assert (victim.folder / 'mine.txt').read_bytes() == b'mine'
        assert sorted(path.name for path in victim.folder.iterdir()) == ['mine.txt']


async def test_comments_go_back_to_the_agent_as_its_next_turn(tmp_path: Path) -> None:
    async with conductor_with(odd('echoes'), workspaces=tmp_path) as conductor:
        run = (await conductor.start('lone', models=BY_ODD)).id
        first = (await conductor.result(run)).answer
        fork = await conductor.merging.send_back(run, WORK, 'a.py, line 3: name it')
        outcome = await asyncio.wait_for(conductor.result(fork), 60)
        assert 'line 3: name it' in outcome.answer and 'line 3' not in first
        assert outcome.answer.rindex('Do the work.') < outcome.answer.rindex('line 3: name it')
        assert (await conductor.info(run)).status is Status.DONE and await conductor.audit(fork)
        with pytest.raises(InvalidInput, match='nobody has not finished a turn'):
            await conductor.merging.send_back(run, 'nobody', 'x')
