"""Takes: one recorded exchange each, with what a request is found by again; and how they are read."""

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
from engine.wire.endpoint import Endpoint

PACKED = 'base64:'
IDS = frozenset({'id', 'tool_call_id', 'tool_use_id'})
"""Where the ids of calls stand in a request. Ours number the steps of a run, which agents that work side by
side take in another order each time."""
AS_THEY_ARE = frozenset({'input', 'tools', 'response_format', 'output_config'})
"""Parts of a request in which an `id` is somebody else's word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """Whose call it is."""

    state: str = ''
    """The state of the run that made it."""
    step: int = 0
    """The step that entered this state."""
    model: str = ''
    """Its name in the run, and at its endpoint."""
    wire: str = ''
    endpoint: Mapping[str, Any] = field(default_factory=dict)
    """The endpoint's ways, without its secrets: a replay needs no other configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Take(Label):
    """One exchange."""

    key: str
    """A digest of the method, the address and the body."""
    method: str
    url: str
    """Without its query."""
    body: Any
    """The request's JSON. Its headers are not kept: a key is among them."""
    status: int
    headers: Mapping[str, str]
    pieces: tuple[tuple[float, str], ...] = ()
    """Seconds since the request, and the bytes: text where they are text, else base64 after `base64:`."""
    end: str = ''
    """How it broke off: '' is a clean end, `left` that the reader had enough, else the connection's error."""


def label_of(endpoint: Endpoint, wire: str, model: str, state: str, step: int) -> Label:
    """A label for a call."""
    hidden = ('key', 'headers', 'query', 'secrets', 'models')
    ways = {
        item.name: value
        for item in fields(endpoint)
        if item.name not in hidden and (value := getattr(endpoint, item.name)) != item.default
    }
    ways['url'] = _bare(httpx.URL(endpoint.url))
    return Label(state=state, step=step, model=model, wire=wire, endpoint=ways)


def _bare(url: httpx.URL) -> str:
    """An address without what may be secret in it."""
    return str(url.copy_with(query=None, userinfo=b''))


async def asked(request: httpx.Request, hide: Callable[[str], str]) -> dict[str, Any]:
    """What is kept of a request: `method`, `url`, `body`, and the `key` that it is found by."""
    content = hide((await request.aread()).decode('utf-8', 'replace'))
    try:
        body = json.loads(content) if content else None
    except ValueError:
        body = content
    url = hide(_bare(request.url))
    exact = json.dumps([request.method, url, numbered(body)], sort_keys=True)
    key = hashlib.sha256(exact.encode()).hexdigest()[:16]
    return {'key': key, 'method': request.method, 'url': url, 'body': body}


def numbered(body: Any) -> Any:
    """A request's body with the ids of calls as numbers, in the order of their first appearance."""
    known: dict[str, str] = {}

    def turned(value: Any) -> Any:
        if isinstance(value, list):
            return [turned(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: known.setdefault(item, f'#{len(known) + 1}')
            if name in IDS and isinstance(item, str)
            else item
            if name in AS_THEY_ARE
            else turned(item)
            for name, item in value.items()
        }

    return turned(body)


def lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The whole lines of a recording, and what they say; the beginning of one at its end was never finished.

    Raises:
        EngineError: it cannot be read.
    """
    try:
        with path.open('rb') as file:
            for line in file:
                if line.endswith(b'\n'):
                    yield line, dict(orjson.loads(line))
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(f'the recording {path} cannot be read: {error}') from None


def takes(path: Path) -> list[Take]:
    """All of a recording. Raises `EngineError`."""
    try:
        return [
            Take(**{**made, 'pieces': tuple((at, piece) for at, piece in made['pieces'])})
            for _, made in lines(path)
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise EngineError(f'the recording {path} cannot be read: {error}') from None


def packed(
    pieces: Sequence[tuple[float, bytes]], hide: Callable[[str], str]
) -> tuple[tuple[float, str], ...]:
    """Pieces as they are kept; as one where a secret is in them, for it may be cut in the middle."""
    whole = b''.join(piece for _, piece in pieces).decode('utf-8', 'surrogateescape')
    if (hidden := hide(whole)) != whole:
        pieces = [(pieces[-1][0], hidden.encode('utf-8', 'surrogateescape'))]
    return tuple((at, _text(piece)) for at, piece in pieces)


def unpacked(piece: str) -> bytes:
    """The bytes of a piece."""
    return base64.b64decode(piece.removeprefix(PACKED)) if piece.startswith(PACKED) else piece.encode()


def _text(piece: bytes) -> str:
    try:
        text = piece.decode('utf-8')
    except ValueError:
        text = PACKED  # Split inside a character.
    return f'{PACKED}{base64.b64encode(piece).decode()}' if text.startswith(PACKED) else text
