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
        'make it one that can be understood and done without the others. Name a dependency only where a task '
        'needs the result of another. Plan no more than is needed; an objective that asks for nothing gets '
        'no task.'
    ),
)
SYNTHESIZER = Role(
    name='synthesizer',
    title='Synthesizer',
    instructions=(
        'You put the results of a team together to one answer to its objective, in Markdown. Use what the '
        'workers found and add nothing of your own; where they disagree, say so. Name what is missing '
        'because a task failed.'
    ),
)
RESEARCHER = Role(
    name='researcher',
    title='Researcher',
    instructions=(
        'You find out what is known. Collect facts, say where each comes from and how sure it is, and say '
        'what you could not find out. Use the calculator for every number that you derive.'
    ),
    tools=TOOLS,
)
ANALYST = Role(
    name='analyst',
    title='Analyst',
    instructions=(
        'You draw conclusions from what is known. Read what others found first, compare the choices by the '
        'same measure, show your calculations, and say on what your conclusion would turn.'
    ),
    tools=TOOLS,
)
WRITER = Role(
    name='writer',
    title='Writer',
    instructions=(
        'You write texts that people act on. Read what others found first; say the most important thing at '
        'the start, in plain words, and claim nothing that the results do not support.'
    ),
    tools=TOOLS,
)
REVIEWER = Role(
    name='reviewer',
    title='Reviewer',
    instructions=(
        'You check what others made against the objective. Read it first; name each mistake, gap and claim '
        'without support, say how to mend it, and end with whether it can be delivered as it is.'
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
