"""Sandbox: runs commands in a workspace, isolated and within limits."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.errors import ToolError
from engine.workspace.confined_dir import MAX_DEPTH
from engine.workspace.object_store import ObjectStore
from engine.workspace.sandbox import bubblewrap, seccomp
from engine.workspace.sandbox.limits import Confinement, Limits
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

    async def run(
        self,
        command: Sequence[str],
        workspace: Workspace,
        confinement: Confinement | None = None,
        *,
        on_output: Callable[[str], None] = lambda text: None,
    ) -> CommandResult:
        """Run a command in a workspace until it and all its children have ended.

        Args:
            command: the program and its arguments.
            workspace: its working directory, and the only folder it can change.
            confinement: its limits, and what it may use; by default, none but its environment.
            on_output: called with each piece of output as it arrives.

        Raises:
            ToolError: there is no sandbox.
        """
        problem = await self.problem()
        if problem and not self.unsafe:
            raise ToolError(problem)
        confinement, folder = confinement or Confinement(), await workspace.make()
        if problem:
            ran = await self._run_unsafe(command, folder, confinement, on_output)
        else:
            ran = await self._run_confined(command, workspace, confinement, on_output)
        if ran.ended == 'nesting':  # otherwise the limit would end every later command, even `rm -r`
            await workspace.remove_too_deep()
            ran = replace(ran, output=f'{ran.output}\n[Folders nested {MAX_DEPTH} deep have been removed.]')
        return ran

    async def _run_unsafe(
        self,
        command: Sequence[str],
        folder: Path,
        confinement: Confinement,
        on_output: Callable[[str], None],
    ) -> CommandResult:
        limits = confinement.limits
        prlimit = [f'--fsize={limits.file_size}', f'--data={limits.memory}', '--core=0']
        bounded = [*(('prlimit', *prlimit) if shutil.which('prlimit') else ()), *command]
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as home:
            outside = bubblewrap.environment(confinement.variables, home=home)
            return replace(
                await run_process(bounded, folder, limits, on_output, environment=outside), unsafe=True
            )

    @contextmanager
    def confine(
        self, command: Sequence[str], place: Workspace, confinement: Confinement
    ) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        """Yield the command line that starts a command in the sandbox, and the descriptors it inherits.

        Args:
            command: the program and its arguments.
            place: its working directory, which must exist.
            confinement: what it may use; of its limits, those that the system enforces are applied.
        """
        calls, owner = seccomp.build_filter(), place.owner
        if confinement.network is None:
            confinement = replace(confinement, network=self.network)
        with memory_file(bubblewrap.passwd_entry(owner)) as passwd, memory_file(calls) as forbidden:
            options = bubblewrap.bwrap_options(place.folder, confinement, guest=owner, passwd=passwd)
            options += ['--seccomp', str(forbidden)] if calls else []
            # Passed by descriptor, because the first process's arguments are visible inside the sandbox.
            with memory_file('\0'.join(options).encode() + b'\0') as arguments:
                confined = bubblewrap.sandbox_argv(command, confinement.limits, owner)
                yield (
                    ['bwrap', '--args', str(arguments), '--', *confined],
                    (passwd, forbidden, arguments),
                )

    async def _run_confined(
        self,
        command: Sequence[str],
        place: Workspace,
        confinement: Confinement,
        on_output: Callable[[str], None] = lambda text: None,
    ) -> CommandResult:
        with self.confine(command, place, confinement) as (line, keep):
            return await run_process(
                line,
                place.folder,
                confinement.limits,
                on_output,
                environment={'PATH': os.defpath},
                keep=keep,
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
            return await self._run_confined(['true'], trial, Confinement(limits=Limits(seconds=20)))


def env_flag(variable: str) -> bool:
    """Return whether an environment variable is set to a true value."""
    return os.environ.get(variable, '').strip().lower() in ('1', 'true', 'yes', 'on')
