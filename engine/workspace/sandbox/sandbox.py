"""Sandbox: runs commands in a workspace, isolated and within limits."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.errors import ToolError
from engine.workspace.confined_dir import MAX_DEPTH
from engine.workspace.object_store import ObjectStore
from engine.workspace.sandbox import bubblewrap, seccomp
from engine.workspace.sandbox.limits import Limits
from engine.workspace.sandbox.process import CommandResult, memory_file, run_process
from engine.workspace.workspace import Workspace
from engine.workspace.workspaces import sandbox_uid

PRIVATE_ADDRESSES = 'HEMICYCLE_PRIVATE_ADDRESSES'
INSTALL_HINT = (
    'install bubblewrap (apt install bubblewrap), or set HEMICYCLE_UNSAFE_COMMANDS=1 to let agents run'
    ' commands on this machine without a sandbox'
)


@dataclass(slots=True, kw_only=True)
class Sandbox:
    """Runs commands under bubblewrap; without it, refuses to run any unless `unsafe` is set."""

    unsafe: bool = False
    """Whether commands run even if no sandbox is available."""
    network: bool = False
    """Whether commands may use the network."""
    _problem: str | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of_environment(cls) -> Sandbox:
        """Configure it from `HEMICYCLE_UNSAFE_COMMANDS` and `HEMICYCLE_COMMAND_NETWORK`."""
        return cls(
            unsafe=env_flag('HEMICYCLE_UNSAFE_COMMANDS'), network=env_flag('HEMICYCLE_COMMAND_NETWORK')
        )

    async def problem(self) -> str:
        """Return why there is no sandbox and how to get one; '' if it works. Determined once."""
        async with self._turn:
            if self._problem is None:
                self._problem = await self._probe()
            return self._problem

    async def run(  # noqa: PLR0913  (all but two have defaults)
        self,
        command: Sequence[str],
        workspace: Workspace,
        *,
        limits: Limits | None = None,
        variables: Mapping[str, str] | None = None,
        mounts: Mapping[str, str] | None = None,
        network: bool = False,
        on_output: Callable[[str], None] = lambda text: None,
    ) -> CommandResult:
        """Run a command in a workspace until it and all its children have ended.

        Args:
            command: the program and its arguments.
            workspace: its working directory, and the only folder it can change.
            limits: its limits.
            variables: additions to its environment, see `bubblewrap.environment`.
            mounts: folders of this machine it may read, and where they are mounted in the sandbox.
            network: whether this command may use the network even if others may not.
            on_output: called with each piece of output as it arrives.

        Raises:
            ToolError: there is no sandbox.
        """
        problem = await self.problem()
        if problem and not self.unsafe:
            raise ToolError(problem)
        chosen, folder = limits or Limits(), await workspace.make()
        if problem:
            ran = await self._run_unsafe(command, folder, chosen, variables, on_output)
        else:
            ran = await self._run_confined(
                command, workspace, chosen, variables, mounts or {}, on_output, network=network
            )
        if ran.ended == 'nesting':  # otherwise the limit would end every later command, even `rm -r`
            await workspace.remove_too_deep()
            ran = replace(ran, output=f'{ran.output}\n[Folders nested {MAX_DEPTH} deep have been removed.]')
        return ran

    async def _run_unsafe(
        self,
        command: Sequence[str],
        folder: Path,
        limits: Limits,
        variables: Mapping[str, str] | None,
        on_output: Callable[[str], None],
    ) -> CommandResult:
        prlimit = [f'--fsize={limits.file_size}', f'--data={limits.memory}', '--core=0']
        bounded = [*(('prlimit', *prlimit) if shutil.which('prlimit') else ()), *command]
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as home:
            outside = bubblewrap.environment(variables, home=home)
            return await run_process(bounded, folder, limits, on_output, environment=outside, unsafe=True)

    @contextmanager
    def confine(  # noqa: PLR0913  (all but four have defaults)
        self,
        command: Sequence[str],
        place: Workspace,
        limits: Limits,
        variables: Mapping[str, str],
        *,
        mounts: Mapping[str, str] | None = None,
        network: bool | None = None,
        home: Path | None = None,
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Yield the command line that starts a command in the sandbox, and the descriptors it inherits.

        Args:
            command: the program and its arguments.
            place: its working directory, which must exist.
            limits: those that the system enforces are applied.
            variables: its complete environment.
            mounts: folders of this machine it may read, and where they are mounted.
            network: whether it may use the network; by default as configured for all commands.
            home: a private folder that it can also write to.
        """
        calls, owner = seccomp.build_filter(), place.owner
        with memory_file(bubblewrap.passwd_entry(owner)) as passwd, memory_file(calls) as forbidden:
            options = bubblewrap.bwrap_options(
                place.folder,
                limits,
                variables,
                network=self.network if network is None else network,
                guest=owner,
                passwd=passwd,
                mounts=mounts or {},
                home=home,
            )
            options += ['--seccomp', str(forbidden)] if calls else []
            # Passed by descriptor, because the first process's arguments are visible inside the sandbox.
            with memory_file('\0'.join(options).encode() + b'\0') as arguments:
                confined = bubblewrap.sandbox_argv(command, limits, owner)
                yield (
                    ['bwrap', '--args', str(arguments), '--', *confined],
                    (passwd, forbidden, arguments),
                )

    async def _run_confined(  # noqa: PLR0913
        self,
        command: Sequence[str],
        place: Workspace,
        limits: Limits,
        variables: Mapping[str, str] | None,
        mounts: Mapping[str, str],
        on_output: Callable[[str], None],
        *,
        network: bool = False,
    ) -> CommandResult:
        inside = bubblewrap.environment(variables)
        wide = self.network or network
        with self.confine(command, place, limits, inside, mounts=mounts, network=wide) as (line, keep):
            return await run_process(
                line, place.folder, limits, on_output, environment={'PATH': os.defpath}, keep=keep
            )

    async def _probe(self) -> str:
        missing = [name for name in bubblewrap.REQUIRED_PROGRAMS if not shutil.which(name, path=os.defpath)]
        if missing:
            return f'Commands are off, since there is no {missing[0]} here: {INSTALL_HINT}.'
        try:
            ran = await self._run_trial()
        except OSError as error:
            return f'Commands are off, since no sandbox can be set up here: {error}.'
        if ran.code == 0:
            return ''
        reason = ' '.join(ran.output.split())[:300] or f'it ended with {ran.code}'
        return f'Commands are off, since the sandbox does not work here ({reason}): {INSTALL_HINT}.'

    async def _run_trial(self) -> CommandResult:
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as folder:
            place = Path(folder)
            trial = Workspace(place / 'a', ObjectStore(place / 'b'), owner=sandbox_uid('probe'))
            await trial.make()
            return await self._run_confined(['true'], trial, Limits(seconds=20), None, {}, lambda text: None)


def env_flag(variable: str) -> bool:
    """Return whether an environment variable is set to a true value."""
    return os.environ.get(variable, '').strip().lower() in ('1', 'true', 'yes', 'on')
