"""Builder: adds a feature to a project, with tests that pass."""

from __future__ import annotations

from engine.agent import Role
from engine.dynamic.coding import TESTS_PASS, TOOLS, Coding, CodingAgent
from engine.dynamic.criteria import Criteria
from engine.fields import project_field, task_field


class Builder(CodingAgent):
    """Build new features autonomously."""

    class Parameters(Coding):
        """What the launch form asks for."""

        request: str = task_field(
            'Feature',
            'What the project is to be able to do',
            'Add a function that makes slugs unique among those that are taken',
        )
        project: str = project_field('sample:slugs')

    role = Role(
        name='builder',
        title='Builder',
        instructions='You build features in a project, in small steps, as its code is written already.',
        tools=TOOLS,
    )
    until = Criteria(signal='TASK_COMPLETE', checks=(TESTS_PASS,), words='summary', turns=40)
    template = 'builder'
