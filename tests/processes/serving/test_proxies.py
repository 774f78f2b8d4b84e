"""The proxy configurations in assets/deploy, in front of a server with accounts, with TLS."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.bench.servers.processes import free_port
from tests.support.cli import Hemicycle, line, until
from tests.support.servers.certificates import write_certificates
from tests.support.servers.nginx import DEPLOY, nginx, write_configuration

PASSWORD = 'four small grey horses'


def start_nginx(folder: Path, certificates: Path, port: int, plain: int, upstream: str) -> list[str]:
    servers = {'http://127.0.0.1:8080': upstream}
    return write_configuration(
        folder, certificates, name='nginx.conf', port=port, plain=plain, servers=servers
    )


def start_caddy(folder: Path, certificates: Path, port: int, plain: int, upstream: str) -> list[str]:
    text = (DEPLOY / 'Caddyfile').read_text()
    assert 'hemicycle.example {' in text and '127.0.0.1:8080' in text
    own = f'{{\n\tadmin off\n\thttp_port {plain}\n\thttps_port {port}\n}}\n\n'
    tls = f'https://127.0.0.1:{port} {{\n\ttls {certificates}/server.pem {certificates}/server.pem'
    text = text.replace('hemicycle.example {', tls)
    (folder / 'Caddyfile').write_text(own + text.replace('127.0.0.1:8080', upstream.removeprefix('http://')))
    return ['caddy', 'run', '--config', str(folder / 'Caddyfile'), '--adapter', 'caddyfile']


PROXIES: dict[str, Callable[[Path, Path, int, int, str], list[str]]] = {
    'nginx': start_nginx,
    'caddy': start_caddy,
}


@pytest.fixture(params=sorted(PROXIES))
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, ssl.SSLContext]]:
    """The address of a server behind a proxy whose account `ada` is an admin, and a TLS context for it."""
    if not (nginx() if request.param == 'nginx' else shutil.which(request.param)):
        pytest.skip(f'{request.param} is not installed')
    home, folder = tmp_path / 'home', tmp_path / 'proxy'
    home.mkdir()
    folder.mkdir()
    certificates = write_certificates(folder)
    hemicycle = Hemicycle(home)
    assert hemicycle('user', 'add', 'ada', '--role', 'admin', stdin=f'{PASSWORD}\n').exit_code == 0
    port, plain = free_port(), free_port()
    address = f'https://127.0.0.1:{port}'
    own = free_port()
    with hemicycle.process('serve', '--port', str(own), '--url', address) as server:
        print(line(server.stdout))
        command = PROXIES[request.param](folder, certificates, port, plain, f'http://127.0.0.1:{own}')
        with running(command), socket.socket() as probe:
            until(lambda: probe.connect_ex(('127.0.0.1', port)) == 0, 'the proxy listens')
            yield address, ssl.create_default_context(cafile=str(certificates / 'ca.pem'))


@contextmanager
def running(command: list[str]) -> Iterator[None]:
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def test_pages_streams_and_sockets_pass_through(site: tuple[str, ssl.SSLContext]) -> None:
    address, trust = site
    own = {'Origin': address}
    with httpx.Client(base_url=address, verify=trust, timeout=60) as http:
        turned_away = http.get('/', headers={'Accept': 'text/html'})
        assert (turned_away.status_code, turned_away.headers['location']) == (303, '/login')
        form = {'name': 'ada', 'password': PASSWORD, 'next': '/'}
        entered = http.post('/login', data=form, headers=own)
        assert entered.status_code == 303
        cookie = entered.headers['set-cookie']
        name = f'__Host-hemicycle-session-{address.rpartition(":")[2]}'
        assert cookie.startswith(f'{name}=') and 'Secure' in cookie
        page = http.get('/', headers={'Accept': 'text/html'})
        assert page.status_code == 200 and 'Hemicycle' in page.text

        body = {'pattern': 'pipeline', 'parameters': {'task': 'Tea or coffee?'}, 'paused': True}
        run = http.post('/api/v1/runs', json=body, headers=own).json()['id']
        with http.stream('GET', f'/api/v1/runs/{run}/events') as stream:
            first = next(one for one in stream.iter_lines() if one.startswith('id:'))  # It is still open.
        assert first == 'id: 1'

        session_cookie = f'{name}={http.cookies[name]}'
        socket_address = f'{address.replace("https", "wss")}/api/v1/socket'
        headers = {'Cookie': session_cookie}
        with connect(socket_address, ssl=trust, origin=address, additional_headers=headers) as live:  # type: ignore[arg-type]
            live.send(json.dumps({'id': 1, 'do': 'subscribe', 'run': run}))
            kinds = {json.loads(live.recv(30))['type'] for _ in range(2)}
            assert 'done' in kinds and 'problem' not in kinds
        with pytest.raises(InvalidStatus):
            connect(socket_address, ssl=trust, origin='https://evil.example', additional_headers=headers)  # type: ignore[arg-type]
