"""compare_candidates: the differences between two candidates, or between two versions of one."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.builtin.candidates.versions import candidate_versions
from engine.tools.protocol import ToolContext, tool
from engine.workspace.confined_dir import split_path
from engine.workspace.diff import diff_snapshots, is_own_work


@tool(category='files', most_text=40_000)
async def compare_candidates(
    context: ToolContext,
    first: Annotated[
        str, Field(max_length=100, description='A candidate, such as `coder1`; `coder1@1` is its version 1')
    ],
    second: Annotated[str, Field(max_length=100, description='The other candidate, or another version')],
    path: Annotated[str, Field(description='A file or folder in both; empty for all files')] = '',
) -> str:
    """Show the differences between two candidates as a unified diff."""
    before, after = _snapshot(context, first), _snapshot(context, second)
    inside = '/'.join(split_path(path))
    changes = await asyncio.to_thread(diff_snapshots, context.files.objects, before, after)
    patches = [
        change.text or f'{change.kind}: {change.path}\n'
        for change in changes
        if is_own_work(change) and (not inside or f'{change.path}/'.startswith(f'{inside}/'))
    ]
    return ''.join(patches) or f'{first} and {second} do not differ{f" in {path}" if path else ""}.'


def _snapshot(context: ToolContext, name: str) -> str:
    candidate, _, number = name.partition('@')
    versions = candidate_versions(context, candidate)
    if number and not (number.isdecimal() and 0 < int(number) <= len(versions)):
        raise ToolError(f'{candidate} has versions 1 to {len(versions)}, not {number}')
    return versions[int(number) - 1 if number else -1]
