"""run_command: a shell command in the agent's folder, inside the sandbox."""

from __future__ import annotations

import shutil
from typing import Annotated

from pydantic import Field

from engine.commands.limits import Limits
from engine.dynamic.artifacts import Given
from engine.files.stale import Stale
from engine.tool import ToolContext, tool

LONGEST = 600


@tool(category='commands', needs=('sandbox',), side_effects=True, seconds=LONGEST + 30)
async def run_command(
    context: ToolContext,
    command: Annotated[str, Field(min_length=1, max_length=20_000, description='As for a shell')],
    seconds: Annotated[float, Field(gt=0, le=LONGEST, description='How long it may take')] = 120,
) -> Given:
    """Run a shell command in your folder; nothing else can be changed, and there is no network."""
    shell = shutil.which('bash') or 'sh'
    stale = await Stale.before(context)
    ran = await context.commands.run([shell, '-c', command], context.files, limits=Limits(seconds=seconds))
    return await stale.given(f'{ran.output.rstrip()}\n{ran.said}'.lstrip('\n'))
