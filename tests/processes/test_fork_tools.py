"""Forks of runs with real programs: commands in the sandbox, an MCP server, and calls that take too long."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from engine import Catalog, Conductor, LocalConductor, Pattern, Status, ToolContext
from engine.agents.chart import agent
from engine.errors import ModelError
from engine.history import ForkOverrides
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.models.scripted.library import scenarios
from engine.models.scripted.model import Scripted
from engine.records import RunId
from engine.tools.protocol import tool
from engine.workspace import Sandbox
from tests.support.clocks import IdleClock
from tests.support.forks import PLAYED, forks_alike, normalize
from tests.support.harness import FakeModel, calls, catalog
from tests.support.mcp.pattern import SMALL, remote


async def files(conductor: Conductor, run: RunId, at: int | None = None) -> dict[str, str]:
    """The files of a run's folder at a step: digests by name."""
    snapshot = (await conductor.view(run, at)).files.get('work')
    return (
        {file.path: file.digest for file in await conductor.workspaces.files(run, snapshot)}
        if snapshot
        else {}
    )


def on_disk(conductor: Conductor, run: RunId) -> dict[str, bytes]:
    folder = conductor.workspaces.of(run, 'work').folder
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob('*'))
        if file.is_file() and '.git/' not in str(file.relative_to(folder))
    }


async def test_a_fork_of_a_coding_run_has_the_files_of_its_step(sandbox: Sandbox, tmp_path: Path) -> None:
    own_catalog = Catalog.load()
    own_catalog.models['scripted'] = Scripted(pace=0)
    sample = scenarios('debugger')[0]
    async with LocalConductor(
        MemoryJournal(), catalog=own_catalog, clock=IdleClock(), workspaces=tmp_path
    ) as conductor:
        run = (await conductor.start('debugger', sample.parameters)).id
        assert (await conductor.result(run)).status is Status.DONE
        steps, end = await conductor.transitions(run), await files(conductor, run)
        mended = next(
            step.seq
            for step in steps
            if step.event.name == 'done'
            and any(r['name'] == 'edit_file' for r in step.event.data.get('results', ()))
        )
        files_before, original = on_disk(conductor, run), (tmp_path / run / 'agents')
        times = {file: file.stat().st_mtime_ns for file in original.rglob('*') if file.is_file()}
        for at in (mended - 2, mended):
            played = await conductor.fork(run, at, overrides=PLAYED)
            assert (await conductor.result(played)).status is Status.DONE
            begin = (await conductor.info(played)).parent_at
            assert normalize((await conductor.transitions(played))[begin + 1 :]) == normalize(steps[begin:])
            assert await files(conductor, played) == end

            fork = await conductor.fork(run, at, paused=True)
            assert await files(conductor, fork) == await files(conductor, run, at)
            start = on_disk(conductor, fork)
            (source,) = (name for name in start if name == 'spans.py')
            assert (b'max(merged[-1][1], end)' in start[source]) is (at == mended)
            await conductor.resume(fork)
            outcome = await conductor.result(fork)
            assert outcome.status is Status.DONE, outcome.error
            ended = on_disk(conductor, fork)
            assert {name: ended[name] for name in files_before if name.endswith('.py')} == {
                name: text for name, text in files_before.items() if name.endswith('.py')
            }
            assert await conductor.audit(fork) and await conductor.audit(played)
        assert on_disk(conductor, run) == files_before and await conductor.transitions(run) == steps
        assert times == {file: file.stat().st_mtime_ns for file in original.rglob('*') if file.is_file()}


class Shelled(Pattern):
    """An agent with a shell."""

    initial = 'working'
    states = [
        agent('working', prompt='ask', tools=('run_command',), folder='work'),
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'working', 'over'], ['failed', 'working', 'lost']]

    def ask(self, memory: Any) -> str:
        return 'do it'


async def test_commands_of_a_fork_cannot_reach_the_original(sandbox: Sandbox, tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> Any:
        victim = tmp_path / (origin[0] if origin else 'none') / 'agents' / 'work' / 'log.txt'
        command = f'echo {request.hints.turn} >> log.txt; echo broken > {victim} ; cat {victim}; true'
        return calls(('run_command', {'command': command})) if request.hints.turn < 3 else 'done'

    origin: list[RunId] = []
    own_catalog = catalog(FakeModel(reply), Shelled)
    own_catalog.tools['run_command'] = Catalog.load().tools['run_command']
    async with LocalConductor(MemoryJournal(), catalog=own_catalog, workspaces=tmp_path) as conductor:
        run = (await conductor.start('shelled')).id
        await conductor.result(run)
        origin.append(run)
        steps = await conductor.transitions(run)
        first = next(step.seq for step in steps if 'results' in step.event.data)
        fork = await conductor.fork(run, first)
        assert (await conductor.result(fork)).status is Status.DONE
        assert on_disk(conductor, fork) == on_disk(conductor, run) == {'log.txt': b'0\n1\n2\n'}
        assert await files(conductor, fork) == await files(conductor, run)
        assert 'broken' not in str(
            [step.event.data.get('results') for step in await conductor.transitions(fork)][first + 1 :]
        ).replace('echo broken', '')
        assert await conductor.transitions(run) == steps


def remembering(request: ModelRequest) -> Any:
    """Sends the server something, makes a call that never returns, and ends with the answers."""
    match request.hints.turn:
        case 0:
            return calls(('small_remember', {'text': 'x'}), ('small_add', {'a': 2}))
        case 1:
            return calls(('small_hang', {}), ('small_fail', {'text': 'y'}))
        case 2:
            return calls(('small_remember', {'text': 'z'}))
    return str(request.messages[-1].results[0].text) if hasattr(request.messages[-1], 'results') else 'end'


def results(steps: Any) -> list[list[str]]:
    return [
        [item['text'] for item in step.event.data['results']]
        for step in steps
        if 'results' in step.event.data
    ]


async def test_mcp_tools_are_called_again_only_when_live(tmp_path: Path) -> None:
    journal, file = MemoryJournal(), tmp_path / 'endpoints.toml'
    file.write_text(f'{SMALL}seconds = 0.3\n')
    served = remote(FakeModel(remembering), file)
    async with LocalConductor(journal, catalog=served, workspaces=tmp_path / 'files') as conductor:
        run = (await conductor.start('remote')).id
        assert (await conductor.result(run)).status is Status.DONE
        steps = await conductor.transitions(run)
        heard = results(steps)
        assert (
            heard[0][0] == 'x'
            and 'took longer than 0.3 seconds' in heard[1][0]
            and heard[2][0] == 'x, add, z'
        )
        assert await forks_alike(conductor, run) > 6
        batches = [step.seq for step in steps if 'results' in step.event.data]
        live = await conductor.fork(run, batches[1])
        await conductor.result(live)
        assert results(await conductor.transitions(live))[2] == ['x, add, z, z'], 'nothing was replayed on it'
        one = await conductor.fork(
            run, 1, overrides=ForkOverrides(after='recorded', plays={f'@{batches[2]}': 'live'})
        )
        await conductor.result(one)
        assert results(await conductor.transitions(one)) == [*heard[:2], ['x, add, z, z, z']]
        assert await conductor.transitions(run) == steps
    nowhere = file.with_name('other.toml')
    nowhere.write_text('[mcp.small]\ncommand = "/no/such/program"\nstart = 60\n')
    without = remote(FakeModel(remembering), nowhere)
    async with LocalConductor(journal, catalog=without, workspaces=tmp_path / 'files') as conductor:
        fork = await conductor.fork(run, 1, overrides=PLAYED)
        assert (await conductor.result(fork)).status is Status.DONE, 'a replay needs no server'
        assert results(await conductor.transitions(fork)) == heard


@tool(seconds=0.2)
async def dawdle(context: ToolContext) -> str:
    """Never return."""
    await asyncio.sleep(3600)
    return 'late'


class Hurried(Pattern):
    """An agent with a slow tool and a model that is slow once, then an agent without any time."""

    initial = 'working'
    states = [
        agent('working', prompt='ask', tools=('dawdle',)),
        agent('rushing', prompt='ask', within=0.3),
        {'name': 'late', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [
        ['done', 'working', 'rushing'],
        ['done', 'rushing', 'lost'],
        ['expired', 'rushing', 'late'],
        ['failed', '*', 'lost'],
    ]

    def ask(self, memory: Any) -> str:
        return 'go'


def hurry(request: ModelRequest) -> Any:
    hints = request.hints
    if hints.role == 'rushing':
        return asyncio.Event()
    if hints.turn == 0:
        return calls(('dawdle', {}))
    return ModelError('it took too long', kind='timeout', retryable=True) if hints.attempt == 1 else 'at last'


async def test_timeouts_are_replayed_and_can_occur_again() -> None:
    model = FakeModel(hurry)
    async with LocalConductor(MemoryJournal(), catalog=catalog(model, Hurried, tools=(dawdle,))) as conductor:
        run = (await conductor.start('hurried')).id
        assert (await conductor.result(run)).status is Status.DONE
        steps = await conductor.transitions(run)
        names = [step.event.name for step in steps]
        assert 'retry' in names and 'expired' in names and 'longer than' in results(steps)[0][0]
        model.requests.clear()
        assert await forks_alike(conductor, run) > 5 and not model.requests
        for plays, request_count in (
            ({'rushing': 'live'}, 1),
            ({'working': 'live'}, 3),
            ({'working.using_tools': 'live'}, 0),
        ):
            model.requests.clear()
            overrides = ForkOverrides(after='recorded', plays=plays)  # type: ignore[arg-type]
            forecast = await conductor.forecast(run, 1, overrides)
            fork = await conductor.fork(run, 1, overrides=overrides)
            outcome = await asyncio.wait_for(conductor.result(fork), 60)
            assert (outcome.status, len(model.requests)) == (Status.DONE, request_count), (plays, forecast)
            assert [
                step.event.name for step in await conductor.transitions(fork) if step.event.name != 'recover'
            ] == names
            assert await conductor.audit(fork)
        assert await conductor.transitions(run) == steps
