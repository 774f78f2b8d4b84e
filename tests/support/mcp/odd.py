"""A hand-written MCP server of protocol 2025-11-25 whose answers to single calls are odd: `odd.py`.

Its `wait` answers once `free` has been called on the same connection. The answer to the method named on the
command line is an endless line; if it is named `flawed`, some of its tools are, and its list never ends.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn

NAMES = (
    'wait', 'free', 'plain', 'malformed', 'unfit', 'bad_schema', 'refused', 'bytes', 'garbage', 'endless',
    'task', 'long', 'half', 'listed',
)  # fmt: skip
CHANGE = ('plain', 'long', 'endless')
FIT = {'type': 'object', 'properties': {'a': {'type': 'integer'}}, 'required': ['a']}
NO_SCHEMA = {'type': 'object', 'properties': {'a': {'type': 'no such type'}}}
SCHEMAS = {'unfit': FIT, 'bad_schema': NO_SCHEMA}
CODE = -32000
"""Many servers use it for any error; the package uses it for a closed connection."""


def tools() -> list[dict[str, Any]]:
    """The tools, most of which claim to be read-only."""
    return [
        {
            'name': name,
            'inputSchema': {'type': 'object'},
            'annotations': {'readOnlyHint': name not in CHANGE, 'destructiveHint': False},
            **({'outputSchema': SCHEMAS[name]} if name in SCHEMAS else {}),
            **({'execution': {'taskSupport': 'required'}} if name in ('task', 'long') else {}),
        }
        for name in NAMES
    ]


def flawed() -> list[Any]:
    """Tools, some of which cannot be used: by the protocol, or because no model accepts their schemas."""
    good = {'name': 'good', 'inputSchema': {'type': 'object'}}
    schemas: dict[str, Any] = {
        'typeless': {'properties': {'a': {}}},
        'none': None,
        'array': {'type': 'array'},
        'dangling': {'type': 'object', 'properties': {'a': {'$ref': '#/$defs/B'}}},
        'all': {'type': 'object', 'allOf': [{'required': ['a']}]},
    }
    odd: list[Any] = [{'name': name, 'inputSchema': schema} for name, schema in schemas.items()]
    return [*odd, {**good, 'annotations': 7}, 'text', {**good, 'name': 'fine'}]


def greeting() -> dict[str, Any]:
    """The answer to `initialize`."""
    tasks = {'requests': {'tools': {'call': {}}}}
    return {
        'protocolVersion': '2025-11-25',
        'capabilities': {'tools': {}, 'tasks': tasks},
        'serverInfo': {'name': 'odd', 'version': '1'},
    }


def state(status: str) -> dict[str, Any]:
    """Return the state of a task."""
    stamps = {'createdAt': '2025-11-25T10:00:00Z', 'lastUpdatedAt': '2025-11-25T10:00:00Z', 'ttl': 60_000}
    return {**stamps, 'taskId': 't', 'status': status, 'pollInterval': 50}


def answer_call(name: str) -> dict[str, Any]:
    """The answer to a tool call."""
    match name:
        case 'malformed' | 'listed':
            return {'result': {'content': 5} if name == 'malformed' else []}
        case 'task':
            return {'result': {'task': 5}}
        case 'long':
            return {'result': {'task': state('working')}}
        case 'unfit' | 'bad_schema':
            return {'result': {'content': [], 'structuredContent': {'a': 'text'}}}
        case 'refused':
            return {'error': {'code': CODE, 'message': 'the printer is out of paper'}}
    more = '\ud83d, whole \U0001f600' if name == 'half' else os.getpid()
    return {'result': {'content': [{'type': 'text', 'text': f'{name} {more}'}]}}


def flood() -> NoReturn:
    """Write an endless line."""
    while True:
        sys.stdout.buffer.write(b'x' * 1_000_000)


def deep(ident: Any) -> bytes:
    """A list of tools with a schema of 5,000 levels."""
    schema = b'{"type": "object", "properties": {"a": ' * 5_000 + b'{}' + b'}}' * 5_000
    tool = b'{"name": "deep", "inputSchema": %b}' % schema
    return b'{"jsonrpc": "2.0", "id": %b, "result": {"tools": [%b]}}' % (json.dumps(ident).encode(), tool)


def main() -> None:  # noqa: C901  (a list of methods)
    """Answer line by line."""
    waiting: list[Any] = []
    free = False
    for line in sys.stdin:
        message = json.loads(line)
        ident, method = message.get('id'), message.get('method')
        if ident is None:
            continue
        name = message.get('params', {}).get('name', '')
        match method:
            case 'initialize':
                answer: dict[str, Any] = {'result': greeting()}
            case 'tools/list' if 'flawed' in sys.argv:
                answer = {'result': {'tools': flawed(), 'nextCursor': 'again'}}
            case 'tools/list':
                answer = {'result': {'tools': tools()}}
            case 'tools/call':
                answer = answer_call(name)
            case _:
                answer = {'error': {'code': -32601, 'message': f'no {method}'}}
        free = free or name == 'free'
        if name == 'wait' and not free:
            waiting.append((ident, answer))
            continue
        if name == 'bytes':
            sys.stdout.buffer.write(b'\xff\xfe caf\xe9\n')
        if name == 'garbage':
            sys.stdout.buffer.write(b'<html>\n{"jsonrpc": 7}\n')
        if name == 'endless' or method in sys.argv:
            flood()
        if method == 'tools/list' and 'deep' in sys.argv:
            sys.stdout.buffer.write(deep(ident) + b'\n')
            sys.stdout.buffer.flush()
            continue
        for key, answer_body in [(ident, answer), *(waiting if free else ())]:
            sys.stdout.buffer.write(json.dumps({'jsonrpc': '2.0', 'id': key, **answer_body}).encode() + b'\n')
            sys.stdout.buffer.flush()
        waiting = [] if free else waiting


if __name__ == '__main__':
    main()
