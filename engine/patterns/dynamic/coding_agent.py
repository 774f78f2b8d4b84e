"""CodingAgent: a dynamic agent that works on a project in its folder, inside the sandbox."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from engine.agents.criteria import Check, Criteria, Evidence
from engine.errors import EngineError, WorkspaceError
from engine.patterns.dynamic.dynamic_agent import DynamicAgent
from engine.patterns.form_fields import project_field, task_field
from engine.records import Event
from engine.records.frozen import Form, FrozenModel
from engine.records.jsonable import clip
from engine.runtime.activity import Activity
from engine.workspace.installation import install_dependencies
from engine.workspace.project import check_project, copy_project, find_left_out
from engine.workspace.testing.detection import detect_tests
from engine.workspace.testing.test_setup import TestSetup
from engine.workspace.workspaces import DEPENDENCIES

TOOLS = (
    'list_files', 'read_file', 'write_file', 'edit_file', 'search', 'navigate', 'git', 'run_tests',
    'run_command',
)  # fmt: skip
READ_ONLY_TOOLS = ('list_files', 'read_file', 'search', 'navigate', 'git', 'run_tests', 'run_command')
CAUSE = re.compile(
    r"""^(?:E\s+)?(.*(?:No module named|cannot import name|Cannot find (?:module|package)|can't find crate"""
    r"""|unresolved import|no required module|: not found|command not found"""
    r"""|it reported no tests|its output reports failures).*)$""",
    re.MULTILINE,
)
"""What in a report says that something is missing, rather than wrong."""
MAX_CAUSE = 300


def why_tests_fail(evidence: Evidence) -> str:
    """Return the line of the last report of the tests that says why they cannot pass, or its first line."""
    report = str(evidence.artifacts.get('test_report', '')).strip()
    if evidence.artifacts.get('test_result') is not False or not report:
        return ''
    cause = CAUSE.search(report)
    return f'the last run: {clip(cause[1].strip() if cause else report.splitlines()[0], MAX_CAUSE)}'


TESTS_PASS = Check(
    name='tests_pass',
    missing='a run of all tests after the last change, without failures',
    holds=lambda evidence: evidence.artifacts.get('test_result') is True,
    reason=why_tests_fail,
)
TESTS_WERE_RUN = Check(
    name='tests_were_run',
    missing='a run of the tests',
    holds=lambda evidence: 'test_report' in evidence.artifacts,
)
UNTIL_TESTS_PASS = Criteria(
    rule='all',
    signal='TASK_COMPLETE',
    checks=(TESTS_PASS,),
    proofs=('run_tests',),
    words='summary',
    turns=40,
)


class PreparationMessage(FrozenModel):
    """A step in preparing a project for the agent."""

    kind: str
    """`installed` or `left_out`."""
    sender: str = 'sandbox'
    recipient: str
    content: str
    time: float = 0.0
    """Unix timestamp in seconds."""


class CodingForm(Form):
    """Launch form parameters of every agent that works on a project."""

    request: str = task_field('Request', 'What the agent should do', 'Look after this project')
    project: str = project_field('sample:spans')

    test_command: str = Field(
        '',
        max_length=2_000,
        title='Test command',
        description='Detected from the project if empty: pytest with its own .venv, npm, make, test.sh, '
        'cargo or go, which have to report tests. Of one given here, exit status 0 means they pass; {report} '
        'stands for the path of a JUnit report',
    )

    install: bool = Field(
        False,
        title='Install dependencies',
        description='Before the agent starts, in the sandbox with network access; the agent itself has none',
    )
    install_command: str = Field(
        '',
        max_length=2_000,
        title='Install command',
        description='Detected from the project if empty: uv, Poetry, PDM, Pipenv, pip, npm, pnpm, Yarn, '
        'cargo or go',
        json_schema_extra={'when': {'install': ['True']}},
    )

    _is_known = field_validator('project')(check_project)


class CodingAgent(DynamicAgent, abstract=True):
    """Works on a copy of a project, which is a git repository with one commit."""

    class Parameters(CodingForm):
        """Launch form parameters."""

    class Memory(DynamicAgent.Memory):
        """A run's memory, in addition to the agent's own state."""

        messages: list[PreparationMessage] = Field(default_factory=list)
        """The steps that prepared the project for the agent."""

    result = 'summary'
    result_kind = 'patch'
    projects = ('project',)

    def panels(self) -> Mapping[str, str | Mapping[str, str]]:
        """Add the messages about the project's preparation."""
        return {**super().panels(), 'messages': 'messages'}

    async def prepare(self, memory: DynamicAgent.Memory, activity: Activity) -> dict[str, Any]:
        """Prepare like any dynamic agent. Raises `EngineError` immediately if nothing can be run."""
        sandbox = activity.services.sandbox
        if not sandbox.unsafe and (problem := await sandbox.problem()):
            raise EngineError(problem)
        return await super().prepare(memory, activity)

    async def prepare_files(self, folder: str, activity: Activity) -> tuple[str, Mapping[str, str]]:
        """Put the project into the folder, with a git history."""
        workspace, sandbox = activity.workspace(folder), activity.services.sandbox
        project = self.parameters.project
        snapshot = await copy_project(project, workspace, history=sandbox, over=activity.given_files)
        values = {'snapshot': snapshot}
        if left_out := await find_left_out(project):
            values['left_out'] = f'The copy lacks links, devices and pipes: {", ".join(left_out)}'
        setup = await detect_tests(project)
        if command := self._install_command(setup):
            installed = await install_dependencies(
                project, command, activity.workspace(DEPENDENCIES), sandbox, setup
            )
            if not installed.ok:
                raise EngineError(f'the dependencies were not installed:\n{installed.text}')
            project, values['installed'] = installed.folder, installed.text
            setup = await detect_tests(project)
        values['project'] = project
        values['test_command'] = self.parameters.test_command or setup.command
        return snapshot, values

    def _install_command(self, setup: TestSetup) -> str:
        """Return the command that installs dependencies; '' if not requested, or if none are missing.

        Raises:
            EngineError: they cannot be installed.
        """
        if not self.parameters.install or self.parameters.install_command:
            return self.parameters.install_command if self.parameters.install else ''
        if setup.obstacle:
            raise EngineError(f'the dependencies cannot be installed: {setup.obstacle}')
        return setup.install

    def store_prepared(self, memory: DynamicAgent.Memory, event: Event) -> None:
        """Store the prepared values; the project's preparation steps become messages."""
        super().store_prepared(memory, event)
        assert isinstance(memory, CodingAgent.Memory)
        for kind in ('left_out', 'installed'):
            if text := memory.given.pop(kind, ''):
                memory.messages.append(
                    PreparationMessage(kind=kind, recipient=self.role.name, content=text, time=event.time)
                )

    async def field_notes(self) -> Mapping[str, str]:
        """Note the detected commands for fields left empty, and the files that are not copied."""
        try:
            detected, left_out = (
                await detect_tests(self.parameters.project),
                await find_left_out(self.parameters.project),
            )
        except WorkspaceError as error:
            return {'project': str(error)}
        notes = {
            'project': f'Not copied because they are links, devices or pipes: {", ".join(left_out)}'
            if left_out
            else '',
            'test_command': '' if self.parameters.test_command else detected.note,
            'install_command': '' if self.parameters.install_command else detected.install_note,
        }
        return {name: note for name, note in notes.items() if note}

    def facts(self, memory: DynamicAgent.Memory) -> Mapping[str, Any]:
        """Facts for the tools: how to run the project's tests, and the snapshot with the original ones."""
        values = memory.given
        snapshot = values.get('snapshot', '') if self.keeps_tests else ''
        tests = {
            'command': values.get('test_command', ''),
            'project': values.get('project', ''),
            'keep': snapshot,
            'exit_counts': bool(self.parameters.test_command),
        }
        return {'tests': tests}

    @property
    def keeps_tests(self) -> bool:
        """Whether passing tests count only if the project's own tests are unchanged."""
        return False
