"""static_links: the links that a blog or a show has under everything, as its owner configured them."""

from __future__ import annotations

import os

from engine.dynamic.artifacts import Given
from engine.errors import ToolError
from engine.tool import ToolContext, tool

SETTING = 'HEMICYCLE_LINKS'
"""Lines or a semicolon list of `Name: address`, for runs that are given none."""
FILE = 'links.txt'
"""In the agent's folder."""


@tool(
    category='research',
    hint='Use for the newsletter section, or the end of show notes.',
    produces=('links',),
)
async def static_links(context: ToolContext) -> Given:
    """Get social media links and others that stay the same from post to post."""
    text = configured()
    if context.workspace is not None and any(
        entry.path == FILE for entry in await context.workspace.entries(deep=False)
    ):
        text = (await context.workspace.read(FILE)).decode(errors='replace')
    links = read_links(text)
    if not links:
        raise ToolError(f'no links are configured: give them with the run, or set {SETTING}')
    listed = '\n'.join(f'- [{name}]({address})' for name, address in links.items())
    return Given(text=listed, artifacts={'links': links})


def configured() -> str:
    """The links of runs that are given none."""
    return os.environ.get(SETTING, '').strip().replace(';', '\n')


def checked(text: str) -> str:
    """The links of a launch form. Raises `ValueError` for a line that is neither empty nor a link."""
    try:
        read_links(text)
    except ToolError as error:
        raise ValueError(str(error)) from None
    return text


def read_links(text: str) -> dict[str, str]:
    """Names and addresses. Raises `ToolError` for a line that is neither empty nor a link."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, address = line.partition(':')
        if not colon or not address.strip().startswith(('https://', 'http://', 'mailto:')):
            raise ToolError(f'links: {line[:100]!r} is not written as Name: https://address')
        found[name.strip()] = address.strip()
    return found
