"""A server with accounts, for callers without one or with few permissions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from nicegui.testing import User

from engine.operations import Role
from tests.support.cli import Hemicycle, line, until
from tests.support.servers.http_server import Answer, local
from ui.api.access import PREFIX
from ui.api.app import build_api
from ui.app.access.http import OPEN_PATHS
from ui.server.app import build

PUBLIC = 'https://team.example'
PASSWORD = 'four small grey horses'
METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND')
DETOURS = (
    '/login/x', '/login/', '/login.css/', '/login%2fx', '/login/%2e%2e/runs', '/healthz/', '/LOGIN', '//runs',
    '/login/callback/x', '/readyz/x', '/favicon.ico/x', f'{PREFIX}/triggers/x/webhook/y', '/nowhere',
    '/runs/',
)  # fmt: skip
"""Addresses that closely resemble the public ones."""


@dataclass(frozen=True)
class Team:
    """A server with one account for each role; its password is its name plus `PASSWORD`."""

    hemicycle: Hemicycle
    url: str
    tokens: dict[Role, str]

    def of(self, role: Role) -> httpx.Client:
        """A program with a token of this role."""
        bearer = {'Authorization': f'Bearer {self.tokens[role]}'}
        return httpx.Client(base_url=self.url, headers=bearer, timeout=60)


@pytest.fixture(scope='module')
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    home = tmp_path_factory.mktemp('team')
    hemicycle, tokens = Hemicycle(home), {}
    for role in reversed(Role):  # the first account is an administrator
        assert hemicycle('user', 'add', role, '--role', role, stdin=f'{PASSWORD}\n').exit_code == 0
        tokens[role] = hemicycle('user', 'token', 'add', role, 'test', '--role', role).stdout.split()[-1]
    with hemicycle.process('serve', '--port', '0', '--url', PUBLIC) as server:
        yield Team(hemicycle, re.findall(r'http://\S+', line(server.stdout))[0], tokens)


@pytest.fixture
def addresses(user: User) -> set[str]:
    """An address for every route: pages, files, downloads, the socket and the API."""

    async def never() -> Any:
        raise AssertionError

    app = build(never)

    def walk(routes: Any, prefix: str = '') -> Iterator[str]:
        for route in routes:
            path = prefix + getattr(route, 'path', '')
            inner = getattr(route, 'routes', None) or getattr(getattr(route, 'app', None), 'routes', None)
            yield re.sub(r'{[^}]*}', 'x', path) or '/'
            yield from walk(inner or (), path)

    from nicegui import app as pages

    api = build_api(app.state.backend).openapi()['paths']
    api_routes = {re.sub(r'{[^}]*}', 'x', f'{PREFIX}{path}') for path in api}
    return api_routes | set(walk(app.routes)) | set(walk(pages.routes))


async def test_nothing_is_served_to_anonymous_callers_at_any_address(team: Team, addresses: set[str]) -> None:
    assert len(addresses) > 120 and {'/settings', '/audit/export/x', f'{PREFIX}/runs/x/approve'} <= addresses
    got = []
    async with httpx.AsyncClient(timeout=60) as http:
        for path in sorted(addresses - OPEN_PATHS) + list(DETOURS):
            for method in METHODS:
                if (method, path) == ('POST', f'{PREFIX}/triggers/x/webhook'):
                    continue  # it is signed
                response = await http.request(method, httpx.URL(f'{team.url}{path}'))
                if response.status_code != 401:
                    got.append(f'{method} {path}: {response.status_code}')
    assert got == []


def test_no_run_can_read_the_servers_own_files(team: Team) -> None:
    body = {'pattern': 'builder', 'parameters': {'request': 'look', 'project': str(team.hemicycle.home)}}
    for role in (Role.OPERATOR, Role.ADMIN):
        with team.of(role) as http:
            refused = http.post(f'{PREFIX}/runs', json=body)
            assert refused.status_code == 422, refused.text
            assert 'is not open to runs here' in refused.json()['detail']


def test_links_use_the_public_address(team: Team) -> None:
    received: list[dict[str, Any]] = []

    def receive(method: str, path: str, body: dict[str, Any]) -> Answer:
        received.append(body)
        return 204, {}, b''

    with local(receive) as receiver, team.of(Role.ADMIN) as http:
        hook = {'name': 'Team', 'channel': 'webhook', 'address': f'{receiver.url}/hook'}
        assert http.post(f'{PREFIX}/destinations', json=hook).status_code == 201
        body = {'pattern': 'pipeline', 'parameters': {'task': 'Tea or coffee?'}, 'approvals': 'all'}
        assert http.post(f'{PREFIX}/runs', json=body).status_code == 201
        until(lambda: bool(received), 'a notification is sent')
    assert received[0]['data']['url'].startswith(f'{PUBLIC}/inbox/')


@pytest.mark.parametrize('command', ['runs list', 'schedule list', 'inbox list', 'tool show calculator'])
def test_a_command_sends_its_token_to_the_server(
    team: Team, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert 'log in, or send a token' in team.hemicycle(*command.split(), '--server', team.url).stderr
    monkeypatch.setenv('HEMICYCLE_TOKEN', team.tokens[Role.VIEWER])
    answered = team.hemicycle(*command.split(), '--server', team.url)
    assert answered.exit_code == 0, answered.stderr


def test_cookies_of_a_site_with_tls_are_sent_over_tls_only(team: Team) -> None:
    with httpx.Client(base_url=team.url, timeout=60) as http:
        form = {'name': 'admin', 'password': PASSWORD}
        entered = http.post('/login', data=form, headers={'Origin': team.url})
        page = http.get('/', headers={'Cookie': entered.headers['set-cookie'].partition(';')[0]})
    assert page.status_code == 200
    assert 'secure' in page.headers['set-cookie'].lower()


def test_connections_of_a_server_are_changed_by_its_administrators(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, address = ('--server', team.url), 'https://models.example/v1'
    monkeypatch.setenv('HEMICYCLE_TOKEN', team.tokens[Role.OPERATOR])
    add = ('endpoint', 'add', 'house', '--url', address, '--no-test', *at)
    assert 'this needs the role admin' in team.hemicycle(*add).stderr
    monkeypatch.setenv('HEMICYCLE_TOKEN', team.tokens[Role.ADMIN])
    added = team.hemicycle(*add)
    assert added.exit_code == 0 and f'saved in {team.url}' in added.stderr, added.output
    assert f'house  {address}' in team.hemicycle('endpoint', 'list', *at).stdout
    assert team.hemicycle('endpoint', 'remove', 'house', *at).exit_code == 0
    assert 'house' not in team.hemicycle('endpoint', 'list', *at).stdout
