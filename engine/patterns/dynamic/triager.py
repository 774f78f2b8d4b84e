"""Triager: finds out why a test fails and which component is to blame; fixes nothing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engine.agents.criteria import Criteria
from engine.agents.spec import Role
from engine.patterns.dynamic.coding_agent import READ_ONLY_TOOLS, TESTS_WERE_RUN, CodingAgent, CodingForm
from engine.patterns.form_fields import project_field, task_field
from engine.records.frozen import FrozenModel
from engine.tools.artifacts import bullet


class Triage(FrozenModel):
    """Why a test fails."""

    test: str = Field(min_length=1, description='The failing test')
    component: str = Field(
        min_length=1, description='The component at fault: a module or part of the project'
    )
    file: str = Field(min_length=1, description='The file that contains the cause')
    line: int = Field(ge=1, description='The line of the cause')
    cause: str = Field(min_length=1, description='What is wrong there')
    evidence: tuple[str, ...] = Field(min_length=1, description='What was run or read, and what it showed')
    severity: Literal['critical', 'high', 'medium', 'low']
    suggestion: str = Field(default='', description='How to fix it')


class Triager(CodingAgent):
    """Diagnose and triage issues without fixing them."""

    class Parameters(CodingForm):
        """Launch form parameters."""

        request: str = task_field(
            'Symptom',
            'Which test fails, or what was seen',
            'The daily weather report fails: which component is to blame?',
        )
        project: str = project_field('sample:weather')

    suits = ('triage', 'diagnose', 'cause', 'blame', 'why', 'flaky', 'incident', 'component', 'investigate')
    role = Role(
        name='triager',
        title='Triager',
        instructions='You find out which component is to blame for a failure. You do not change any file.',
        tools=READ_ONLY_TOOLS,
    )
    until = Criteria(
        artifacts=('triage',), checks=(TESTS_WERE_RUN,), proofs=('run_tests',), words='triage', turns=30
    )
    output = Triage
    template = 'triager'
    result = 'triage'
    result_kind = 'findings'

    def render(self, value: Any) -> str:
        """The finding as Markdown."""
        triage = Triage.model_validate(value)
        evidence = '\n'.join(map(bullet, triage.evidence))
        parts = [f'**{triage.component}** (`{triage.file}:{triage.line}`, {triage.severity}): {triage.cause}']
        parts += [f'`{triage.test}` fails. Evidence:\n\n{evidence}']
        return '\n\n'.join([*parts, *([triage.suggestion] if triage.suggestion else [])])
