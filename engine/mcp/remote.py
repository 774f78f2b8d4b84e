"""A tool of an MCP server as an ordinary tool, and its results as text."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, create_model

from engine.dynamic.artifacts import Given
from engine.errors import ToolError
from engine.model import ToolSpec
from engine.tool import Tool, ToolContext, parsed

if TYPE_CHECKING:
    from mcp import types

    from engine.mcp.server import Server

TYPES: dict[str, Any] = {
    'string': str,
    'integer': int,
    'number': float,
    'boolean': bool,
    'array': list[Any],
    'object': dict[str, Any],
}
MOST_DESCRIBED = 4_000
"""Characters of a description that a model is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTool(Tool):
    """A tool whose schema is its server's; the server checks the arguments."""

    schema: Mapping[str, Any]
    origin: str
    """Its server's own name for it."""

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(name=self.name, description=self.description, schema=self.schema)

    async def give(self, arguments: str, context: ToolContext) -> Given:
        """Call it. Raises `ToolError`."""
        return await self.limited(self.call(context, dict(parsed(arguments))), context)


def remote(server: Server, name: str, tool: types.Tool, call: Any) -> RemoteTool:
    """The tool under this name.

    Args:
        server: whose it is.
        name: for models.
        tool: as the server lists it.
        call: `async (context, arguments) -> str`.
    """
    hints = tool.annotations
    changes = not (hints and hints.read_only_hint)
    destroys = changes and (hints is None or hints.destructive_hint is not False)
    schema = {'type': 'object', 'properties': {}, **tool.input_schema}
    return RemoteTool(
        name=name,
        origin=tool.name,
        description=(tool.description or tool.title or tool.name)[:MOST_DESCRIBED],
        arguments=_form(name, schema),
        schema=schema,
        call=call,
        category=server.name,
        side_effects=changes,
        approval=server.approvals == 'all' or (server.approvals == 'marked' and destroys),
        seconds=server.seconds,
        most_text=server.most_text,
    )


async def text_of(result: types.CallToolResult, context: ToolContext) -> str:
    """A result as text; what is none is kept as an artifact. Raises `ToolError` for one that is an error."""
    parts = [await _part(block, context) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = '\n'.join(parts)
    if result.is_error:
        raise ToolError(text[:MOST_DESCRIBED] or 'it failed, and did not say why')
    return text or 'done; it returned nothing'


async def _part(block: types.ContentBlock, context: ToolContext) -> str:
    match block.type:
        case 'text':
            return block.text
        case 'image' | 'audio':
            return await _kept(block.mime_type, block.data, context)
        case 'resource_link':
            return f'[{block.title or block.name}: {block.uri}]'
        case _:
            resource = block.resource
            if hasattr(resource, 'text'):
                return str(resource.text)
            return await _kept(f'{resource.mime_type or "file"} {resource.uri}', resource.blob, context)


async def _kept(what: str, data: str, context: ToolContext) -> str:
    try:
        content = base64.b64decode(data)
    except ValueError:
        return f'[{what}, which cannot be read]'
    kept = ''
    if context.workspace is not None:
        kept = f', kept as artifact {await context.workspace.keep(content)}'
    return f'[{what}, {len(content):,} bytes{kept}]'


def _form(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """A record with the schema's fields, as far as they are plain: for a form to be drawn from."""
    properties = schema.get('properties')
    required = schema.get('required') or ()
    fields: dict[str, Any] = {}
    for key, value in properties.items() if isinstance(properties, Mapping) else ():
        if not key.isidentifier() or key.startswith(('_', 'model_')) or hasattr(BaseModel, key):
            continue
        said = value.get('type') if isinstance(value, Mapping) else ''
        kind = TYPES.get(said, Any) if isinstance(said, str) else Any
        fields[key] = (kind, ...) if key in required else (kind | None if kind is not Any else Any, None)
    return create_model(name, __config__=ConfigDict(extra='allow'), **fields)
