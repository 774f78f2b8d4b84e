"""Schemas of MCP servers' tools: one that is too large is dropped, and its tool accepts any object."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import types

from engine.tools.mcp import remote_tool
from engine.tools.mcp.config import McpServer
from engine.tools.mcp.listing import find_problems
from engine.tools.mcp.remote_tool import NO_SCHEMA, RemoteTool, make_remote_tool


def tool_with(schema: dict[str, Any]) -> RemoteTool:
    tool = types.Tool(name='find', description='Find it.', input_schema=schema)
    return make_remote_tool(McpServer(name='small', command='true'), 'small_find', tool, None)


def nest(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {'type': 'string'}
    for _ in range(levels):
        schema = {'type': 'object', 'properties': {'inside': schema}}
    return schema


def widen(fields: int, help: str = '') -> dict[str, Any]:
    return {'type': 'object', 'properties': {f'a{at}': {'description': help} for at in range(fields)}}


@pytest.mark.parametrize(
    'schema', [nest(5_000), nest(40), widen(remote_tool.MAX_FIELDS + 1), widen(20, help='x' * 5_000)]
)  # fmt: skip
def test_a_schema_that_is_too_large_is_left_out(schema: dict[str, Any]) -> None:
    tool = tool_with(schema)
    assert tool.spec.schema == {'type': 'object', 'properties': {}}
    assert tool.spec.description == f'Find it.\n{NO_SCHEMA}'
    assert tool.arguments.model_validate({'a1': [1]}).model_extra == {'a1': [1]}


@pytest.mark.parametrize('schema', [nest(20), widen(remote_tool.MAX_FIELDS), widen(20, help='x' * 4_000)])
def test_a_large_schema_is_passed_on_unchanged(schema: dict[str, Any]) -> None:
    tool = tool_with(schema)
    assert (tool.spec.schema, tool.spec.description) == (schema, 'Find it.')


@pytest.mark.parametrize(
    ('schema', 'problem'),
    [
        ({'properties': {'a': {'enum': None}}}, 'its schema is not valid at properties.a.enum: None is not'),
        ({'properties': None}, 'its schema is not valid at properties: None is not'),
        ({'required': None}, 'its schema is not valid at required: None is not'),
        ({'properties': {'a': {'$ref': 'https://x.example/a'}}}, 'its schema refers to https://x.example/a'),
        ({'anyOf': [{'required': ['a']}]}, 'its schema has anyOf at the top'),
        ({'properties': {'a': {'type': ['string', 'null'], 'enum': ['x', None]}}}, ''),
        ({'properties': {'a': {'$ref': '#/$defs/A'}}, '$defs': {'A': {'$ref': '#'}}}, ''),
        ({'properties': {'a': {'default': {'$ref': 'x'}, 'anyOf': [{'type': 'null'}]}}}, ''),
    ],
)
def test_a_schema_that_no_provider_accepts_is_a_problem_of_its_tool(
    schema: dict[str, Any], problem: str
) -> None:
    tool = types.Tool(name='find', input_schema={'type': 'object', **schema})
    reason = find_problems([tool]).get('find', '')
    assert reason.startswith(problem) and bool(reason) is bool(problem)
