"""Answers are asked for as they are: a few compressed bytes can become more than memory holds."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from engine.errors import ModelError

ASKED = {'accept-encoding': 'identity'}
TAKEN = ('', 'identity', 'gzip', 'deflate')
"""Some servers compress what was not to be compressed; these, alone, make at most a thousand bytes of one."""


def coding_problem(headers: Mapping[str, str]) -> str:
    """Why an answer with these headers must not be decompressed, or ''."""
    coding = headers.get('content-encoding', '').strip().lower()
    return '' if coding in TAKEN else f'it answers compressed by {coding[:MAX_NAME]}, which was not asked for'


async def bound_body(response: httpx.Response) -> httpx.Response:
    """A response, whose body is left out if it is compressed too well and it tells of an error.

    Raises:
        ModelError: it is an answer that is compressed too well.
    """
    problem = coding_problem(response.headers)
    if not problem:
        return response
    await response.aclose()
    if response.is_success:
        raise ModelError(problem, kind='bad response')
    headers = [(name, value) for name, value in response.headers.multi_items() if name != 'content-encoding']
    return httpx.Response(response.status_code, headers=headers, content=b'')


MAX_NAME = 100
"""Maximum characters shown of how an answer is compressed."""
