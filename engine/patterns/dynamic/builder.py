"""Builder: adds a feature to a project, with passing tests."""

from __future__ import annotations

from engine.agents.spec import Role
from engine.patterns.dynamic.coding_agent import TOOLS, UNTIL_TESTS_PASS, CodingAgent, CodingForm
from engine.patterns.form_fields import project_field, task_field


class Builder(CodingAgent):
    """Build new features autonomously."""

    class Parameters(CodingForm):
        """Launch form parameters."""

        request: str = task_field(
            'Feature',
            'What the project should be able to do',
            'Add a function that makes slugs unique among those already taken',
        )
        project: str = project_field('sample:slugs')

    suits = (
        'build',
        'add',
        'feature',
        'implement',
        'function',
        'option',
        'support',
        'endpoint',
        'command',
        'export',
        'script',
        'tests',
    )
    role = Role(
        name='builder',
        title='Builder',
        instructions='You build features in a project in small steps, in the style of its code.',
        tools=TOOLS,
    )
    until = UNTIL_TESTS_PASS
    template = 'builder'
