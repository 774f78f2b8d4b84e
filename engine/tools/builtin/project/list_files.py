"""list_files: lists the agent's folder."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.tools.protocol import ToolContext, tool
from engine.workspace.workspace import MAX_ENTRIES, Entry


@tool(category='files')
async def list_files(
    context: ToolContext,
    path: Annotated[str, Field(description='A folder inside your folder; empty for your folder itself')] = '',
    deep: Annotated[bool, Field(description='Include the contents of its subfolders')] = True,
) -> str:
    """List the files in your folder with their sizes in bytes; a folder's name ends with a slash."""
    entries = await context.files.entries(path, deep=deep)
    lines = [_line(entry) for entry in entries if '/.git/' not in f'/{entry.path}']
    if len(entries) >= MAX_ENTRIES:
        lines.append(f'[there is more: only the first {MAX_ENTRIES} are shown]')
    return '\n'.join(lines) or 'There are no files.'


def _line(entry: Entry) -> str:
    if entry.kind == 'a folder':
        return f'{entry.path}/'
    return f'{entry.path}  {entry.size if entry.kind == "a file" else entry.kind}'
