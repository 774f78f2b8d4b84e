"""Logging in with a real OpenID Connect provider: `oidc-provider`, certified by the OpenID Foundation."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.bench.servers.processes import free_port
from tests.support.cli import Hemicycle, line
from tests.support.servers.npm import install

pytestmark = pytest.mark.long
VERSION = '9.13.3'
PROVIDER = Path(__file__).with_name('identity_provider.mjs')


@dataclass
class Site:
    """Hemicycle and its provider."""

    address: str
    provider: str
    hemicycle: Hemicycle

    def browser(self) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=60, headers={'Accept': 'text/html'})


@pytest.fixture(scope='module')
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    modules = install('oidc-provider', VERSION)
    own, port = free_port(), free_port()
    address, issuer = f'http://127.0.0.1:{own}', f'http://127.0.0.1:{port}'
    command = ['node', str(PROVIDER), str(port), f'{address}/login/callback', str(modules)]
    settings = {
        'HEMICYCLE_OIDC_ISSUER': issuer,
        'HEMICYCLE_OIDC_CLIENT_ID': 'hemicycle',
        'HEMICYCLE_OIDC_CLIENT_SECRET': 'between us',
        'HEMICYCLE_OIDC_NAME': 'The office',
        'HEMICYCLE_OIDC_ROLE': 'none',
        'HEMICYCLE_OIDC_ROLES': 'admins=admin',
    }
    provider = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert line(provider.stdout) == 'ready'
        hemicycle = Hemicycle(tmp_path_factory.mktemp('home'))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            with hemicycle.process('serve', '--port', str(own)) as server:
                assert address in line(server.stdout)
                yield Site(address, issuer, hemicycle)
    finally:
        provider.kill()
        provider.communicate()


def authorize(browser: httpx.Client, name: str, next: str = '/') -> str:
    """Log in at the provider and consent; returns the address it redirects to."""
    answer = browser.get('/login/provider', params={'next': next})
    while answer.status_code in (302, 303) or 'text/html' in answer.headers['content-type']:
        where = str(answer.url.join(answer.headers['location'])) if answer.is_redirect else ''
        if '/login/callback' in where:
            return where
        if where:
            answer = browser.get(where)
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
        prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
        assert answer.status_code == 200 and form and prompt, answer.text
        data = {'prompt': prompt[1], 'login': name, 'password': 'anything'}
        answer = browser.post(str(answer.url.join(unescape(form[1]))), data=data)
    raise AssertionError(answer.text)


def test_a_person_logs_in_with_the_role_from_the_provider(site: Site) -> None:
    with site.browser() as browser:
        assert 'The office' in browser.get('/login').text
        response = browser.get(authorize(browser, 'ada', '/runs?status=done'))
        assert (response.status_code, response.headers['location']) == (303, '/runs?status=done')
        assert browser.get('/accounts').status_code == 200
        assert browser.get('/api/v1/runs').status_code == 200
    lines = site.hemicycle('user', 'log', '--json').stdout
    assert '"who": "ada"' in lines and '"account.add"' in lines and '"login"' in lines
    with site.browser() as browser:  # The same person again, not another account.
        assert browser.get(authorize(browser, 'ada')).status_code == 303
    assert site.hemicycle('user', 'list').stdout.count('ada') == 1


def test_unknown_people_are_turned_away(site: Site) -> None:
    with site.browser() as browser:
        refused = browser.get(authorize(browser, 'mallory'))
        assert refused.status_code == 401 and 'no account for you' in refused.text
        assert browser.get('/api/v1/runs').status_code == 401


def test_a_login_started_in_another_browser_is_refused(site: Site) -> None:
    with site.browser() as mallory, site.browser() as victim:
        stolen = authorize(mallory, 'ada')
        assert victim.get(stolen).status_code == 401
        assert mallory.get(stolen).status_code == 303  # It is that browser's own login,
        assert mallory.get(stolen).status_code == 401  # which can be used only once.


def test_a_code_of_another_login_is_refused(site: Site) -> None:
    """PKCE: the provider accepts a code only with the verifier of its login."""
    with site.browser() as mallory, site.browser() as victim:
        code = parse_qs(urlsplit(authorize(mallory, 'ada')).query)['code'][0]
        own = urlsplit(authorize(victim, 'bo'))
        injected = re.sub(r'code=[^&]+', f'code={code}', own.query)
        refused = victim.get(f'{site.address}/login/callback?{injected}')
        assert refused.status_code == 401 and 'could not identify you' in refused.text
