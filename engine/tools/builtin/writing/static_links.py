"""static_links: the configured links that a blog or show puts under everything."""

from __future__ import annotations

import os

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.protocol import ToolContext, tool

SETTING = 'HEMICYCLE_LINKS'
"""The variable for default links: lines or a semicolon-separated list of `Name: address`."""
FILE = 'links.txt'
"""A file in the agent's folder."""


@tool(
    category='research',
    hint='Use for the newsletter section, or the end of show notes.',
    produces=('links',),
)
async def static_links(context: ToolContext) -> ToolOutput:
    """Get social media links and others that stay the same in every post."""
    text = configured_links()
    if context.workspace is not None and any(
        entry.path == FILE for entry in await context.workspace.entries(deep=False)
    ):
        text = (await context.workspace.read(FILE)).decode(errors='replace')
    links = parse_links(text)
    if not links:
        raise ToolError(f'no links are configured: pass them to the run or set {SETTING}')
    listed = '\n'.join(f'- [{name}]({address})' for name, address in links.items())
    return ToolOutput(text=listed, artifacts={'links': links})


def configured_links() -> str:
    """Return the default links, for runs without their own."""
    return os.environ.get(SETTING, '').strip().replace(';', '\n')


def validate_links(text: str) -> str:
    """Validate a launch form's links. Raises `ValueError` for a line that is neither empty nor a link."""
    try:
        parse_links(text)
    except ToolError as error:
        raise ValueError(str(error)) from None
    return text


def parse_links(text: str) -> dict[str, str]:
    """Parse names and addresses. Raises `ToolError` for a line that is neither empty nor a link."""
    links: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, address = line.partition(':')
        if not colon or not address.strip().startswith(('https://', 'http://', 'mailto:')):
            raise ToolError(f'links: {line[:100]!r} does not have the form Name: https://address')
        links[name.strip()] = address.strip()
    return links
