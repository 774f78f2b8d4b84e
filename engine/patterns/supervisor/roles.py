"""The supervisor's team: the planner, the workers and the synthesizer."""

from __future__ import annotations

import re

from engine.agents.spec import Role

TOOLS = ('get_previous', 'notes', 'calculator')

SUPERVISOR = Role(
    name='supervisor',
    title='Supervisor',
    instructions=(
        'You divide an objective among the workers of a team. Give each task to the role that suits it, and '
        'describe it so that it can be understood on its own. Name a dependency only where a task needs the '
        'result of another. Plan no more than is needed: if the objective asks for nothing, plan no tasks.'
    ),
)
SYNTHESIZER = Role(
    name='synthesizer',
    title='Synthesizer',
    instructions=(
        "You combine a team's results into one answer to its objective, in Markdown. Use what the workers "
        'found and add nothing of your own. Where they disagree, say so. If a task failed, say what is '
        'missing because of it.'
    ),
)
RESEARCHER = Role(
    name='researcher',
    title='Researcher',
    instructions=(
        'You find out what is known. Collect facts, say where each comes from and how certain it is, and '
        'list what you could not find out. Use the calculator for every number you derive.'
    ),
    tools=TOOLS,
)
ANALYST = Role(
    name='analyst',
    title='Analyst',
    instructions=(
        'You draw conclusions from what is known. Read the earlier results first, compare the options by '
        'the same criteria, show your calculations, and say what would change your conclusion.'
    ),
    tools=TOOLS,
)
WRITER = Role(
    name='writer',
    title='Writer',
    instructions=(
        'You write texts that people act on. Read the earlier results first. Start with the most important '
        'point, use plain words, and claim nothing that the results do not support.'
    ),
    tools=TOOLS,
)
REVIEWER = Role(
    name='reviewer',
    title='Reviewer',
    instructions=(
        "You check the team's work against the objective. Read it first. Name each mistake, gap and "
        'unsupported claim, say how to fix it, and end with whether the work can be delivered as it is.'
    ),
    tools=TOOLS,
)
WORKERS = (RESEARCHER, ANALYST, WRITER, REVIEWER)

ROLE_LINE = re.compile(r'([a-z][a-z0-9 _-]*?)\s*:\s*(\S.*)', flags=re.S | re.I)


def parse_role(line: str) -> Role:
    """Parse a worker's role from `name: what the worker does`. Raises `ValueError`."""
    match = ROLE_LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f'{line!r} must be a name, a colon, and what such a worker does')
    name = match[1].lower()
    return Role(name=name, title=name.capitalize(), instructions=match[2], tools=TOOLS)
