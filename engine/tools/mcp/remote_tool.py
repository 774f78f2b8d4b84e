"""RemoteTool: wraps an MCP server's tool as an ordinary tool, and converts its results to text."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, create_model
from typing_extensions import override

from engine.errors import ToolError
from engine.models.protocol import ToolSpec
from engine.records.jsonable import to_jsonable
from engine.records.message import Image
from engine.tools.artifacts import ToolOutput
from engine.tools.images import keep_image
from engine.tools.protocol import Tool, ToolContext, parse_arguments

if TYPE_CHECKING:
    from mcp import types

    from engine.tools.mcp.config import McpServer

TYPES: dict[str, Any] = {
    'string': str,
    'integer': int,
    'number': float,
    'boolean': bool,
    'array': list[Any],
    'object': dict[str, Any],
}
MAX_DESCRIBED = 4_000
"""Maximum characters of a description given to a model."""
MAX_SCHEMA, MAX_NESTED, MAX_FIELDS = 100_000, 64, 500
"""Maximum characters, nesting levels and arguments of a schema given to a model."""
NO_SCHEMA = 'The schema of its arguments is too large to include.'


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTool(Tool):
    """A tool whose schema comes from its server, which also validates the arguments."""

    schema: Mapping[str, Any]
    origin: str
    """The server's own name for it."""
    task_seconds: float = 0.0
    """Time limit of a call that becomes a task; until then, `seconds` applies."""

    @property
    @override
    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.description, schema=self.schema)

    @override
    async def invoke(self, arguments: str, context: ToolContext) -> ToolOutput:
        whole = replace(self, seconds=max(self.seconds, self.task_seconds))
        values = parse_arguments(arguments)
        try:
            # A value that cannot be sent would end the connection, which other runs share.
            sent = to_jsonable({'params': {'arguments': values}})['params']['arguments']
        except (ValueError, RecursionError) as error:
            raise ToolError(f'the arguments cannot be sent: {error}') from None
        return await whole.run_limited(self.call(context, sent), context)


def make_remote_tool(server: McpServer, name: str, tool: types.Tool, call: Any) -> RemoteTool:
    """Build the tool.

    Args:
        server: the tool's server.
        name: the name that models use.
        tool: the tool as listed by the server.
        call: `async (context, arguments) -> str`.
    """
    hints = tool.annotations
    changes = not (hints and hints.read_only_hint)
    destroys = changes and (hints is None or hints.destructive_hint is not False)
    is_open = is_too_large(tool.input_schema)
    input_schema = {} if is_open else tool.input_schema
    schema = {'type': 'object', 'properties': {}, **input_schema}
    described = (tool.description or tool.title or tool.name)[:MAX_DESCRIBED]
    return RemoteTool(
        name=name,
        origin=tool.name,
        description=f'{described}\n{NO_SCHEMA}' if is_open else described,
        arguments=_form(name, schema),
        schema=schema,
        call=call,
        category=server.name,
        side_effects=changes,
        approval=server.approvals == 'all' or (server.approvals == 'marked' and destroys),
        seconds=server.seconds,
        task_seconds=server.task_seconds,
        most_text=server.most_text,
    )


async def output_of(result: types.CallToolResult, context: ToolContext) -> ToolOutput:
    """Convert a result to text and images; other content is stored as an artifact.

    Raises:
        ToolError: the result is an error.
    """
    parts = [await _part(block, context) for block in result.content]
    images = [await _image(block.data, context) for block in result.content if block.type == 'image']
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = '\n'.join(parts)
    if result.is_error:
        raise ToolError(text[:MAX_DESCRIBED] or 'it failed without giving a reason')
    return ToolOutput(text=text or 'done; it returned nothing', images=tuple(filter(None, images)))


async def _image(data: str, context: ToolContext) -> Image | None:
    try:
        content = base64.b64decode(data)
    except ValueError:
        return None
    return await keep_image(content, context.workspace) if context.workspace is not None else None


async def _part(block: types.ContentBlock, context: ToolContext) -> str:
    match block.type:
        case 'text':
            return block.text
        case 'image' | 'audio':
            return await _store_content(block.mime_type, block.data, context)
        case 'resource_link':
            return f'[{block.title or block.name}: {block.uri}]'
        case _:
            resource = block.resource
            if hasattr(resource, 'text'):
                return str(resource.text)
            return await _store_content(
                f'{resource.mime_type or "file"} {resource.uri}', resource.blob, context
            )


async def _store_content(what: str, data: str, context: ToolContext) -> str:
    try:
        content = base64.b64decode(data)
    except ValueError:
        return f'[{what}, not readable]'
    location = ''
    if context.workspace is not None:
        location = f', kept as artifact {await context.workspace.store(content)}'
    return f'[{what}, {len(content):,} bytes{location}]'


def is_too_large(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema is unreasonably large: it would fill a request, or block this process."""
    level: list[Any] = [schema]
    for _ in range(MAX_NESTED):
        values = [value for item in level for value in (item.values() if isinstance(item, dict) else item)]
        level = [value for value in values if isinstance(value, dict | list)]
    fields = schema.get('properties')
    many = isinstance(fields, Mapping) and len(fields) > MAX_FIELDS
    return bool(level) or many or len(json.dumps(schema)) > MAX_SCHEMA


def _form(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """Build a model with the schema's simple fields, for a form."""
    properties = schema.get('properties')
    required = required if isinstance(required := schema.get('required'), list) else []
    fields: dict[str, Any] = {}
    for key, value in properties.items() if isinstance(properties, Mapping) else ():
        if not key.isidentifier() or key.startswith(('_', 'model_')) or hasattr(BaseModel, key):
            continue
        declared = value.get('type') if isinstance(value, Mapping) else ''
        kind = TYPES.get(declared, Any) if isinstance(declared, str) else Any
        fields[key] = (kind, ...) if key in required else (kind | None if kind is not Any else Any, None)
    return create_model(name, __config__=ConfigDict(extra='allow'), **fields)
