"""Agents' files in runs: journaled with each batch of tool calls, and available at every step."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from engine import Activity, Catalog, Conductor, LocalConductor, Pattern, Status, ToolContext
from engine.agents.chart import agent
from engine.errors import UnknownRun, WorkspaceError
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.records import RunId
from engine.tools.protocol import tool
from engine.workspace import Sandbox
from storage import open_journal
from tests.support.harness import FakeModel, Lone, calls, catalog, in_turn, nest, until, wait_for_state


@tool()
async def jot(context: ToolContext, name: Annotated[str, Field(description='Which')]) -> str:
    """Write a small file."""
    assert context.workspace is not None
    await context.workspace.write(name, b'x')
    return 'ok'


class Pair(Lone):
    """Two agents side by side."""

    initial = 'both'
    states = [
        {'name': 'both', 'parallel': [agent(name, prompt='ask', tools=('jot',)) for name in ('one', 'two')]},
        {'name': 'end', 'final': True},
    ]
    transitions = [['done', 'both', 'end'], ['failed', 'both', 'end']]


def writing(turns: int, *, hangs: bool = False) -> FakeModel:
    """Return a model whose agents write one file per turn, `ROLE-TURN`, and then end or wait forever."""

    def reply(request: ModelRequest) -> Any:
        hints = request.hints
        if hints.turn < turns:
            return calls(('jot', {'name': f'{hints.role}-{hints.turn}'}))
        return asyncio.Event() if hangs else 'over'

    return FakeModel(reply)


def make_conductor(journal: Any, model: FakeModel, root: Path | None = None) -> Conductor:
    return LocalConductor(journal, catalog=catalog(model, Pair, tools=(jot,)), workspaces=root)


def list_files(conductor: Conductor, run: RunId, which: str) -> list[str]:
    folder = conductor.workspaces.of(run, f'both.{which}').folder
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


async def at_step(conductor: Conductor, run: RunId, step: int) -> dict[str, list[str]]:
    view = await conductor.view(run, step)
    return {
        path: [file.path for file in await conductor.workspaces.files(run, snapshot)]
        for path, snapshot in view.files.items()
    }


async def run_until_hanging(conductor: Conductor, turns: int) -> RunId:
    """Start a run and wait until its agents have finished their turns and hang."""
    run = (await conductor.start('pair')).id
    model = conductor.catalog.models['scripted']
    await until(lambda: isinstance(model, FakeModel) and len(model.requests) == 2 * (turns + 1))
    return run


async def test_the_view_knows_the_files_of_each_step(tmp_path: Path) -> None:
    async with make_conductor(MemoryJournal(), writing(2), tmp_path) as conductor:
        run = (await conductor.start('pair')).id
        assert (await conductor.result(run)).status is Status.DONE
        files_by_step = [
            await at_step(conductor, run, seq) for seq in range((await conductor.info(run)).seq + 1)
        ]
        assert files_by_step[0] == files_by_step[1] == {}
        assert files_by_step[-1] == {'both.one': ['one-0', 'one-1'], 'both.two': ['two-0', 'two-1']}
        for before, after in pairwise(files_by_step):
            assert all(set(before[path]) <= set(after[path]) for path in before)
        assert await conductor.audit(run)


@tool()
async def dig(context: ToolContext) -> str:
    """Nest too many folders."""
    nest(context.files.folder, 100)
    return 'dug'


class Digging(Lone):
    """One agent that nests folders."""

    states = [agent('working', prompt='ask', tools=('dig',)), *Lone.states[1:]]


async def test_a_model_is_told_why_its_folder_cannot_be_saved(swept: Path) -> None:
    model = FakeModel(in_turn(calls(('dig', {})), 'over'))
    async with LocalConductor(catalog=catalog(model, Digging, tools=(dig,)), workspaces=swept) as conductor:
        run = (await conductor.start('digging')).id
        assert (await conductor.result(run)).status is Status.DONE
        assert 'nested more than 64 deep' in model.requests[1].messages[-1].parts[0].text
        assert (await conductor.view(run)).files == {}
        await conductor.delete(run)
        await conductor.purge(run)
        assert list(swept.iterdir()) == []


async def test_agents_without_files_have_no_folder_and_no_snapshot(tmp_path: Path) -> None:
    async with make_conductor(MemoryJournal(), writing(0), tmp_path) as conductor:
        run = (await conductor.start('pair')).id
        await conductor.result(run)
        assert (await conductor.view(run)).files == {} and list(tmp_path.iterdir()) == []
        await conductor.delete(run)


@pytest.mark.parametrize('kind', ['memory', 'sqlite'])
async def test_recovery_restores_the_files_of_the_last_step(tmp_path: Path, kind: str) -> None:
    journal = MemoryJournal() if kind == 'memory' else await open_journal(tmp_path / 'runs.db')
    root = tmp_path / 'files'
    async with make_conductor(journal, writing(2, hangs=True), root) as crashed:
        run = await run_until_hanging(crashed, 2)
        folder = crashed.workspaces.of(run, 'both.one').folder
        (folder / 'half-done').touch()
        (folder / 'one-0').unlink()
        crashed.workspaces.of(run, 'both.three').folder.mkdir()
    journal = journal if kind == 'memory' else await open_journal(tmp_path / 'runs.db')
    async with make_conductor(journal, writing(3), root) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE
        assert list_files(successor, run, 'one') == ['one-0', 'one-1', 'one-2']
        assert list_files(successor, run, 'three') == []


async def test_a_run_whose_files_are_lost_says_so(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, writing(1, hangs=True), tmp_path / 'a') as crashed:
        run = await run_until_hanging(crashed, 1)
    async with make_conductor(journal, writing(1), tmp_path / 'b') as successor:
        assert await successor.recover() == []
        assert 'is no longer kept' in successor.stranded[run]
        with pytest.raises(WorkspaceError, match='no longer kept'):
            await successor.fork(run, (await successor.info(run)).seq)
        assert (await successor.runs()).total == 1
        await successor.delete(run)


async def test_a_fork_gets_the_files_of_its_step_in_folders_of_its_own(tmp_path: Path) -> None:
    async with make_conductor(MemoryJournal(), writing(3), tmp_path) as conductor:
        parent = (await conductor.start('pair')).id
        await conductor.result(parent)
        steps = await conductor.transitions(parent)
        early = next(step.seq for step in steps if 'snapshots' in step.event.data)
        fork = await conductor.fork(parent, early, paused=True)
        first = next(path for path in (await conductor.view(fork)).files)
        which = first.rpartition('.')[2]
        assert list_files(conductor, fork, which) == [f'{which}-0']
        (conductor.workspaces.of(fork, first).folder / f'{which}-0').write_text('changed')
        assert (conductor.workspaces.of(parent, first).folder / f'{which}-0').read_text() == 'x'
        await conductor.resume(fork)
        await conductor.result(fork)
        assert (
            list_files(conductor, fork, which)
            == list_files(conductor, parent, which)
            == [f'{which}-{n}' for n in range(3)]
        )
        await conductor.delete(parent)
        await conductor.purge(parent)
        assert [path.name for path in tmp_path.iterdir()] == [fork]
        assert (await at_step(conductor, fork, early))[first] == [f'{which}-0']
        await conductor.delete(fork)
        await conductor.purge(fork)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(UnknownRun):
            await conductor.delete(fork)


async def test_an_agent_writes_and_runs_a_program(tmp_path: Path) -> None:
    class Builder(Lone):
        """One agent with tools for files and commands."""

        states = [agent('working', prompt='ask', tools=('write_file', 'run_command')), *Lone.states[1:]]

    script = {'path': 'make.sh', 'text': 'echo made > result'}
    reply = in_turn(
        calls(('write_file', script), ('run_command', {'command': 'sh make.sh && echo well'})), 'ok'
    )
    tools = Catalog.load().tools
    own_catalog = catalog(FakeModel(reply), Builder, tools=(tools['write_file'], tools['run_command']))
    async with LocalConductor(
        catalog=own_catalog, workspaces=tmp_path, sandbox=Sandbox(unsafe=True)
    ) as conductor:
        run = (await conductor.start('builder')).id
        await conductor.result(run)
        view = await conductor.view(run)
        texts = [part['text'] for part in view.agents['working']['messages'][-2]['parts']]
        assert texts[0] == 'Created make.sh: 1 lines, 18 bytes.' and texts[1].startswith(
            'well\n[exit status 0'
        )
        files = {file.path: file for file in await conductor.workspaces.files(run, view.files['working'])}
        assert sorted(files) == ['make.sh', 'result']
        assert await conductor.workspaces.content(run, files['result'].digest) == b'made\n'


async def test_files_of_a_journal_in_memory_are_temporary() -> None:
    async with make_conductor(MemoryJournal(), writing(1, hangs=True)) as conductor:
        run = await run_until_hanging(conductor, 1)
        root = conductor.workspaces.root
        assert list_files(conductor, run, 'two') == ['two-0'] and (root / run).is_dir()
        assert 'both.two.thinking' in (await wait_for_state(conductor, run, 'both.two.thinking')).active
    assert not root.exists()


async def test_a_pattern_may_use_the_name_snapshots(tmp_path: Path) -> None:
    class Odd(Pattern):
        """Returns a list under that name, and a text that is no snapshot."""

        initial = 'a'
        states = [
            {'name': 'a', 'invoke': 'first'},
            {'name': 'b', 'invoke': 'second'},
            {'name': 'end', 'final': True},
        ]
        transitions = [['done', 'a', 'b'], ['done', 'b', 'end']]

        async def first(self, memory: Any, activity: Any) -> dict[str, Any]:
            return {'snapshots': ['x']}

        async def second(self, memory: Any, activity: Any) -> dict[str, Any]:
            await activity.workspace('mine').write('x', b'1')
            return {'snapshots': {'x': 'y', 'mine': await activity.workspace('mine').snapshot()}}

    async with LocalConductor(catalog=catalog(FakeModel(), Odd), workspaces=tmp_path) as conductor:
        run = (await conductor.start('odd')).id
        assert (await conductor.result(run)).status is Status.DONE
        assert list((await conductor.view(run)).files) == ['mine']


class Passed(Lone):
    """An activity of the pattern fills a folder that an agent then works in."""

    initial = 'filling'
    states = [
        {'name': 'filling', 'invoke': 'fill'},
        agent('working', prompt='ask', tools=('jot',), folder='common'),
        {'name': 'end', 'final': True},
    ]
    transitions = [['done', 'filling', 'working'], ['done', 'working', 'end'], ['failed', '*', 'end']]

    async def fill(self, memory: Any, activity: Activity) -> dict[str, Any]:
        await activity.workspace('common').write('given.txt', b'given')
        return {'snapshots': {'common': await activity.workspace('common').snapshot()}}


async def test_a_folder_is_shared_by_all_that_name_it(tmp_path: Path) -> None:
    async with LocalConductor(
        catalog=catalog(writing(1), Passed, tools=(jot,)), workspaces=tmp_path
    ) as conductor:
        run = (await conductor.start('passed')).id
        assert (await conductor.result(run)).status is Status.DONE
        view = await conductor.view(run)
        assert list(view.files) == ['common']
        files = await conductor.workspaces.files(run, view.files['common'])
        assert [file.path for file in files] == ['given.txt', 'working-0']
