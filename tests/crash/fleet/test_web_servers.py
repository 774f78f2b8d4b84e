"""Several web servers behind a real proxy: each shows every run, and pages of a killed one are reloaded."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, Process, free_port, is_open, launch, until
from tests.support.pages import chromium
from tests.support.servers.certificates import write_certificates
from tests.support.servers.nginx import nginx, write_configuration

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.browser]
SAID = '.visually-hidden[aria-live=polite]'
SECRET = 'a secret that all web servers of a fleet share'


@dataclass(slots=True)
class Site:
    """Two web servers behind nginx, each with its own home, as on two machines."""

    url: str
    servers: list[Process]
    log: Path

    def drew(self, path: str) -> list[str]:
        """The addresses of the servers that drew a page, in order."""
        lines = (line.split() for line in self.log.read_text().splitlines())
        return [words[0] for words in lines if words[-1] == path]


@pytest.fixture
async def site(fleet: Fleet, tmp_path: Path) -> AsyncIterator[Site]:
    if nginx() is None:
        pytest.skip('nginx is not installed')
    folder, port = tmp_path / 'proxy', free_port()
    folder.mkdir()
    url = f'https://127.0.0.1:{port}'
    servers = []
    for name in ('one', 'two'):
        own = {'HEMICYCLE_HOME': str(fleet.home / name), 'HEMICYCLE_SECRET': SECRET}
        shared = {'HEMICYCLE_FLEET_TOKEN': 'a token of the whole fleet'}
        servers.append(await fleet.web('--url', url, **own, **shared))
    addresses = [server.url.removeprefix('http://') for server in servers]
    command = write_configuration(
        folder,
        write_certificates(folder),
        name='nginx-fleet.conf',
        port=port,
        plain=free_port(),
        servers={f'10.0.0.2{number}:8080': address for number, address in enumerate(addresses, start=1)},
    )
    proxy = subprocess.Popen(command)  # noqa: ASYNC220  (it does not wait)
    try:
        await until(lambda: is_open(port), 'the proxy listens')
        yield Site(url, servers, folder / 'access.log')
    finally:
        proxy.terminate()
        proxy.wait(30)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        yield browser
        await browser.close()


async def pages_of_both(site: Site, browser: Browser, path: str) -> list[Page]:
    """Open pages until each server has drawn one."""
    pages: list[Page] = []
    while len(set(site.drew(path))) < 2:
        assert len(pages) < 12, 'all browsers reach one server'
        context = await browser.new_context(ignore_https_errors=True)
        pages.append(await context.new_page())
        await pages[-1].goto(site.url + path)
        await expect(pages[-1].locator('.diagram .state').first).to_be_visible(timeout=30_000)
        await pages[-1].evaluate('window.asDrawn = true')
    return pages


async def test_pages_of_a_killed_server_recover_their_place(
    fleet: Fleet, site: Site, browser: Browser, reader: Journal
) -> None:
    await fleet.worker(HEMICYCLE_FLEET_TOKEN='a token of the whole fleet')
    async with httpx.AsyncClient(base_url=f'{site.servers[0].url}/api/v1/', timeout=30) as web:
        run = await launch(web, calls=str(fleet.calls), steps=5_000, pause=0.1)
    await until(lambda: len(fleet.lines()) > 20, 'it takes steps')
    path = f'/runs/{run}?at=7'
    pages = await pages_of_both(site, browser, path)
    drawn_by = site.drew(path)
    live = await (await browser.new_context(ignore_https_errors=True)).new_page()
    await live.goto(f'{site.url}/runs/{run}')
    victim = next(server for server in site.servers if server.url.endswith(site.drew(f'/runs/{run}')[0]))
    victim.kill()
    for page, address in zip(pages, drawn_by, strict=True):
        if victim.url.endswith(address):
            await page.wait_for_function('!window.asDrawn && window.did_handshake', timeout=60_000)
        assert page.url == site.url + path
        await expect(page.locator('.diagram .state').first).to_be_visible(timeout=30_000)
        await expect(page.get_by_role('slider').first).to_have_attribute('aria-valuenow', '7')
    # It is live again: new steps are drawn.
    await expect(live.locator(SAID)).to_have_text(re.compile(r'^Step \d+'), timeout=60_000)
    seq = (await reader.info(RunId(run))).seq
    displayed_step = f'Number(/\\d+/.exec(document.querySelector("{SAID}").textContent))'
    await live.wait_for_function(f'{displayed_step} > {seq}', timeout=60_000)
    assert (await reader.info(RunId(run))).status is Status.RUNNING
