"""test_candidate: runs the tests of one candidate, in the reviewer's copy of its folder."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.builtin.candidates.versions import candidate_versions
from engine.tools.protocol import ToolContext, tool
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.test_run import run_test_suite, select_tests

MAX_SECONDS = 600


@tool(
    category='commands',
    needs=('sandbox',),
    side_effects=True,
    seconds=MAX_SECONDS + 30,
    hint="Use before you rely on an author's claims about its tests.",
)
async def test_candidate(
    context: ToolContext,
    candidate: Annotated[str, Field(max_length=100, description='The candidate, such as `coder1`')],
    path: Annotated[
        str, Field(description='A test file or folder inside its folder; empty for all tests')
    ] = '',
    keyword: Annotated[str, Field(max_length=200, description='Only tests whose names match this')] = '',
    seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS, description='Time limit in seconds')] = 120,
) -> str:
    """Run the tests in your copy of a candidate's folder. Reports how many passed, and any failures."""
    versions = candidate_versions(context, candidate)
    options = select_tests(path, keyword)
    command = '' if options else str(context.facts.get('command') or '')
    copy = context.files.subfolder(candidate)
    if not await copy.entries(deep=False):
        raise ToolError(f'{candidate}: your folder has no copy of it')
    project = (context.facts.get('tests') or {}).get('project', '')
    tested = await run_test_suite(
        copy,
        context.commands,
        options=options,
        command=command,
        seconds=seconds,
        setup=await current_setup(project, copy),
    )
    which = ''.join([f', {path}' if path else '', f', {keyword!r}' if keyword else ''])
    return f'{candidate} version {len(versions)}{which}: {tested.text}'
