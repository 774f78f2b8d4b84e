"""One exchange between the client and a scripted server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import httpx

from engine.models.protocol import Timeouts
from tests.models.reading import SHORT, CallResult, endpoint, make_request, read
from tests.models.server import Script, answering, serving
from tests.models.speech import Speech


@contextlib.asynccontextmanager
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        yield http


async def serve_and_read(speech: Speech, script: Script, timeouts: Timeouts = SHORT) -> CallResult:
    async with serving(script) as server, client() as http:
        return await read(http, endpoint(speech.dialect, server.url), make_request(timeouts=timeouts))


async def serve_stream(speech: Speech, *pieces: bytes) -> CallResult:
    return await serve_and_read(speech, answering(*pieces))
