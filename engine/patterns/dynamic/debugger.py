"""Debugger: finds out why a project's tests fail, and fixes it."""

from __future__ import annotations

from pydantic import Field

from engine.agents.spec import Role
from engine.patterns.dynamic.coding_agent import TOOLS, UNTIL_TESTS_PASS, CodingAgent, CodingForm
from engine.patterns.form_fields import project_field, task_field


class Debugger(CodingAgent):
    """Debug and fix issues autonomously."""

    class Parameters(CodingForm):
        """Launch form parameters."""

        request: str = task_field(
            'Symptom',
            'What is wrong, as far as you know',
            'The spans tests fail: find the bug and fix it',
        )
        project: str = project_field('sample:spans')
        change_tests: bool = Field(
            False,
            title='May change tests',
            description='Whether existing tests may be changed or removed; adding tests is always allowed',
        )

    suits = (
        'bug',
        'debug',
        'fix',
        'fails',
        'broken',
        'crash',
        'error',
        'exception',
        'traceback',
        'regression',
        'wrong',
    )
    role = Role(
        name='debugger',
        title='Debugger',
        instructions='You find the cause of a failure before you change anything, then change nothing else.',
        tools=TOOLS,
    )
    until = UNTIL_TESTS_PASS
    template = 'debugger'

    @property
    def keeps_tests(self) -> bool:
        """Unless the form allows it, tests may not be changed to hide a bug."""
        return not getattr(self.parameters, 'change_tests', False)
