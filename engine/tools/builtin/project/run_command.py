"""run_command: runs a shell command in the agent's folder, inside the sandbox."""

from __future__ import annotations

import shutil
from typing import Annotated

from pydantic import Field

from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.project.staleness import StalenessCheck
from engine.tools.protocol import ToolContext, tool
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.tools import command_variables

MAX_SECONDS = 600


@tool(category='commands', needs=('sandbox',), side_effects=True, seconds=MAX_SECONDS + 30)
async def run_command(
    context: ToolContext,
    command: Annotated[str, Field(min_length=1, max_length=20_000, description='The shell command')],
    seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS, description='Time limit in seconds')] = 120,
) -> ToolOutput:
    """Run a shell command in your folder. It can change nothing else and has no network access."""
    shell, sandbox = shutil.which('bash') or 'sh', context.commands
    stale = await StalenessCheck.before(context)
    project = (context.facts.get('tests') or {}).get('project', '')
    setup = await current_setup(project, context.files)
    ran = await sandbox.run(
        [shell, '-c', command],
        context.files,
        Confinement(
            limits=Limits(seconds=seconds),
            variables=await command_variables(setup, context.files, sandbox),
            mounts=setup.mounts,
        ),
    )
    return await stale.output(f'{ran.output.rstrip()}\n{ran.summary}'.lstrip('\n'))
