"""A scripted model provider for real agents: OpenAI's chat completions over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.servers.http_server import Answer


@dataclass
class Provider:
    """Calls one tool in the first reply of a conversation, and says something in the second.

    Args:
        tool: the tool's name, and its arguments.
    """

    tool: tuple[str, dict[str, Any]]

    def reply(self, method: str, path: str, body: Any) -> Answer:
        """The answer to a request."""
        if path != '/v1/chat/completions':
            return 404, {}, b'{"error": {"message": "there is nothing here"}}'
        return 200, {'Content-Type': 'text/event-stream'}, ''.join(self._lines(body)).encode()

    def _lines(self, body: dict[str, Any]) -> Iterator[str]:
        name, arguments = self.tool
        offered = [tool['function']['name'] for tool in body.get('tools', [])]
        had = any(message['role'] == 'tool' for message in body['messages'])
        call = {
            'index': 0, 'id': 'call_1', 'type': 'function',
            'function': {'name': name, 'arguments': json.dumps(arguments)},
        }  # fmt: skip
        yield _line({'role': 'assistant', 'content': ''})
        if name in offered and not had:
            yield _line({'content': 'I will do it. '})
            yield _line({'tool_calls': [call]})
            yield _line({}, 'tool_calls', {'prompt_tokens': 10, 'completion_tokens': 5, 'total_tokens': 15})
        else:
            for word in ('All', ' done', '.'):
                yield _line({'content': word})
            yield _line({}, 'stop', {'prompt_tokens': 20, 'completion_tokens': 7, 'total_tokens': 27})
        yield 'data: [DONE]\n\n'


def _line(delta: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> str:
    chunk: dict[str, Any] = {
        'id': 'x', 'object': 'chat.completion.chunk', 'created': 1, 'model': 'm',
        'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}],
    }  # fmt: skip
    return f'data: {json.dumps({**chunk, **({"usage": usage} if usage else {})})}\n\n'
