"""The process of an external agent: started in the sandbox or outside, killed with all its children."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from engine.errors import ModelError, ToolError, WorkspaceError
from engine.tools.acp.known_agents import ExternalAgent
from engine.workspace.directories import MEBIBYTE
from engine.workspace.sandbox import bubblewrap
from engine.workspace.sandbox.limits import TEMP_DIR, Confinement, Limits, watch_limits
from engine.workspace.sandbox.process import kill_tree
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace

COOKIE = 'HEMICYCLE_AGENT'
"""The variable that marks an agent's process and its children, so that all of them can be found."""
LIMITS = Limits(
    seconds=86_400.0, memory=8192 * MEBIBYTE, processes=1024,
    file_size=1024 * MEBIBYTE, scratch=1024 * MEBIBYTE,
)  # fmt: skip
MAX_LINE = 32 * MEBIBYTE
"""Maximum bytes of one message: it may contain a whole file."""
MAX_GARBAGE = 50
"""Maximum number of lines that are not messages; some programs print a greeting."""
MAX_ERRORS = 4_000
"""Maximum characters kept of the end of its standard error."""
PASSED_VARIABLES = ('PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TERM', 'SHELL', 'TMPDIR',
                    'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_RUNTIME_DIR')  # fmt: skip
"""Variables passed to any program outside the sandbox."""
WATCH_SECONDS = 1.0
EXIT_SECONDS = 3.0
"""Seconds to wait for a process to exit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPlace:
    """Where an agent works."""

    workspace: Workspace
    """The only folder it can change in the sandbox, apart from its home."""
    sandbox: Sandbox
    """Confines it, if it is sandboxed, and runs its terminals."""
    home: Path
    """Its home in the sandbox; created if missing, and kept."""
    cookie: str
    """Marks its processes."""


@dataclass(kw_only=True)
class AgentProcess:
    """A running agent, as a transport of the protocol's messages, one JSON object per line."""

    process: asyncio.subprocess.Process
    cookie: str
    unsandboxed: bool
    problem: ModelError | None = None
    """Why it was killed or stopped answering; None while it works."""

    def __post_init__(self) -> None:
        self._garbage: list[str] = []
        self._errors = ''
        self._closed = False
        self._tasks = [asyncio.ensure_future(self._read_errors())]

    @classmethod
    async def start(cls, agent: ExternalAgent, place: AgentPlace) -> AgentProcess:
        """Start an agent in its folder, after killing leftover processes with the same cookie.

        Raises:
            ModelError: it cannot be started.
        """
        workspace, sandbox, cookie = place.workspace, place.sandbox, place.cookie
        program = find_program(agent)
        problem = await sandbox.problem() if agent.sandboxed else ''
        if problem:
            raise ModelError(
                f'{agent.name} must run in a sandbox, and there is none: {problem}', kind='bad request'
            )
        await asyncio.to_thread(kill_processes, cookie)
        try:
            await workspace.make()
            if agent.sandboxed:
                await asyncio.to_thread(_prepare_home, place.home, agent, workspace.owner)
        except (WorkspaceError, ToolError, OSError) as error:
            raise ModelError(
                f'{agent.name}: its folder cannot be created: {error}', kind='bad request'
            ) from None
        command = [program, *agent.args]
        with contextlib.ExitStack() as stack:
            keep: tuple[int, ...] = ()
            if agent.sandboxed:
                mounts = program_folders(agent, program)
                confinement = Confinement(
                    limits=LIMITS,
                    variables=_sandbox_variables(agent, cookie, mounts),
                    mounts={folder: folder for folder in mounts},
                    network=agent.network,
                    home=place.home,
                )
                line, keep = stack.enter_context(sandbox.confine(command, workspace, confinement))
                environment = {'PATH': os.defpath, COOKIE: cookie}
            else:
                line = [*_parent_death_prefix(), *command]
                environment = _host_environment(agent, cookie)
            try:
                process = await asyncio.create_subprocess_exec(
                    *line,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    cwd=workspace.folder,
                    env=environment,
                    pass_fds=keep,
                    start_new_session=True,
                    limit=MAX_LINE,
                )
            except (OSError, ValueError) as error:
                raise ModelError(f'{agent.name} cannot be started: {error}', kind='bad request') from None
        started = cls(process=process, cookie=cookie, unsandboxed=not agent.sandboxed)
        started._tasks.append(asyncio.ensure_future(started._watch(workspace.folder)))
        return started

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message. Raises `ConnectionError` if the agent has exited."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message, separators=(',', ':')).encode() + b'\n')
            await self.process.stdin.drain()
        except RuntimeError as error:  # Raised by uvloop; its text names the pipe object.
            raise ConnectionResetError(str(error)) from None

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None if there are no more."""
        assert self.process.stdout is not None
        while self.problem is None:
            try:
                line = await self.process.stdout.readuntil(b'\n')
            except asyncio.IncompleteReadError:
                return None
            except asyncio.LimitOverrunError:
                self._give_up(f'it sent a message of more than {MAX_LINE >> 20} MB')
                return None
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            self._record_garbage(line)
        return None

    async def close(self) -> None:
        """Kill the agent and all its children."""
        if self._closed:
            return
        self._closed = True
        for task in self._tasks:
            task.cancel()
        kill_tree(self.process)
        if self.unsandboxed:  # In a sandbox, its kernel namespace has ended them all.
            await asyncio.to_thread(kill_processes, self.cookie)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), EXIT_SECONDS)
        stdin = cast(asyncio.StreamWriter, self.process.stdin)
        stdin.close()
        self.process._transport.close()  # type: ignore[attr-defined]
        with contextlib.suppress(OSError, TimeoutError):  # Before 3.11.4, asyncio logs what nobody awaits.
            await asyncio.wait_for(stdin.wait_closed(), EXIT_SECONDS)

    async def exit_error(self) -> ModelError:
        """Return why it no longer answers: why it was killed, or how its process ended."""
        if self.problem is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), EXIT_SECONDS)
            code = self.process.returncode
            how = 'it closed its output' if code is None else f'it ended with {_describe_status(code)}'
            output = self._errors.strip()[-500:] or ''.join(self._garbage)[-500:]
            self.problem = ModelError(
                f'{how}{f": {output}" if output else " without output"}', kind='connection', retryable=True
            )
        return self.problem

    def _record_garbage(self, line: bytes) -> None:
        text = line.decode('utf-8', 'replace').strip()
        if text:
            self._garbage.append(f'{text[:200]}\n')
        if len(self._garbage) > MAX_GARBAGE:
            self._give_up(
                f'it writes lines that are not messages of the protocol, such as {self._garbage[0].strip()!r}'
            )

    def _give_up(self, problem: str) -> None:
        self.problem = self.problem or ModelError(problem, kind='bad response')
        kill_tree(self.process)

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while piece := await self.process.stderr.read(1 << 16):
            self._errors = (self._errors + piece.decode('utf-8', 'replace'))[-MAX_ERRORS:]

    async def _watch(self, folder: Path) -> None:
        process = self.process
        ended = await watch_limits(
            process.pid, folder, LIMITS, lambda: process.returncode is not None, poll=WATCH_SECONDS
        )
        if ended != 'exit':
            self._give_up(f'it was stopped by its limit of {ended}')


def find_program(agent: ExternalAgent) -> str:
    """Return the path of an agent's program. Raises `ModelError`, which explains how to install it."""
    path = shutil.which(os.path.expanduser(agent.command))
    if path is None:
        how = f'; install it: {agent.install}' if agent.install else ''
        raise ModelError(f'there is no program {agent.command!r} here{how}', kind='not found')
    return os.path.abspath(path)


def program_folders(agent: ExternalAgent, program: str) -> list[str]:
    """Return the folders a program needs in addition to the system's: its own, its link targets, Node's."""
    folders: dict[str, None] = {}
    paths = [program, *(os.path.expanduser(place) for place in agent.reads)]
    if agent.simulated:
        paths.append(str(Path(__file__).parents[3]))
    elif node := shutil.which('node'):
        paths.append(node)
    for path in paths:
        for place in (path, os.path.realpath(path)):
            folder = place if os.path.isdir(place) else _package(Path(place))
            if not _needs_no_mount(folder):
                folders[folder] = None
    return list(folders)


def _package(program: Path) -> str:
    """Return the folder with a program and its packages: the outermost `node_modules`, or its own folder."""
    outermost = next((around for around in reversed(program.parents) if around.name == 'node_modules'), None)
    return str(outermost or program.parent)


def _needs_no_mount(folder: str) -> bool:
    """Return whether the sandbox has a folder or must not get it: a home holds more than a program."""
    home = os.path.realpath(Path.home())
    if folder == '/' or os.path.commonpath([home, os.path.realpath(folder)]) == os.path.realpath(folder):
        return True
    own = ('/usr', '/bin', '/sbin', '/lib', '/lib64', *bubblewrap.interpreter_dirs())
    return any(folder == place or folder.startswith(f'{place}/') for place in own)


def passed_variables(agent: ExternalAgent) -> dict[str, str]:
    """Return the variables passed to an agent from this process, and its own, with their values."""
    passed = {name: value for name in agent.variables if (value := os.environ.get(name))}
    return {**passed, **agent.env}


def _sandbox_variables(agent: ExternalAgent, cookie: str, mounts: list[str]) -> dict[str, str]:
    places = [place for folder in mounts for place in (f'{folder}/.bin', f'{folder}/bin', folder)]
    path = ':'.join([*places, bubblewrap.environment()['PATH']])
    more = {'TMPDIR': TEMP_DIR, 'PATH': path, COOKIE: cookie}
    if agent.simulated:
        more['PYTHONPATH'] = _source_folder()
    return {**more, **passed_variables(agent)}


def _host_environment(agent: ExternalAgent, cookie: str) -> dict[str, str]:
    passed = {name: value for name in PASSED_VARIABLES if (value := os.environ.get(name))}
    own = {'PYTHONPATH': _source_folder()} if agent.simulated else {}
    return {**passed, **own, **passed_variables(agent), COOKIE: cookie}


def _source_folder() -> str:
    """Return the folder from which Python imports this package."""
    return str(Path(__file__).parents[len(__name__.split('.')) - 1])


def _parent_death_prefix() -> list[str]:
    """Return a command prefix that makes the kernel kill the program when this process is killed."""
    setpriv = shutil.which('setpriv')
    return [setpriv, '--pdeathsig', 'KILL', '--'] if setpriv else []


def _prepare_home(home: Path, agent: ExternalAgent, owner: int | None) -> None:
    """Create the agent's home, and copy stored logins from the user's home into it."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    created = [home]
    for name in agent.files:
        source, target = Path.home() / name, home / name
        if source.is_file() and not target.exists():
            for around in reversed(target.relative_to(home).parents[:-1]):
                (home / around).mkdir(exist_ok=True, mode=0o700)
                created.append(home / around)
            shutil.copyfile(source, target)
            target.chmod(0o600)
            created.append(target)
    if owner is not None:
        for path in created:
            os.chown(path, owner, owner)


def kill_processes(cookie: str) -> None:
    """Kill the processes with this cookie, including those detached from their parent."""
    for pid in find_processes(cookie):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def find_processes(cookie: str) -> list[int]:
    """Return the live processes with this cookie."""
    mark, pids = f'{COOKIE}={cookie}'.encode(), list[int]()
    for path in Path('/proc').glob('[0-9]*/environ'):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b'\0'):
                pids.append(int(path.parent.name))
    return pids


def _describe_status(code: int) -> str:
    if code >= 0:
        return f'status {code}'
    try:
        return f'the signal {signal.Signals(-code).name}'
    except ValueError:
        return f'the signal {-code}'


def hidden_values(agent: ExternalAgent, environment: Mapping[str, str]) -> list[str]:
    """Return the secrets given to an agent: those of its own variables, and passed ones named like keys."""
    names = ('KEY', 'TOKEN', 'SECRET', 'PASSWORD')
    passed = [
        value
        for name in agent.variables
        if any(part in name.upper() for part in names) and (value := environment.get(name, ''))
    ]
    return [*agent.secrets, *passed]
