"""Runs, their transcripts and their artifacts as resources of the MCP server."""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import quote, unquote

from mcp_types import Resource, ResourceTemplate, TextResourceContents

from engine import Conductor, EngineError
from engine.history import artifacts_of, whole_value
from engine.records import RunId, RunQuery, View, message_of
from ui.api.mcp.runs import describe

MAX_RUNS: Final = 50
"""Maximum number of runs listed, newest first."""
RUN: Final = 'hemicycle://runs/{run}'
TEMPLATES: Final = (
    ResourceTemplate(
        uri_template=RUN,
        name='run',
        description="A run's status and answer.",
        mime_type='application/json',
    ),
    ResourceTemplate(
        uri_template=f'{RUN}/transcript',
        name='transcript',
        description="The conversations of a run's agents.",
        mime_type='text/markdown',
    ),
    ResourceTemplate(
        uri_template=f'{RUN}/artifacts/{{agent}}/{{name}}',
        name='artifact',
        description="An artifact of one of a run's agents.",
        mime_type='text/plain',
    ),
)


async def list_resources(conductor: Conductor) -> list[Resource]:
    """List the newest runs with their artifacts."""
    resources = []
    for info in (await conductor.runs(RunQuery(limit=MAX_RUNS))).runs:
        base = RUN.format(run=info.id)
        about = f'{info.pattern}, {info.status}'
        resources.append(
            Resource(
                uri=base, name=info.id, title=info.title, description=about, mime_type='application/json'
            )
        )
        if info.status.ended:
            view = await conductor.view(info.id)
            resources += [
                Resource(uri=f'{base}/artifacts/{quote(agent, safe="")}/{quote(name, safe="")}', name=name)
                for agent, name in artifacts_of(view)
            ]
    return resources


async def read_resource(conductor: Conductor, uri: str) -> TextResourceContents:
    """Return the content of a resource. Raises `EngineError` if there is none."""
    match = re.fullmatch(r'hemicycle://runs/([\w-]+)(?:/(transcript)|/artifacts/([^/]+)/([^/]+))?', uri)
    if not match:
        raise EngineError(f'there is no resource {uri!r}')
    run = RunId(match[1])
    if match[2]:
        return TextResourceContents(
            uri=uri, mime_type='text/markdown', text=_transcript(await conductor.view(run))
        )
    if match[3]:
        text = await _artifact(conductor, run, unquote(match[3]), unquote(match[4]))
        return TextResourceContents(uri=uri, mime_type='text/plain', text=text)
    text = json.dumps(await describe(conductor, run), ensure_ascii=False)
    return TextResourceContents(uri=uri, mime_type='application/json', text=text)


async def _artifact(conductor: Conductor, run: RunId, agent: str, name: str) -> str:
    artifact = artifacts_of(await conductor.view(run)).get((agent, name))
    if artifact is None:
        raise EngineError(f'run {run} has no artifact {name!r} of {agent!r}')
    value = await whole_value(conductor.workspaces, run, artifact)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _transcript(view: View) -> str:
    parts = []
    for agent, state in view.agents.items():
        parts.append(f'# {agent}')
        for stored in state.get('messages', ()):
            message = message_of(stored)
            calls = ''.join(f'\n\nCalls `{call.name}` with `{call.arguments}`' for call in message.calls)
            if message.text or calls:
                parts.append(f'**{message.role}**: {message.text}{calls}')
    return '\n\n'.join(parts)
