"""Code review: reads a change to a project, runs its tests, and says what must change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from engine.agents.criteria import Criteria
from engine.agents.spec import Role
from engine.errors import EngineError
from engine.patterns.dynamic.coding_agent import READ_ONLY_TOOLS, TESTS_WERE_RUN, CodingAgent, CodingForm
from engine.patterns.form_fields import LongText, project_field, task_field
from engine.records.frozen import FrozenModel
from engine.runtime.activity import Activity
from engine.tools.artifacts import bullet
from engine.workspace.project import check_file, sample_file

PATCH = '.git/change.patch'
"""Stored outside the files under review."""


class Finding(FrozenModel):
    """One finding about a change."""

    file: str = Field(description='The path of the file')
    line: int = Field(ge=1, description='The line in the current file')
    severity: Literal['blocker', 'major', 'minor', 'praise']
    problem: str = Field(description='The problem, and when it occurs')
    suggestion: str = Field(default='', description='What to do instead')


class CodeReview(FrozenModel):
    """A review of a change."""

    verdict: Literal['approve', 'request changes', 'comment']
    summary: str = Field(min_length=1, description='The verdict in a sentence or two')
    findings: tuple[Finding, ...] = Field(default=(), max_length=50)


class CodeReviewer(CodingAgent):
    """Review code changes and provide feedback."""

    name = 'code-reviewer'
    aliases = ('reviewer',)

    class Parameters(CodingForm):
        """Launch form parameters."""

        request: str = task_field(
            'Request',
            'What the change is for, and what to look at',
            'Review the change that cuts slugs to a maximum length',
        )
        project: str = project_field('sample:slugs')
        change: LongText = Field(
            'sample:code/slugs-cut.patch',
            min_length=1,
            max_length=500_000,
            title='Change',
            description='A git diff, or the path of one; it is applied to the project',
        )

        @field_validator('change')
        @classmethod
        def _is_a_diff(cls, value: str) -> str:
            return value if '\n' in value else check_file(value)

    suits = ('review', 'diff', 'change', 'patch', 'commit', 'pull', 'request', 'feedback', 'merge')
    role = Role(
        name='code-reviewer',
        title='Code reviewer',
        instructions='You review changes and change no files. Report only what you have read or tried.',
        tools=READ_ONLY_TOOLS,
    )
    until = Criteria(
        artifacts=('review',), checks=(TESTS_WERE_RUN,), proofs=('run_tests',), words='review', turns=30
    )
    output = CodeReview
    template = 'code-review'
    result = 'review'
    result_kind = 'findings'

    async def prepare_files(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the project into the folder, with the change on top of its first commit."""
        _, values = await super().prepare_files(folder, activity)
        workspace, change = activity.workspace(folder), self.parameters.change
        data = f'{change}\n'.encode(errors='replace')
        if '\n' not in change:
            data = await asyncio.to_thread(sample_file(change).read_bytes)
        await workspace.write(PATCH, data)
        result = await activity.services.sandbox.run(
            ['git', '-c', 'safe.directory=*', 'apply', '--whitespace=nowarn', PATCH], workspace
        )
        if result.code != 0:
            raise EngineError(f'the change does not apply to the project: {result.output.strip()[-500:]}')
        return await workspace.snapshot(), values

    def render(self, value: Any) -> str:
        """The review as Markdown."""
        review = CodeReview.model_validate(value)
        lines = [
            bullet(
                f'**{finding.severity}** `{finding.file}:{finding.line}`: {finding.problem}'
                + (f'\n  {finding.suggestion}' if finding.suggestion else '')
            )
            for finding in review.findings
        ]
        return '\n\n'.join([f'**{review.verdict.capitalize()}.** {review.summary}', '\n'.join(lines)]).strip()
