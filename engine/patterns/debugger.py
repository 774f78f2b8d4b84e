"""Debugger: finds out why a project's tests fail, and mends it."""

from __future__ import annotations

from pydantic import Field

from engine.agent import Role
from engine.dynamic.coding import TESTS_PASS, TOOLS, Coding, CodingAgent, project_field
from engine.dynamic.criteria import Criteria


class Debugger(CodingAgent):
    """Debug and fix issues autonomously."""

    class Parameters(Coding):
        """What the launch form asks for."""

        request: str = Field(
            min_length=3,
            max_length=20_000,
            title='Symptom',
            description='What is wrong, as far as it is known',
            examples=['A test of spans fails: find the bug and mend it'],
            json_schema_extra={'multiline': True},
        )
        project: str = project_field('sample:spans')

    role = Role(
        name='debugger',
        title='Debugger',
        instructions='You find the cause of a failure before you change anything, and change nothing else.',
        tools=TOOLS,
    )
    until = Criteria(signal='TASK_COMPLETE', checks=(TESTS_PASS,), words='summary', turns=40)
    template = 'debugger'
