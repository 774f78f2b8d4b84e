"""The headers of every answer, and the nonce of a page's scripts."""

from __future__ import annotations

import re

import httpx
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ui.server.headers import HEADERS, SafeHeaders

PAGE = '<head><script>a()</script><SCRIPT type="module" src="x"></script></head><body>&lt;script&gt;</body>'


async def ask(path: str, base: str = 'http://127.0.0.1') -> httpx.Response:
    app = Starlette(
        routes=[
            Route('/page', lambda request: HTMLResponse(PAGE)),
            Route('/data', lambda request: JSONResponse({'text': '<script>'})),
            Route('/file', lambda request: Response('x', headers={'Content-Security-Policy': 'sandbox'})),
            Route('/style', lambda request: Response('x', media_type='text/css')),
        ]
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(SafeHeaders(app)), base_url=base) as client:
        return await client.get(path)


async def test_only_a_pages_own_scripts_get_its_nonce() -> None:
    one, other = await ask('/page'), await ask('/page')
    nonces = [
        re.findall(r"'nonce-([^']+)'", item.headers['content-security-policy']) for item in (one, other)
    ]
    assert len(nonces[0]) == 1 and nonces[0] != nonces[1]
    assert one.text.count(f'nonce="{nonces[0][0]}"') == 2
    assert one.text.endswith('<body>&lt;script&gt;</body>')
    assert "'unsafe-inline'" not in re.findall(r'script-src[^;]*', one.headers['content-security-policy'])[0]


async def test_data_and_files_run_nothing() -> None:
    assert 'sandbox' in (await ask('/data')).headers['content-security-policy']
    assert (await ask('/data')).json() == {'text': '<script>'}
    assert (await ask('/file')).headers['content-security-policy'] == 'sandbox'


async def test_every_answer_has_the_headers() -> None:
    for path in ('/page', '/data', '/file', '/nowhere'):
        headers = (await ask(path)).headers
        assert {name: headers.get(name) for name in HEADERS} == dict(HEADERS)
        assert 'strict-transport-security' not in headers
    assert 'strict-transport-security' in (await ask('/page', 'https://hemicycle.example')).headers


async def test_pages_of_runs_are_not_cached() -> None:
    for path in ('/page', '/data', '/file', '/nowhere'):
        assert (await ask(path)).headers['cache-control'] == 'no-store', path
    assert 'cache-control' not in (await ask('/style')).headers


async def test_no_page_can_be_framed() -> None:
    for path in ('/page', '/data'):
        headers = (await ask(path)).headers
        assert headers['x-frame-options'] == 'DENY'
        assert "frame-ancestors 'none'" in headers['content-security-policy']
