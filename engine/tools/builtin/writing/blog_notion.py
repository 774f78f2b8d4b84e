"""blog_notion: publishes to a Notion database of drafts; disabled unless configured."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.artifacts import ToolOutput
from engine.tools.builtin.writing.assemble_content import content_of
from engine.tools.builtin.writing.notion import ADDRESS, Notion
from engine.tools.protocol import ToolContext, tool

TOKEN, DATABASE, ELSEWHERE = 'NOTION_TOKEN', 'NOTION_DATABASE_ID', 'HEMICYCLE_NOTION_URL'


def _missing() -> str:
    unset = [name for name in (TOKEN, DATABASE) if not os.environ.get(name, '').strip()]
    return f'publishing to Notion is off: set {" and ".join(unset)}' if unset else ''


@tool(
    category='publishing',
    hint='Use when the request asks you to publish.',
    side_effects=True,
    approval=True,
    seconds=300,
    consumes=('content',),
    produces=('published',),
    missing=_missing,
)
async def blog_notion(
    context: ToolContext,
    title: Annotated[str, Field(min_length=1, max_length=2_000, description='The title of the draft')],
    content: Annotated[
        str, Field(max_length=200_000, description='Markdown; empty for the existing content')
    ] = '',
) -> ToolOutput:
    """Publish to the Notion drafts database."""
    if problem := _missing():
        raise ToolError(problem)
    text = content or content_of(context)
    address = os.environ.get(ELSEWHERE, '').strip() or ADDRESS
    async with Notion.client(os.environ[TOKEN].strip(), address) as http:
        # The run's key, not the call's: a second attempt in the same run finds the first draft.
        key = context.key.partition(':')[0]
        url, is_new = await Notion(http, os.environ[DATABASE].strip()).publish(title, text, key)
    summary = f'Published as a draft: {url}' if is_new else f'This draft already exists: {url}'
    return ToolOutput(text=summary, artifacts={'published': {'url': url, 'title': title}})
