"""Builder: adds a feature to a project, with tests that pass."""

from __future__ import annotations

from pydantic import Field

from engine.agent import Role
from engine.dynamic.coding import TESTS_PASS, TOOLS, Coding, CodingAgent, project_field
from engine.dynamic.criteria import Criteria


class Builder(CodingAgent):
    """Build new features autonomously."""

    class Parameters(Coding):
        """What the launch form asks for."""

        request: str = Field(
            min_length=3,
            max_length=20_000,
            title='Feature',
            description='What the project is to be able to do',
            examples=['Add a function that makes slugs unique among those that are taken'],
            json_schema_extra={'multiline': True},
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
