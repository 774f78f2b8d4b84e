"""Recorded exchanges: requests with their responses, and the key by which a request is found."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import httpx
import orjson

from engine.errors import EngineError
from engine.models.endpoint import Endpoint

TLS = ('ca', 'certificate', 'certificate_key', 'certificate_password')
"""Fields of an endpoint that are needed only to connect to it, which a replay does not do."""
BASE64_PREFIX = 'base64:'
IDS = frozenset({'id', 'call_id', 'tool_call_id', 'tool_use_id'})
"""Fields of a request that hold call ids. Our ids number the steps of a run, and the order of the steps
varies when agents run in parallel."""
UNNUMBERED_FIELDS = frozenset(
    {'input', 'tools', 'response_format', 'output_config', 'args', 'response', 'generationConfig'}
)
"""Parts of a request in which `id` is not a call id. Exception: an `input` that is a list is a Responses
conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLabel:
    """Identifies the caller."""

    state: str = ''
    """The state of the run that made the call."""
    step: int = 0
    """The step that entered this state."""
    model: str = ''
    """The model's name in the run, and at its endpoint."""
    wire: str = ''
    endpoint: Mapping[str, Any] = field(default_factory=dict)
    """The endpoint's quirks without its secrets: a replay needs no other configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange(CallLabel):
    """A request to a model with its response, as recorded."""

    key: str
    """Digest of the method, URL and body."""
    method: str
    url: str
    """Without the query."""
    body: Any
    """The request's JSON. Headers are not recorded, since they contain the API key."""
    status: int
    headers: Mapping[str, str]
    pieces: tuple[tuple[float, str], ...] = ()
    """Pairs of seconds since the request and data: text, or base64 after `base64:` if it is not text."""
    end: str = ''
    """How the body ended: '' if cleanly, `left` if the reader stopped, otherwise the connection error."""


def label_call(endpoint: Endpoint, wire: str, model: str, state: str, step: int) -> CallLabel:
    """Return the label for a recorded call: who made it, and the endpoint's settings but no secrets."""
    hidden = ('key', 'headers', 'query', 'secrets', 'models', *TLS)
    settings = {
        item.name: value
        for item in fields(endpoint)
        if item.name not in hidden and (value := getattr(endpoint, item.name)) != item.default
    }
    settings['url'] = _bare(httpx.URL(endpoint.url))
    return CallLabel(state=state, step=step, model=model, wire=wire, endpoint=settings)


def _bare(url: httpx.URL) -> str:
    """Return a URL without anything that may be secret."""
    return str(url.copy_with(query=None, userinfo=b''))


async def describe_request(request: httpx.Request, hide: Callable[[str], str]) -> dict[str, Any]:
    """Return the recorded parts of a request: `method`, `url`, `body`, and the `key` to look it up."""
    content = hide((await request.aread()).decode('utf-8', 'replace'))
    try:
        body = json.loads(content) if content else None
    except ValueError:
        body = content
    url = hide(_bare(request.url))
    exact = json.dumps([request.method, url, number_ids(body)], sort_keys=True)
    key = hashlib.sha256(exact.encode()).hexdigest()[:16]
    return {'key': key, 'method': request.method, 'url': url, 'body': body}


def number_ids(body: Any) -> Any:
    """Replace the call ids in a request body with numbers in order of first appearance."""
    numbers: dict[str, str] = {}

    def replace_ids(value: Any) -> Any:
        if isinstance(value, list):
            return [replace_ids(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: numbers.setdefault(item, f'#{len(numbers) + 1}')
            if name in IDS and isinstance(item, str)
            else item
            if name in UNNUMBERED_FIELDS and not (name == 'input' and isinstance(item, list))
            else replace_ids(item)
            for name, item in value.items()
        }

    return replace_ids(body)


def read_lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield the complete lines of a recording, raw and parsed; an unfinished last line is ignored.

    Raises:
        EngineError: the recording cannot be read.
    """
    try:
        with path.open('rb') as file:
            for line in file:
                if line.endswith(b'\n'):
                    yield line, dict(orjson.loads(line))
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(f'the recording {path} cannot be read: {error}') from None


def read_exchanges(path: Path) -> list[Exchange]:
    """Read a whole recording. Raises `EngineError`."""
    try:
        return [
            Exchange(**{**fields, 'pieces': tuple((at, piece) for at, piece in fields['pieces'])})
            for _, fields in read_lines(path)
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise EngineError(f'the recording {path} cannot be read: {error}') from None


def pack(pieces: Sequence[tuple[float, bytes]], hide: Callable[[str], str]) -> tuple[tuple[float, str], ...]:
    """Encode pieces for storage; they are joined if they hold a secret, which may span pieces."""
    whole = b''.join(piece for _, piece in pieces).decode('utf-8', 'surrogateescape')
    if (hidden := hide(whole)) != whole:
        pieces = [(pieces[-1][0], hidden.encode('utf-8', 'surrogateescape'))]
    return tuple((at, _encode_piece(piece)) for at, piece in pieces)


def unpack(piece: str) -> bytes:
    """Return the bytes of a piece as they were received."""
    return (
        base64.b64decode(piece.removeprefix(BASE64_PREFIX))
        if piece.startswith(BASE64_PREFIX)
        else piece.encode()
    )


def _encode_piece(piece: bytes) -> str:
    try:
        text = piece.decode('utf-8')
    except ValueError:
        text = BASE64_PREFIX  # Split inside a character.
    return f'{BASE64_PREFIX}{base64.b64encode(piece).decode()}' if text.startswith(BASE64_PREFIX) else text
