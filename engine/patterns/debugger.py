"""Debugger: finds out why a project's tests fail, and mends it."""

from __future__ import annotations

from engine.agent import Role
from engine.dynamic.coding import TESTS_PASS, TOOLS, Coding, CodingAgent
from engine.dynamic.criteria import Criteria
from engine.fields import project_field, task_field


class Debugger(CodingAgent):
    """Debug and fix issues autonomously."""

    class Parameters(Coding):
        """What the launch form asks for."""

        request: str = task_field(
            'Symptom',
            'What is wrong, as far as it is known',
            'A test of spans fails: find the bug and mend it',
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
