"""Sandbox: runs commands in a workspace, shut off from all else and within limits."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.commands import bubblewrap, seccomp
from engine.commands.limits import Limits
from engine.commands.process import Ran, described, run_process
from engine.errors import ToolError
from engine.files.objects import Objects
from engine.files.workspace import Workspace
from engine.files.workspaces import guest

PRIVATE = 'HEMICYCLE_PRIVATE_ADDRESSES'
GET_IT = (
    'install bubblewrap (apt install bubblewrap), or set HEMICYCLE_UNSAFE_COMMANDS=1 to let agents run'
    ' commands on this machine without a sandbox'
)


@dataclass(slots=True, kw_only=True)
class Sandbox:
    """Runs commands under bubblewrap; where that cannot work, none, unless `unsafe` is asked for."""

    unsafe: bool = False
    """Whether commands are run also where no sandbox is to be had."""
    network: bool = False
    """Whether commands may use the network."""
    _problem: str | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def of_environment(cls) -> Sandbox:
        """As the variables `HEMICYCLE_UNSAFE_COMMANDS` and `HEMICYCLE_COMMAND_NETWORK` say."""
        return cls(unsafe=is_on('HEMICYCLE_UNSAFE_COMMANDS'), network=is_on('HEMICYCLE_COMMAND_NETWORK'))

    async def problem(self) -> str:
        """Why there is no sandbox, with how to get one; '' where it works. Found out once."""
        async with self._turn:
            if self._problem is None:
                self._problem = await self._probe()
            return self._problem

    async def run(
        self,
        command: Sequence[str],
        workspace: Workspace,
        *,
        limits: Limits | None = None,
        variables: Mapping[str, str] | None = None,
        on_output: Callable[[str], None] = lambda text: None,
    ) -> Ran:
        """Run a command in a workspace and wait for its end; it and all its children are gone then.

        Args:
            command: the program and its arguments.
            workspace: the folder in which it runs, and the only one it can change.
            limits: what it may take.
            variables: what is added to its environment, which else holds nothing of this process's.
            on_output: told of each piece of output at once.

        Raises:
            ToolError: there is no sandbox.
        """
        problem = await self.problem()
        if problem and not self.unsafe:
            raise ToolError(problem)
        chosen, folder = limits or Limits(), await workspace.make()
        if not problem:
            return await self._confined(command, folder, workspace.owner, chosen, variables, on_output)
        prlimit = [f'--fsize={chosen.file_size}', f'--data={chosen.memory}', '--core=0']
        bounded = [*(('prlimit', *prlimit) if shutil.which('prlimit') else ()), *command]
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as home:
            outside = bubblewrap.environment(variables, home=home)
            return await run_process(bounded, folder, chosen, on_output, environment=outside, unsafe=True)

    async def _confined(  # noqa: PLR0913
        self,
        command: Sequence[str],
        folder: Path,
        owner: int | None,
        limits: Limits,
        variables: Mapping[str, str] | None,
        on_output: Callable[[str], None],
    ) -> Ran:
        inside = bubblewrap.environment(variables)
        calls = seccomp.program()
        with described(bubblewrap.users(owner)) as passwd, described(calls) as forbidden:
            options = bubblewrap.options(
                folder, limits, inside, network=self.network, guest=owner, passwd=passwd
            )
            options += ['--seccomp', str(forbidden)] if calls else []
            # By a descriptor: the first process inside can be seen there, with its arguments.
            with described('\0'.join(options).encode() + b'\0') as arguments:
                confined = bubblewrap.confined(command, limits, owner)
                return await run_process(
                    ['bwrap', '--args', str(arguments), '--', *confined],
                    folder,
                    limits,
                    on_output,
                    environment={'PATH': os.defpath},
                    keep=(passwd, forbidden, arguments),
                )

    async def _probe(self) -> str:
        missing = [name for name in bubblewrap.TOOLS if not shutil.which(name, path=os.defpath)]
        if missing:
            return f'Commands are off, for there is no {missing[0]} here: {GET_IT}.'
        with tempfile.TemporaryDirectory(prefix='hemicycle-') as folder:
            place = Path(folder)
            trial = Workspace(place / 'a', Objects(place / 'b'), owner=guest('probe'))
            limits = Limits(seconds=20)
            ran = await self._confined(
                ['true'], await trial.make(), trial.owner, limits, None, lambda text: None
            )
        if ran.code == 0:
            return ''
        reason = ' '.join(ran.output.split())[:300] or f'it ended with {ran.code}'
        return f'Commands are off, for the sandbox does not work here ({reason}): {GET_IT}.'


def is_on(variable: str) -> bool:
    """Whether a variable of the environment says yes."""
    return os.environ.get(variable, '').strip().lower() in ('1', 'true', 'yes', 'on')
