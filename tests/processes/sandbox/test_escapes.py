"""Escape attempts of hostile commands in the sandbox: each fails, and this process survives."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from errno import ENOSYS, EPERM
from pathlib import Path

import pytest

from engine.records import RunId
from engine.workspace import CommandResult, Confinement, Limits, Sandbox, Workspace, Workspaces
from engine.workspace.sandbox import seccomp
from tests import tree

SECRET = secrets.token_hex(16)
SMALL = Limits(seconds=20, memory=200 << 20, processes=30, file_size=8 << 20, disk=32 << 20, files=2_000)


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    yield Workspaces(tmp_path / 'runs').of(RunId('r'), 'one')


async def attempt(
    sandbox: Sandbox, workspace: Workspace, script: str, limits: Limits = SMALL
) -> CommandResult:
    command = (
        ['sh', '-c', script] if not script.startswith('import ') else [sys.executable, '-I', '-c', script]
    )
    ran = await sandbox.run(command, workspace, Confinement(limits=limits))
    assert not ran.unsafe and SECRET not in ran.output, ran.output
    return ran


async def test_a_command_cannot_read_the_users_home(
    sandbox: Sandbox, workspace: Workspace, tmp_path: Path
) -> None:
    """Nor any other files of users: only a Python installed in a home is visible."""
    home = Path.home()
    hidden = home / f'.hemicycle-test-{secrets.token_hex(4)}'
    other = tmp_path / 'private'
    other.write_text(SECRET)
    try:
        hidden.write_text(SECRET)
        ran = await attempt(
            sandbox, workspace, f'cat {hidden} {other} ~/* ~/.*; ls -a {home}; ls -a {tmp_path}'
        )
        assert ran.code != 0 and 'private' not in ran.output.splitlines()
        listed = await attempt(sandbox, workspace, f'ls -a {home}')
        assert hidden.name not in listed.output
        everything = await attempt(
            sandbox, workspace, f'find / -xdev -name {hidden.name} 2>&1; cat /etc/shadow'
        )
        assert 'No such file' in everything.output
    finally:
        hidden.unlink()
    for place in ('/home', '/var', '/srv', '/mnt', '/sys', '/run', '/boot'):
        assert (await attempt(sandbox, workspace, f'ls {place}')).code != 0, place


async def test_a_command_cannot_read_or_write_another_agents_folder(
    sandbox: Sandbox, workspace: Workspace
) -> None:
    other = Workspace(workspace.folder.with_name('two'), workspace.objects, owner=workspace.owner)
    await other.write('plan', SECRET.encode())
    script = (
        f'cat ../two/plan {other.folder}/plan /proc/1/root{other.folder}/plan; ls ..; echo x > ../two/new'
    )
    ran = await attempt(sandbox, workspace, script)
    assert ran.code != 0 and [entry.path for entry in await other.entries()] == ['plan']


async def test_a_command_cannot_write_outside(sandbox: Sandbox, workspace: Workspace, tmp_path: Path) -> None:
    target = tmp_path / 'target'
    target.write_text('whole')
    for place in (
        '/usr/bin/x',
        '/etc/x',
        '/x',
        '/dev/x',
        '/proc/sys/kernel/hostname',
        f'{tmp_path}/y',
        '../y',
    ):
        assert (await attempt(sandbox, workspace, f'echo x > {place}')).code != 0, place
    (await workspace.make()).joinpath('link').symlink_to(target)
    assert (await attempt(sandbox, workspace, 'echo x > link')).code != 0
    assert (await attempt(sandbox, workspace, f'ln {sys.executable} hard; ln /usr/bin/env hard')).code != 0
    assert (await attempt(sandbox, workspace, 'mount -o remount,rw /usr; mount -t tmpfs x /usr')).code != 0
    assert (await attempt(sandbox, workspace, 'chmod 777 /usr; chroot / true')).code != 0
    assert target.read_text() == 'whole' and sorted(path.name for path in tmp_path.iterdir()) == [
        'runs',
        'target',
    ]


async def test_a_fork_bomb_is_stopped(sandbox: Sandbox, workspace: Workspace) -> None:
    started = time.monotonic()
    script = 'import os\nwhile True:\n try: os.fork()\n except OSError: pass'
    ran = await attempt(sandbox, workspace, script, Limits(seconds=2, processes=30))
    assert ran.ended in ('time', 'processes') and time.monotonic() - started < 10
    assert await children() == []


async def test_fork_is_refused_past_the_limit(sandbox: Sandbox, workspace: Workspace) -> None:
    script = """import os, time
try:
    for count in range(500):
        if os.fork() == 0:
            time.sleep(20)
except OSError:
    print('refused at', count)
"""
    ran = await attempt(sandbox, workspace, script)
    assert 'refused at' in ran.output and int(ran.output.split()[-1]) <= SMALL.processes


@pytest.mark.parametrize(
    ('script', 'ended'),
    [
        ('cat /dev/zero > one', 'file size'),
        ('for i in $(seq 99); do head -c 8000000 /dev/zero > $i; done; sleep 9', 'disk'),
        ('mkdir d; cd d; for i in $(seq 3000); do : > $i; done; sleep 9', 'disk'),
    ],
    ids=['one file', 'many files', 'many names'],
)
async def test_a_command_cannot_fill_the_disk(
    sandbox: Sandbox, workspace: Workspace, script: str, ended: str
) -> None:
    ran = await attempt(sandbox, workspace, script)
    assert ran.ended == ended
    # The size is checked periodically: more than allowed can be written, but not for long.
    assert sum(entry.size for entry in await workspace.entries()) < 600 << 20


async def test_a_command_cannot_fill_the_memory_file_systems(sandbox: Sandbox, workspace: Workspace) -> None:
    limits = Limits(seconds=20, scratch=4 << 20)
    for place in ('$TMPDIR', '/dev/shm'):
        ran = await attempt(
            sandbox, workspace, f'head -c 9000000 /dev/zero > {place}/x; ls -l {place}/x', limits
        )
        assert 'No space left' in ran.output
    assert 'Read-only' in (await attempt(sandbox, workspace, 'echo x > /dev/x; echo x > /x', limits)).output
    names = 'import os, time\nfor count in range(9_000):\n os.mknod(f"/dev/shm/{count}")\ntime.sleep(20)'
    assert (await attempt(sandbox, workspace, names, limits)).ended == 'memory'


async def test_a_command_cannot_fill_the_memory(sandbox: Sandbox, workspace: Workspace) -> None:
    alone = await attempt(sandbox, workspace, 'import time\nx = bytearray(400 << 20)\nprint("had it")')
    assert 'had it' not in alone.output and alone.code != 0
    together = """import os, time
for count in range(4):
    if os.fork() == 0:
        break
x = bytearray(b'x') * (60 << 20)
time.sleep(9)
"""
    assert (await attempt(sandbox, workspace, together)).ended == 'memory'
    tables = """import mmap
held = []
while True:
    held.append(mmap.mmap(-1, 1 << 34, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE))
    sum(held[-1][place] for place in range(0, 1 << 34, 2 << 20))
"""
    assert (await attempt(sandbox, workspace, tables, replace(SMALL, memory=50 << 20))).ended == 'memory'
    shared = 'import mmap, time\nx = mmap.mmap(-1, 400 << 20)\nx.write(bytes(100<<20)*4)\ntime.sleep(9)'
    assert (await attempt(sandbox, workspace, shared)).ended in ('memory', 'exit')


async def test_a_command_cannot_fill_the_buffers_of_sockets(sandbox: Sandbox, workspace: Workspace) -> None:
    # They belong to no process, and outlive the one that filled them as long as the other end is open.
    script = """import os, socket, time
for count in range(4):
    if os.fork() == 0:
        break
held = []
try:
    while True:
        held += socket.socketpair()
        held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8_000_000)
        held[-1].setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        size = held[-1].getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        held[-1].setblocking(False)
        try:
            while True:
                held[-1].send(bytes(60_000))
        except BlockingIOError:
            pass
except OSError:
    print('full', size, held[-1].getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), flush=True)
time.sleep(9)
"""
    limits = Limits(seconds=20, sockets=256 << 20)
    assert (await attempt(sandbox, workspace, script, limits)).ended == 'memory'
    fewer = script.replace('range(4)', 'range(0)')
    ran = await attempt(sandbox, workspace, fewer, replace(limits, seconds=5))
    default = Path('/proc/sys/net/core/wmem_default').read_text().strip()
    assert ran.ended == 'time' and ran.output.split() == ['full', default, '1']


async def test_a_command_cannot_open_a_socket(sandbox: Sandbox, workspace: Workspace, tmp_path: Path) -> None:
    with socket.create_server(('127.0.0.1', 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(f'\0hemicycle-{SECRET}')
        local.listen()
        port = server.getsockname()[1]
        script = f"""import socket
for family, address in ((2, ('127.0.0.1', {port})), (2, ('1.1.1.1', 53)), (10, ('2606:4700:4700::1111', 53)),
                        (1, '\\0hemicycle-' + '{SECRET}'[::1])):
    try:
        socket.socket(family).connect(address)
        print('connected to', family)
    except OSError as error:
        print('no', error.errno)
try:
    print('found', socket.getaddrinfo('example.com', 80))
except OSError:
    print('no name')
"""
        ran = await sandbox.run([sys.executable, '-I', '-c', script], workspace, Confinement(limits=SMALL))
        assert 'connected' not in ran.output and 'found' not in ran.output and ran.output.count('no') == 5
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()


async def test_a_command_cannot_see_or_end_other_processes(sandbox: Sandbox, workspace: Workspace) -> None:
    with subprocess.Popen(['sleep', '30'], env={'MARK': SECRET}) as other:  # noqa: ASYNC220
        try:
            listed = await attempt(sandbox, workspace, 'ls /proc')
            pids = {int(word) for word in listed.output.split() if word.isdigit()}
            assert other.pid not in pids and os.getpid() not in pids and len(pids) < 12
            script = f'cat /proc/*/cmdline /proc/*/environ; kill -9 {other.pid} -1'
            ran = await attempt(sandbox, workspace, script)
            assert str(workspace.folder) not in ran.output
            assert other.poll() is None
        finally:
            other.kill()


async def test_a_command_cannot_outlive_the_time_limit(sandbox: Sandbox, workspace: Workspace) -> None:
    mark = f'3{secrets.randbelow(10**8)}'
    started = time.monotonic()
    script = (
        f"trap '' TERM INT HUP; setsid sleep {mark} & (sleep {mark} &) ; nohup sleep {mark} & sleep {mark}"
    )
    ran = await attempt(sandbox, workspace, script, Limits(seconds=0.5))
    assert ran.ended == 'time' and time.monotonic() - started < 60 and 'time' in ran.summary
    await none_left(mark)
    attempted = await attempt(sandbox, workspace, f'(setsid sleep {mark} &); echo over')
    assert attempted.output == 'over\n' and attempted.ended == 'exit'
    await none_left(mark)


async def test_a_command_cannot_outlive_its_caller(sandbox: Sandbox, workspace: Workspace) -> None:
    mark = f'3{secrets.randbelow(10**8)}'
    task = asyncio.ensure_future(attempt(sandbox, workspace, f'setsid sleep {mark} & sleep {mark}'))
    await some_started(mark)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await none_left(mark)


async def test_a_command_cannot_outlive_the_process_that_started_it(
    sandbox: Sandbox, workspace: Workspace
) -> None:
    mark = f'3{secrets.randbelow(10**8)}'
    program = f"""
import asyncio
from pathlib import Path
from engine.records import RunId
from engine.workspace import Sandbox, Workspaces
workspace = Workspaces(Path({str(workspace.folder.parents[3])!r}) / 'else').of(RunId('r'), 'x')
asyncio.run(Sandbox().run(['sh', '-c', 'setsid sleep {mark} & echo on; sleep {mark}'], workspace,
    on_output=lambda text: print(text, flush=True)))
"""
    root = tree.ROOT
    command = [sys.executable, '-c', program]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) as asking:  # noqa: ASYNC220
        assert asking.stdout is not None and asking.stdout.readline() == b'on\n'
        asking.kill()
    await none_left(mark)


async def test_a_command_cannot_read_secrets_of_the_environment(
    sandbox: Sandbox, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('SOME_API_KEY', SECRET)
    ran = await attempt(sandbox, workspace, 'env; cat /proc/1/environ /proc/self/environ /proc/*/environ')
    assert 'SOME_API_KEY' not in ran.output and 'HEMICYCLE' not in ran.output and 'PATH=' in ran.output


async def test_a_command_cannot_gain_privileges(sandbox: Sandbox, workspace: Workspace) -> None:
    ran = await attempt(
        sandbox, workspace, 'grep -E "^(Cap(Eff|Prm|Inh|Amb)|NoNewPrivs)" /proc/self/status; id -u'
    )
    values = dict(line.split(':\t') for line in ran.output.splitlines() if ':' in line)
    assert {values[name] for name in values if name.startswith('Cap')} == {'0' * 16}
    assert values['NoNewPrivs'] == '1' and ran.output.split()[-1] != '0'
    for script in (
        'su -c id',
        'mknod x b 8 0',
        'mknod x c 1 1',
        'unshare --mount true',
        'nsenter -t 1 -m true',
    ):
        assert (await attempt(sandbox, workspace, script)).code != 0, script


async def test_a_command_cannot_create_a_privileged_namespace(sandbox: Sandbox, workspace: Workspace) -> None:
    for script in ('unshare -U true', 'unshare -Ur id', 'unshare -rm true', 'bwrap --bind / / true'):
        assert (await attempt(sandbox, workspace, script)).code != 0, script
    calls = {name: (seccomp.NUMBERS[platform.machine()] | seccomp.COMMON_NUMBERS)[name] for name in UNWANTED}
    script = f"""import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number in {calls}.items():
    print(name, libc.syscall(number, 0x10000000, 0, 0, 0, 0), ctypes.get_errno())
"""
    lines = (await attempt(sandbox, workspace, script)).output.splitlines()
    assert len(lines) == len(UNWANTED)
    for line in lines:
        name, result, error = line.split()
        assert result == '-1' and int(error) == (ENOSYS if name in seccomp.ABSENT else EPERM), line


UNWANTED = [
    'bpf', 'keyctl', 'mount', 'perf_event_open', 'io_uring_setup', 'memfd_create', 'clone3', 'shmget',
    'semget', 'msgget', 'unshare', 'clone',
]  # fmt: skip


async def test_only_the_socket_kinds_that_commands_need_are_allowed(
    sandbox: Sandbox, workspace: Workspace
) -> None:
    script = """import errno, socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM if family != socket.AF_NETLINK else socket.SOCK_RAW).close()
[end.close() for end in socket.socketpair()]
for family, kind in ((socket.AF_VSOCK, socket.SOCK_STREAM), (socket.AF_ALG, socket.SOCK_SEQPACKET)):
    try:
        socket.socket(family, kind)
    except OSError as error:
        print(errno.errorcode[error.errno])
print('the others are made')
"""
    result = await attempt(sandbox, workspace, script)
    assert result.output.splitlines() == ['EAFNOSUPPORT', 'EAFNOSUPPORT', 'the others are made']


@pytest.mark.parametrize('machine', ['x86_64', 'aarch64'])
def test_the_kernel_accepts_the_filter(machine: str) -> None:
    steps = [struct.unpack('=HBBI', step) for step in split(seccomp.build_filter(machine), 8)]
    assert 50 < len(steps) < 4_096 and steps[-1] == (seccomp.RETURN, 0, 0, seccomp.ALLOW)
    for place, (code, yes, no, _) in enumerate(steps):
        assert place + 1 + max(yes, no) < len(steps) or code == seccomp.RETURN
    assert seccomp.NUMBERS['x86_64'].keys() == seccomp.NUMBERS['aarch64'].keys()
    assert seccomp.build_filter('abacus') == b''


def split(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


async def test_a_command_cannot_flood_the_output(sandbox: Sandbox, workspace: Workspace) -> None:
    ran = await attempt(sandbox, workspace, 'yes', Limits(seconds=20, output=100_000))
    assert ran.ended == 'output' and ran.output.endswith('[cut: it wrote more than 100000 bytes]')
    assert len(ran.output) < 100_100


async def test_a_command_cannot_type_into_the_terminal(sandbox: Sandbox, workspace: Workspace) -> None:
    assert (await attempt(sandbox, workspace, 'import os\nos.open("/dev/tty", os.O_RDWR)')).code != 0


async def children() -> list[int]:
    """This process's sandboxes that are still running."""
    for _ in range(1_200):
        tasks = Path('/proc/self/task').glob('*/children')
        pids = [int(pid) for path in tasks for pid in path.read_text().split()]
        names = [pid for pid in pids if 'bwrap' in Path(f'/proc/{pid}/comm').read_text()]
        if not names:
            return []
        await asyncio.sleep(0.05)
    return names


async def none_left(mark: str) -> None:
    """Wait until no process has `mark` among its arguments."""
    for _ in range(1_200):
        if not (pids := sleepers(mark)):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f'they live on: {pids}')


async def some_started(mark: str) -> None:
    """Wait until both processes with `mark` among their arguments run."""
    for _ in range(1_200):
        if len(sleepers(mark)) == 2:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f'not started: {sleepers(mark)}')


def sleepers(mark: str) -> list[Path]:
    paths = []
    for path in Path('/proc').glob('[0-9]*/cmdline'):
        try:
            paths += [path] if f'sleep\0{mark}'.encode() in path.read_bytes() else []
        except OSError:
            continue
    return paths
