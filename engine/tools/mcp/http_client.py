"""The HTTP client of MCP connections: a failed request gets an error response and affects no other."""

from __future__ import annotations

import json
from typing import Any

import httpx2
from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT
from typing_extensions import override

from engine.models.http.content_coding import CODING_HEADERS, coding_problem
from engine.records.jsonable import describe_error
from engine.tools.mcp.config import MAX_MESSAGE_BYTES
from engine.tools.mcp.line_limit import EVENTS, replace_lone_surrogates

BROKEN_OFF = -32097
"""The error code for a request that was interrupted."""
REFUSED, NOT_FOUND = -32603, -32601
"""The package's error codes for a request that was refused or not sent."""
HINTS = {
    401: ': it needs a key, refuses the one in `headers`, or needs `oauth = true`',
    403: ': the key in `headers` does not allow this',
    404: ': is the address right?',
}
CODING = ('content-encoding', 'content-length', 'transfer-encoding')


class BoundedClient(httpx2.AsyncClient):
    """Reads only the parts of a response that are needed, up to a size limit.

    Args:
        headers: headers sent with each request.
        auth: signs requests.
    """

    def __init__(self, headers: dict[str, str], auth: httpx2.Auth | None = None) -> None:
        timeout = httpx2.Timeout(MCP_DEFAULT_TIMEOUT, read=MCP_DEFAULT_SSE_READ_TIMEOUT)
        hooks = {'response': [_leave_unread]}
        super().__init__(headers={**CODING_HEADERS, **headers}, auth=auth, timeout=timeout, event_hooks=hooks)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request, and read its answer if that is JSON."""
        response = await super().send(request, **{**options, 'stream': True})
        if problem := coding_problem(response.headers):
            await response.aclose()
            return _error(request, problem)
        kind = response.headers.get('content-type', '').lower()
        if kind.startswith('application/json'):
            return await _whole(response)
        if kind.startswith('text/event-stream'):
            response.encoding = EVENTS
        if not options.get('stream'):
            await response.aread()
        return response


class HttpClient(BoundedClient):
    """Turns failed requests into protocol errors.

    The package would close the connection instead, and with it all calls in progress.
    """

    @override
    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if request.method != 'POST':
            return await super().send(request, **options)
        try:
            response = await super().send(request, **options)
        except httpx2.HTTPError as error:
            failed = error.request if isinstance(error, httpx2.RequestError) else request
            if failed is not request and failed.url.host:  # Signing in failed: the call itself was not sent.
                problem = f'{failed.url.host} did not answer while signing in: {describe_error(error)}'
                return _error(request, problem, REFUSED)
            return _error(request, describe_error(error))
        except Exception as error:  # Signing in has failed: the package's errors, or ours.
            return _error(request, describe_error(error), REFUSED)
        # The package treats a 404 as the end of a session, and reports no other status.
        ended = response.status_code == 404 and 'mcp-session-id' in request.headers
        if response.status_code < 400 or ended or _is_explained(response):
            return response
        await response.aclose()
        status = f'HTTP {response.status_code} {response.reason_phrase}'.strip()
        problem = f'it answered with {status}{HINTS.get(response.status_code, "")}'
        return _error(request, problem, NOT_FOUND if response.status_code == 404 else REFUSED)


async def _leave_unread(response: httpx2.Response) -> None:
    """Drop the body of a response if only its headers matter: the body may be endless."""
    if response.has_redirect_location or response.request.method == 'DELETE':
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        await response.stream.aclose()
        response.stream = httpx2.ByteStream(b'')
        response.headers.pop('content-encoding', None)


async def _whole(response: httpx2.Response) -> httpx2.Response:
    if response.next_request is not None:
        return response
    body = bytearray()
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_MESSAGE_BYTES:
                return _error(response.request, f'its answer is longer than {MAX_MESSAGE_BYTES:,} bytes')
    finally:
        await response.aclose()
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in CODING]
    content = replace_lone_surrogates(body.decode('utf-8', 'replace')).encode()
    status = response.status_code
    return httpx2.Response(status, headers=headers, content=content, request=response.request)


def _is_explained(response: httpx2.Response) -> bool:
    """Return whether a response is a protocol error."""
    if not response.is_closed:
        return False
    try:
        message = json.loads(response.content)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and isinstance(message.get('error'), dict)


def _error(request: httpx2.Request, problem: str, code: int = BROKEN_OFF) -> httpx2.Response:
    message = {'jsonrpc': '2.0', 'id': None, 'error': {'code': code, 'message': problem}}
    kind = {'content-type': 'application/json'}
    return httpx2.Response(502, headers=kind, content=json.dumps(message).encode(), request=request)
