"""A server behind nginx that serves it below a path."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.bench.servers.processes import free_port
from tests.browser.server import Server
from tests.support.cli import until
from tests.support.servers.certificates import write_certificates
from tests.support.servers.nginx import nginx, write_configuration

STRIPPED = """location /hemi/ {
        proxy_set_header X-Forwarded-Prefix /hemi;"""
PAGES = '/runs', '/inbox', '/tools', '/settings', '/launch/pipeline', '/schedules', '/wall'


@pytest.fixture(params=['named by nginx', 'configured'])
def site(
    request: pytest.FixtureRequest, new_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The address of `new_server` below a path, which nginx takes off and names, or which is configured."""
    if not nginx():
        pytest.skip('nginx is not installed')
    configured = request.param == 'configured'
    if configured:
        monkeypatch.setenv('HEMICYCLE_ROOT_PATH', '/hemi/')
    new_server.start()
    folder, port = tmp_path / 'proxy', free_port()
    folder.mkdir()
    certificates = write_certificates(folder)
    servers = {
        'location / {': 'location /hemi/ {' if configured else STRIPPED,
        'http://127.0.0.1:8080;': f'{new_server.url}{"" if configured else "/"};',
    }
    command = write_configuration(
        folder, certificates, name='nginx.conf', port=port, plain=free_port(), servers=servers
    )
    process = subprocess.Popen(command)
    with socket.socket() as probe:
        until(lambda: probe.connect_ex(('127.0.0.1', port)) == 0, 'nginx listens')
    yield f'https://127.0.0.1:{port}/hemi'
    process.terminate()
    process.wait(30)


@pytest.mark.long
def test_pages_streams_links_and_downloads_stay_below_the_path(
    site: str, open_page: Callable[..., Page], new_server: Server
) -> None:
    page = open_page(ignore_https_errors=True)
    asked: list[str] = []
    page.context.on('response', lambda answer: asked.append(f'{answer.status} {answer.url}'))
    page.goto(f'{site}/')
    for path in PAGES:
        page.goto(f'{site}{path}')
        expect(page.get_by_role('heading', level=1)).to_be_visible()
        for link in page.locator('a[href^="/"]').evaluate_all('links => links.map(a => a.pathname)'):
            assert f'{link}/'.startswith('/hemi/')

    page.goto(f'{site}/launch/pipeline')
    page.get_by_label('Task').first.fill('Tea or **coffee**, and $x^2$?')
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(re.escape(f'{site}/runs/')))
    expect(page.get_by_text('Done', exact=True).first).to_be_visible()
    page.get_by_role('button', name='Previous step').click()
    page.wait_for_url(re.compile(r'/hemi/runs/\w+\?at=\d+'))
    page.go_back()
    page.reload()
    page.get_by_role('link', name='Runs', exact=True).click()
    page.wait_for_url(f'{site}/runs')

    # Redirects, the API's addresses and downloads.
    run = new_server.ask('/runs')['items'][0]['id']
    for path in ('/runs/', f'/runs/{run}/export/markdown', f'/runs/{run}/report', '/api/v1/openapi.json'):
        answer = page.request.get(f'{site}{path}')
        assert answer.ok and urlsplit(answer.url).path.startswith('/hemi/')
    assert answer.json()['servers'][0]['url'] == '/hemi/api/v1'
    page.goto(f'{site}/api/v1/docs')
    expect(page.get_by_role('heading', name='Hemicycle').first).to_be_visible()

    wrong = [one for one in asked if not re.match(rf'[23]\d\d {re.escape(site)}/', one)]
    assert not [one for one in wrong if not one.startswith('101 ')]
