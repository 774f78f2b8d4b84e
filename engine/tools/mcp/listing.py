"""A server's list of tools: its pages, the tools that cannot be used, and the names for models."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.records.jsonable import clip, describe_error
from engine.tools.mcp.remote_tool import is_too_large

if TYPE_CHECKING:
    from mcp import Client, types

MAX_TOOL_NAME = 64
"""Maximum characters of a name. Every provider accepts letters, digits, `_` and `-`."""
MAX_PAGES = 50
MAX_TOOLS = 1_000
CHECK_SECONDS = 10.0
MAX_PROBLEM = 300
"""Maximum characters shown of a tool's problem."""
REFUSED_AT_THE_TOP = ('allOf', 'anyOf', 'oneOf', 'not', 'enum')
"""Keywords that providers refuse at the top of a schema, and with it every request that has the tool."""
VALUES = ('const', 'default', 'enum', 'examples')
"""Keywords that hold values, not schemas."""
PROBLEM = 'hemicycle/problem'
"""The entry of a tool's `_meta` that says why it cannot be used."""
DIGEST = re.compile(r'_[0-9a-f]{8}$')


async def list_tools(client: Client) -> tuple[list[types.Tool], dict[str, str]]:
    """Return a server's tools, and why others cannot be used, by name. Stops at pages that repeat."""
    tools: dict[str, types.Tool] = {}
    problems: dict[str, str] = {}
    cursors: list[str | None] = [None]
    while len(tools) <= MAX_TOOLS:
        page = await client.list_tools(cursor=cursors[-1])
        count = len(tools)
        for tool in page.tools:
            if tools.setdefault(tool.name, tool) != tool:
                problems[tool.name] = 'it is listed again with other contents; the first is used'
        is_repeated = page.next_cursor in cursors or (page.tools and len(tools) == count)
        if not page.next_cursor or is_repeated or len(cursors) == MAX_PAGES:
            break
        cursors.append(page.next_cursor)
    for name in list(tools)[MAX_TOOLS:]:
        del tools[name]
        problems[name] = f'only the first {MAX_TOOLS:,} tools of a server are used'
    return list(tools.values()), problems


def mark_invalid_tools(page: dict[str, Any], version: str | None) -> dict[str, Any]:
    """Return a page of tools as the `mcp` package accepts it: for one invalid tool it would refuse all.

    A tool that it does not accept is marked with its problem. A schema without a type gets the only one
    that is allowed.

    Args:
        page: the server's answer.
        version: the version of the protocol.
    """
    tools = [_add_type(tool) for tool in page['tools']]
    page = {**page, 'tools': tools}
    if not _find_page_problem(page, version) or _find_page_problem({**page, 'tools': []}, version):
        return page
    marked = [_mark(tool, _find_page_problem({**page, 'tools': [tool]}, version)) for tool in tools]
    return {**page, 'tools': marked}


def _add_type(tool: Any) -> Any:
    schema = tool.get('inputSchema') if isinstance(tool, Mapping) else None
    if not isinstance(schema, Mapping) or 'type' in schema:
        return tool
    return {**tool, 'inputSchema': {'type': 'object', **schema}}


def _find_page_problem(page: Mapping[str, Any], version: str | None) -> str:
    from mcp_types import methods

    try:
        methods.parse_server_result('tools/list', version or '2025-11-25', page)
    except KeyError:  # A version without it.
        return ''
    except ValueError as error:
        return describe_error(error).removeprefix('tools.0').lstrip('.: ')
    return ''


def _mark(tool: Any, problem: str) -> Any:
    if not problem:
        return tool
    name = tool.get('name') if isinstance(tool, Mapping) else None
    known = name if isinstance(name, str) else '(a tool without a name)'
    return {'name': known, 'inputSchema': {'type': 'object'}, '_meta': {PROBLEM: problem}}


def find_problems(tools: Iterable[types.Tool]) -> dict[str, str]:
    """Return why tools cannot be used, by name. A schema that is new takes about 10 ms.

    Once `CHECK_SECONDS` have passed, schemas are no longer checked.
    """
    until = time.monotonic() + CHECK_SECONDS
    problems = dict[str, str]()
    for tool in tools:
        problem = str((tool.meta or {}).get(PROBLEM, ''))
        if not problem and time.monotonic() < until and not is_too_large(tool.input_schema):
            problem = _find_schema_problem(json.dumps(tool.input_schema))
        if problem:
            problems[tool.name] = clip(problem, MAX_PROBLEM)
    return problems


@lru_cache(maxsize=4_096)
def _find_schema_problem(text: str) -> str:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    schema = json.loads(text)
    for keyword in REFUSED_AT_THE_TOP:
        if keyword in schema:
            return f'its schema has {keyword} at the top, which providers of models refuse'
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = '.'.join(map(str, error.absolute_path))
        return f'its schema is not valid at {place}: {error.message}'
    resolver = Registry().with_resource('', DRAFT202012.create_resource(schema)).resolver()
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return f'its schema refers to {reference}, which it does not define'
    return ''


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        if isinstance(reference := schema.get('$ref'), str):
            yield reference
        for keyword, item in schema.items():
            if keyword not in VALUES:
                yield from _references(item)


def sanitize(server: str, tool: str, taken: Container[str] = (), servers: Iterable[str] = ()) -> str:
    """Return a name that every provider accepts: server, tool, and a digest if that alone will not do.

    It depends on neither the order nor the other tools of servers: whoever stored it finds the same tool.

    Args:
        server: the server's name.
        tool: the tool's own name.
        taken: the names of built-in tools.
        servers: the names of all servers; `a` and `a_b` could both have a tool called `a_b_c`.
    """
    whole = f'{server}_{tool}'
    plain = re.sub(r'[^A-Za-z0-9_-]', '_', whole)
    is_another = any(len(other) > len(server) and plain.startswith(f'{other}_') for other in servers)
    if (
        len(plain) <= MAX_TOOL_NAME
        and plain == whole
        and not (plain in taken or is_another or DIGEST.search(plain))
    ):
        return plain
    digest = f'{zlib.crc32(f"{server}/{tool}".encode()):08x}'
    return f'{plain[: MAX_TOOL_NAME - len(digest) - 1]}_{digest}'
