"""Asks for uncompressed answers: a few compressed bytes can expand to more than memory holds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx

from engine.errors import ModelError

CODING_HEADERS = {'accept-encoding': 'identity'}
ACCEPTED_CODINGS = ('', 'identity', 'gzip', 'deflate')
"""Accepted codings, since some servers compress anyway; one alone makes at most a thousand bytes of one."""


def coding_problem(headers: Mapping[str, str]) -> str:
    """Return why an answer with these headers must not be decompressed, or ''."""
    coding = headers.get('content-encoding', '').strip().lower()
    if coding in ACCEPTED_CODINGS:
        return ''
    return f'its answer is compressed with {coding[:MAX_CODING]}, which was not requested'


async def bound_body(response: httpx.Response) -> httpx.Response:
    """Return a response; without its body if it reports an error in a coding that is not accepted.

    Raises:
        ModelError: a successful answer has a coding that is not accepted.
    """
    problem = coding_problem(response.headers)
    if not problem:
        return response
    await response.aclose()
    if response.is_success:
        raise ModelError(problem, kind='bad response')
    headers = [(name, value) for name, value in response.headers.multi_items() if name != 'content-encoding']
    return httpx.Response(response.status_code, headers=headers, content=b'')


def body_pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Return a body's pieces, decompressed; straight from the connection if they need not be."""
    coding, stream = response.headers.get('content-encoding', ''), response.stream
    if coding or not isinstance(stream, httpx.AsyncByteStream):
        return response.aiter_bytes()
    return aiter(stream)


MAX_CODING = 100
"""Maximum characters shown of a coding."""
