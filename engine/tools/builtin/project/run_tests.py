"""run_tests: runs the tests in the agent's folder, inside the sandbox, with a short report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.protocol import ToolContext, tool
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.test_run import run_test_suite, select_tests
from engine.workspace.testing.weakening import changed_tests

MAX_SECONDS = 600


@tool(
    category='commands',
    needs=('sandbox',),
    side_effects=True,
    seconds=MAX_SECONDS + 30,
    hint='Use after each change, and without path and keyword before you report that the work is done.',
    produces=('test_result', 'test_report'),
)
async def run_tests(
    context: ToolContext,
    path: Annotated[str, Field(description='A test file or folder; empty for all tests')] = '',
    keyword: Annotated[str, Field(max_length=200, description='Only tests whose names match this')] = '',
    seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS, description='Time limit in seconds')] = 120,
) -> ToolOutput:
    """Run the tests. Reports how many passed, and any failures."""
    given: Mapping[str, Any] = context.facts.get('tests') or {}
    options = select_tests(path, keyword)
    setup = await current_setup(given.get('project', ''), context.files)
    command = given.get('command') or setup.command
    if command and options:
        if ' -m pytest ' not in command:
            raise ToolError(f'path, keyword: the tests of this project always run together, with {command!r}')
        command = f'{command} {shlex.join(options)}'
    tested = await run_test_suite(
        context.files,
        context.commands,
        options=options,
        command=command,
        seconds=seconds,
        setup=setup,
        exit_counts=given.get('exit_counts', bool(given.get('command'))),
    )
    snapshot = given.get('keep', '')
    changed = await changed_tests(context.files, snapshot, command) if snapshot and tested.passed else []
    text = tested.text
    if changed:
        text += (
            f'\n\nThis does not count because the tests have changed: {"; ".join(changed)}. You may add'
            ' tests, but restore the original ones.'
        )
    artifacts: dict[str, object] = {'test_report': text}
    if not (options and tested.passed):  # A passing subset proves nothing about the rest.
        artifacts['test_result'] = tested.passed and not changed
    return ToolOutput(text=text, artifacts=artifacts, ok=tested.passed and not changed)
