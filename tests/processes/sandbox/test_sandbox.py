"""The sandbox: results, streamed output, the environment, and machines without one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from engine.errors import ToolError
from engine.host.clock import settle
from engine.records import RunId
from engine.workspace import Confinement, Limits, Sandbox, Workspace, Workspaces
from engine.workspace.sandbox.process import run_process
from tests.support.harness import until


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspaces(tmp_path).of(RunId('r'), 'one')


@pytest.fixture(params=['sandboxed', 'unsafe'])
async def either(request: pytest.FixtureRequest) -> Sandbox:
    sandbox = Sandbox(unsafe=True, _problem='none is wanted' if request.param == 'unsafe' else None)
    if request.param == 'sandboxed' and await sandbox.problem():
        pytest.skip(await sandbox.problem())
    return sandbox


async def test_a_result_says_how_it_ended(either: Sandbox, workspace: Workspace) -> None:
    ran = await either.run(['sh', '-c', 'echo out; echo err >&2; exit 3'], workspace)
    assert (ran.code, ran.output, ran.ended) == (3, 'out\nerr\n', 'exit') and ran.summary.startswith(
        '[exit status 3'
    )
    assert ran.unsafe == ('without a sandbox' in ran.summary) == bool(await either.problem())
    killed = await either.run(['sh', '-c', 'kill -9 $$'], workspace)
    assert killed.code == 137 and killed.ended == 'exit'
    assert (await either.run(['no-such-program'], workspace)).code != 0 if not ran.unsafe else True
    slow = await either.run(['sleep', '9'], workspace, Confinement(limits=Limits(seconds=0.3)))
    assert slow.ended == 'time' and slow.seconds < 3
    many = await either.run(['yes'], workspace, Confinement(limits=Limits(output=5_000)))
    assert many.ended == 'output'


async def test_a_command_cannot_end_the_next(either: Sandbox, workspace: Workspace) -> None:
    deep = 'import os, time\nfor _ in range(2_000):\n os.mkdir("d")\n os.chdir("d")\ntime.sleep(9)'
    nested = await either.run([sys.executable, '-I', '-c', deep], workspace)
    assert nested.ended == 'nesting' and 'Folders nested 64 deep have been removed' in nested.output
    ran = await either.run(['sh', '-c', 'sleep 0.3; rm -r d && chmod 0 .'], workspace)
    assert (ran.ended, ran.code) == ('exit', 0)
    assert (await either.run(['touch', 'a'], workspace)).code == 0
    assert await workspace.snapshot() and [entry.path for entry in await workspace.entries()] == ['a']


async def test_output_is_streamed_and_complete(either: Sandbox, workspace: Workspace) -> None:
    pieces: list[tuple[float, str]] = []
    script = "printf 'caf\\303'; sleep 0.3; printf '\\251'; sleep 0.3; printf '\\377'"
    ran = await either.run(
        ['sh', '-c', script], workspace, on_output=lambda text: pieces.append((time.monotonic(), text))
    )
    assert [text for _, text in pieces] == ['caf', 'é', '�'] and ran.output == 'café�'
    assert pieces[1][0] - pieces[0][0] > 0.2


async def test_the_workspace_is_shared_with_the_tools(either: Sandbox, workspace: Workspace) -> None:
    await workspace.write('bin/run', b'#!/bin/sh\necho "$GREETING" > made; cat input', executable=True)
    await workspace.write('input', b'given')
    ran = await either.run(['bin/run'], workspace, Confinement(variables={'GREETING': 'hello'}))
    assert ran.output == 'given' and await workspace.read('made') == b'hello\n'
    await workspace.write('made', b'again')
    ran = await either.run(['sh', '-c', 'cat made; echo more >> made; rm input; mkdir -m 0 shut'], workspace)
    assert ran.output == 'again' and await workspace.read('made') == b'againmore\n'
    assert await workspace.snapshot()


async def test_a_program_that_is_cancelled_twice_leaves_no_task_and_no_pipe(tmp_path: Path) -> None:
    """Its escaped child holds the other end of the pipe."""
    output: list[str] = []
    tasks, files = asyncio.all_tasks(), len(os.listdir('/proc/self/fd'))
    script = ['sh', '-c', "(setsid sh -c 'echo $$; exec sleep 600' &); echo orphaned; sleep 600"]
    running = asyncio.create_task(
        run_process(script, tmp_path, Limits(), output.append, environment=os.environ)
    )
    await until(lambda: len(''.join(output).split()) == 2)
    (child,) = (int(word) for word in ''.join(output).split() if word.isdigit())
    try:
        for _ in range(2):
            running.cancel()
            await settle()
        assert running.cancelled()
        await until(lambda: asyncio.all_tasks() == tasks and len(os.listdir('/proc/self/fd')) == files)
    finally:
        os.kill(child, signal.SIGKILL)


async def test_python_and_its_packages_are_available(sandbox: Sandbox, workspace: Workspace) -> None:
    ran = await sandbox.run(['python', '-c', 'import sys, pytest; print(sys.prefix)'], workspace)
    assert ran.output.strip() == sys.prefix


async def test_the_event_loop_is_not_blocked(sandbox: Sandbox, workspace: Workspace) -> None:
    beats, running = 0, True

    async def beat() -> None:
        nonlocal beats
        while running:
            await asyncio.sleep(0.01)
            beats += 1

    beating = asyncio.ensure_future(beat())
    script = 'seq 20000; sleep 0.5'
    await asyncio.gather(*(sandbox.run(['sh', '-c', script], workspace) for _ in range(4)))
    running = False
    await beating
    assert beats > 10


async def test_without_a_sandbox_commands_are_disabled(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('engine.workspace.sandbox.sandbox.shutil.which', lambda name, **options: None)
    with pytest.raises(
        ToolError, match=r'no bwrap here: install bubblewrap .*, or set HEMICYCLE_UNSAFE_COMMANDS=1'
    ):
        await Sandbox().run(['true'], workspace)
    ran = await Sandbox(unsafe=True).run(['true'], workspace)
    assert ran.unsafe and ran.code == 0


async def test_a_broken_sandbox_is_detected(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        'engine.workspace.sandbox.sandbox.bubblewrap.sandbox_argv',
        lambda *rest: ['sh', '-c', 'echo no luck; exit 1'],
    )
    with pytest.raises(ToolError, match=r'does not work here \((no luck|.*no bwrap)'):
        await Sandbox().run(['true'], workspace)


@pytest.mark.parametrize(
    ('value', 'unsafe'), [('1', True), ('yes', True), ('0', False), ('', False), ('no', False)]
)
def test_the_environment_enables_commands(monkeypatch: pytest.MonkeyPatch, value: str, unsafe: bool) -> None:
    monkeypatch.setenv('HEMICYCLE_UNSAFE_COMMANDS', value)
    monkeypatch.setenv('HEMICYCLE_COMMAND_NETWORK', value)
    from_environment = Sandbox.of_environment()
    assert from_environment.unsafe is from_environment.network is unsafe


async def test_the_network_can_be_allowed(sandbox: Sandbox, workspace: Workspace) -> None:
    import socket

    allowed = Sandbox(network=True)
    with socket.create_server(('127.0.0.1', 0)) as server:
        script = f'import socket; socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), 5)'
        assert (await allowed.run([sys.executable, '-c', script], workspace)).code == 0
        assert (await sandbox.run([sys.executable, '-c', script], workspace)).code != 0
