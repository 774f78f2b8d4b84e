"""test_candidate: runs the tests of one candidate, in the reviewer's copy of its folder."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.candidates import candidate_versions
from engine.tools.protocol import ToolContext, tool
from engine.workspace.sandbox.test_run import run_test_suite, select_tests

MAX_SECONDS = 600


@tool(
    category='commands',
    needs=('sandbox',),
    side_effects=True,
    seconds=MAX_SECONDS + 30,
    hint='Before you rely on what an author says about its tests.',
)
async def test_candidate(
    context: ToolContext,
    candidate: Annotated[str, Field(max_length=100, description='Whose implementation, such as `coder1`')],
    path: Annotated[
        str, Field(description='A file or a folder with tests in its folder; nothing for all of them')
    ] = '',
    keyword: Annotated[str, Field(max_length=200, description='Only tests whose names match this')] = '',
    seconds: Annotated[float, Field(gt=0, le=MAX_SECONDS, description='How long they may take')] = 120,
) -> str:
    """Run the tests in your copy of a candidate's folder: how many passed, and what went wrong."""
    versions = candidate_versions(context, candidate)
    options = select_tests(path, keyword)
    command = '' if options else str(context.facts.get('command') or '')
    copy = context.files.subfolder(candidate)
    if not await copy.entries(deep=False):
        raise ToolError(f'{candidate}: there is no copy of it in your folder')
    tested = await run_test_suite(copy, context.commands, options=options, command=command, seconds=seconds)
    which = ''.join([f', {path}' if path else '', f', {keyword!r}' if keyword else ''])
    return f'{candidate} version {len(versions)}{which}: {tested.text}'
