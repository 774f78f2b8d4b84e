"""A lazy application is built once, for its first request."""

import asyncio

import httpx
import pytest
from starlette.responses import PlainTextResponse

from ui.server.lazy_app import LazyApp


async def test_a_lazy_app_is_built_once() -> None:
    built = []

    def build() -> PlainTextResponse:
        built.append('built')
        return PlainTextResponse('here')

    app = LazyApp(build)
    assert built == []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url='http://here') as client:
        answers = await asyncio.gather(*(client.get('/') for _ in range(5)))
    assert [answer.text for answer in answers] == ['here'] * 5 and built == ['built']


async def test_a_failed_build_is_retried() -> None:
    tries = []

    def build() -> PlainTextResponse:
        tries.append('try')
        if len(tries) == 1:
            raise OSError('no room')
        return PlainTextResponse('here')

    async with httpx.AsyncClient(transport=httpx.ASGITransport(LazyApp(build)), base_url='http://here') as it:
        with pytest.raises(OSError, match='no room'):
            await it.get('/')
        assert (await it.get('/')).text == 'here'
