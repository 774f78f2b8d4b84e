"""CodingAgent: a dynamic agent that works on a project, in its folder and inside the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import field_validator

from engine.activity import Activity
from engine.dynamic.agent import DynamicAgent
from engine.dynamic.criteria import Check
from engine.errors import EngineError, WorkspaceError
from engine.fields import Form, project_field, task_field
from engine.files.project import lay_out, where

TOOLS = (
    'list_files', 'read_file', 'write_file', 'edit_file', 'search', 'navigate', 'git', 'run_tests',
    'run_command',
)  # fmt: skip
READING = ('list_files', 'read_file', 'search', 'navigate', 'git', 'run_tests', 'run_command')
TESTS_PASS = Check(
    name='tests_pass',
    missing='a run of all tests, after the last change, in which none fails',
    holds=lambda seen: seen.artifacts.get('test_result') is True,
)
TESTS_WERE_RUN = Check(
    name='tests_were_run',
    missing='a run of the tests',
    holds=lambda seen: 'test_report' in seen.artifacts,
)


class Coding(Form):
    """What the launch form of every agent asks for that works on a project."""

    request: str = task_field('Request', 'What the agent is to do', 'Look after this project')
    project: str = project_field('sample:spans')

    @field_validator('project')
    @classmethod
    def _is_there(cls, value: str) -> str:
        try:
            where(value)
        except WorkspaceError as error:
            raise ValueError(str(error)) from None
        return value


class CodingAgent(DynamicAgent):
    """Works on a copy of a project, which is a git repository with one commit."""

    class Parameters(Coding):
        """What the launch form asks for."""

    result = 'summary'

    async def prepare(self, memory: DynamicAgent.Memory, activity: Activity) -> dict[str, Any]:
        """As every dynamic agent. Raises `EngineError` at once where nothing can be run."""
        sandbox = activity.services.sandbox
        if not sandbox.unsafe and (problem := await sandbox.problem()):
            raise EngineError(problem)
        return await super().prepare(memory, activity)

    async def lay_out(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the project into the folder, with a history."""
        workspace, sandbox = activity.workspace(folder), activity.services.sandbox
        return await lay_out(self.parameters.project, workspace, sandbox, history=True), {}
