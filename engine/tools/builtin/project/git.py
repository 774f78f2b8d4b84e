"""git: version control in the agent's folder, inside the sandbox."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.project.staleness import StalenessCheck
from engine.tools.protocol import ToolContext, tool
from engine.workspace.sandbox.limits import Confinement, Limits

PERSON = {
    f'GIT_{who}_{what}': value
    for who in ('AUTHOR', 'COMMITTER')
    for what, value in (('NAME', 'agent'), ('EMAIL', 'agent@localhost'))
}
SETTINGS = (('safe.directory', '*'), ('init.defaultBranch', 'main'), ('advice.detachedHead', 'false'))
VARIABLES = {
    **PERSON,
    'GIT_TERMINAL_PROMPT': '0',
    'GIT_PAGER': 'cat',
    'GIT_EDITOR': 'true',
    'GIT_CONFIG_COUNT': str(len(SETTINGS)),
    **{f'GIT_CONFIG_KEY_{number}': key for number, (key, _) in enumerate(SETTINGS)},
    **{f'GIT_CONFIG_VALUE_{number}': value for number, (_, value) in enumerate(SETTINGS)},
}
CONFINEMENT = Confinement(limits=Limits(seconds=120), variables=VARIABLES)


@tool(category='commands', needs=('sandbox',), side_effects=True, seconds=150)
async def git(
    context: ToolContext,
    arguments: Annotated[
        list[str],
        Field(
            min_length=1,
            max_length=200,
            description='The arguments, one per item: ["commit", "-am", "Fix it"]',
        ),
    ],
) -> ToolOutput:
    """Use git in your folder: init, status, diff, log, add, commit, branch, apply ... There is no network."""
    if any('\0' in argument for argument in arguments):
        raise ToolError('arguments: one of them contains a NUL character')
    stale = await StalenessCheck.before(context)
    ran = await context.commands.run(['git', *arguments], context.files, CONFINEMENT)
    if ran.code == 0 and not ran.unsafe:
        return await stale.output(ran.output.rstrip() or 'Done.')
    return await stale.output(f'{ran.output.rstrip()}\n{ran.summary}'.lstrip('\n'))
