"""The cost of pages: none for other sites, few waiting for a browser, closed ones freed."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import AsyncIterator

import httpx
import pytest
from nicegui import Client, app
from nicegui.testing import User

from engine import LocalConductor
from tests.support.harness import until
from ui.app.backend import Backend
from ui.server import clients
from ui.server.app import PAGES
from ui.server.clients import (
    COLLECT_AFTER,
    COLLECT_PAUSE_FACTOR,
    MAX_DISCONNECTED,
    MAX_WAITING,
    HeadRequests,
    OwnRequests,
    free_closed_pages,
)
from ui.web.components import theme


@pytest.fixture
async def browser(user: User) -> AsyncIterator[httpx.AsyncClient]:
    theme.serve_assets()
    backend = Backend()
    for page in PAGES:
        page.register(backend)
    transport = httpx.ASGITransport(app=OwnRequests(HeadRequests(app)))
    async with (
        LocalConductor() as conductor,
        httpx.AsyncClient(transport=transport, base_url='http://localhost') as client,
    ):
        backend.open(conductor)
        yield client


@pytest.mark.parametrize('site', ['cross-site', 'same-site'])
@pytest.mark.parametrize(('mode', 'dest'), [('no-cors', 'image'), ('cors', 'empty'), ('navigate', 'iframe')])
async def test_requests_from_another_site_create_no_page(
    browser: httpx.AsyncClient, site: str, mode: str, dest: str
) -> None:
    before = len(Client.instances)
    headers = {'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode, 'Sec-Fetch-Dest': dest}
    for path in ('/', '/runs', '/nowhere'):
        assert (await browser.get(path, headers=headers)).status_code == 403
    assert len(Client.instances) == before


@pytest.mark.parametrize('site', ['cross-site', 'none', 'same-origin'])
async def test_a_link_to_a_page_is_followed(browser: httpx.AsyncClient, site: str) -> None:
    headers = {'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document'}
    response = await browser.get('/runs', headers=headers)
    assert response.status_code == 200


async def test_a_head_request_creates_no_page(browser: httpx.AsyncClient) -> None:
    before = len(Client.instances)
    for path, status in (('/runs', 200), ('/runs/some', 200), ('/nowhere', 404)):
        response = await browser.head(path)
        assert (response.status_code, response.content) == (status, b'')
    assert len(Client.instances) <= before + 1  # for the unknown address


async def test_the_number_of_unconnected_pages_is_limited(browser: httpx.AsyncClient) -> None:
    first = await browser.get('/runs')
    assert first.status_code == 200
    for _ in range(MAX_WAITING + 5):
        assert (await browser.get('/nowhere')).status_code == 404
    assert sum(not client.has_socket_connection for client in Client.instances.values()) <= MAX_WAITING + 1


async def test_the_number_of_pages_whose_browser_is_gone_is_limited(browser: httpx.AsyncClient) -> None:
    opened = []
    for number in range(MAX_DISCONNECTED + 3):
        await browser.get('/runs')
        client = [*Client.instances.values()][-1]
        await client.handle_handshake(f's{number}', f't{number}', None, f'd{number}', None)
        client.handle_disconnect(f's{number}')
        opened.append(client)
    assert [client.is_deleted for client in opened] == [True] * 2 + [False] * (MAX_DISCONNECTED + 1)
    await opened[-1].handle_handshake('back', 'tab', None, f'd{MAX_DISCONNECTED + 2}', None)
    for _ in range(MAX_DISCONNECTED + 3):
        await browser.get('/runs')
    assert not opened[-1].is_deleted  # its browser came back


async def test_closed_pages_are_freed(browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, 'COLLECT_SECONDS', 1.0)
    free_closed_pages()
    gc.disable()
    try:
        created = []
        for _ in range(COLLECT_AFTER):
            await browser.get('/runs')
            created.append([*Client.instances][-1])
        references = [
            weakref.ref(element) for name in created for element in Client.instances[name].elements.values()
        ]
        for name in created:
            Client.instances[name].delete()
        await until(lambda: all(item() is None for item in references))
    finally:
        gc.enable()


async def test_collections_that_take_long_are_rare(
    browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected = []

    async def close_pages() -> None:
        for _ in range(COLLECT_AFTER):
            await browser.get('/runs')
            Client.instances[[*Client.instances][-1]].delete()

    def collect() -> None:
        collected.append(time.monotonic())
        time.sleep(0.01)  # as with a few dozen runs at work

    free_closed_pages()
    monkeypatch.setattr(gc, 'collect', collect)
    await close_pages()
    await until(lambda: collected)
    await close_pages()
    await until(lambda: len(collected) > 1)
    assert collected[1] - collected[0] > 0.01 * COLLECT_PAUSE_FACTOR
