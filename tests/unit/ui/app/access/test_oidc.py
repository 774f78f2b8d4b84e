"""Logging in with an identity provider: what can be tested without a real one."""

from __future__ import annotations

import sys
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from engine import SimulatedClock
from engine.journal import MemoryJournal
from engine.operations import Role
from ui.app.access.access import Access, LoginRefused
from ui.app.access.audit_log import AuditQuery
from ui.app.access.oidc import Provider, ProviderSettings

ISSUER, CALLBACK = 'https://id.example', 'https://us.example/login/callback'
KEY = RSAKey.generate_key(2048, {'kid': 'one'})
FACTS = {
    'issuer': ISSUER,
    **{f'{name}_endpoint': f'{ISSUER}/{name}' for name in ('authorization', 'token')},
    'jwks_uri': f'{ISSUER}/keys',
}


class Issuer(httpx.AsyncBaseTransport):
    """An identity provider in this process: returns `claims` for the right nonce."""

    def __init__(self, **claims: Any) -> None:
        self.claims: dict[str, Any] = {
            'sub': 'ada',
            'iss': ISSUER,
            'aud': 'us',
            'exp': time.time() + 60,
        } | claims
        self.header: dict[str, Any] = {'alg': 'RS256', 'kid': 'one'}
        self.nonce = ''

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer; token requests may use another version of httpx and get its kind of response."""
        document: dict[str, Any] = FACTS
        if request.url.path == '/keys':
            document = {'keys': [KEY.as_dict(private=False)]}
        elif request.url.path == '/token':
            id_token = jwt.encode(self.header, {'nonce': self.nonce} | self.claims, KEY)
            document = {'access_token': 'x', 'token_type': 'Bearer', 'id_token': id_token}
        version = sys.modules[type(request).__module__.partition('.')[0]]
        answer: httpx.Response = version.Response(200, json=document)
        return answer

    def provider(self, **settings: Any) -> Provider:
        provider_settings = ProviderSettings(issuer=ISSUER, client_id='us', **settings)
        return Provider(provider_settings, self)

    async def begin(self, provider: Provider, path: str = '/runs') -> tuple[str, dict[str, str]]:
        """Start a login, and return the browser's cookie and the query with which it comes back."""
        url, cookie = await provider.begin(CALLBACK, path)
        query = {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}
        self.nonce = query['nonce']
        return cookie, {'state': query['state'], 'code': 'c'}


@pytest.fixture
def access() -> Access:
    return Access(MemoryJournal().documents, SimulatedClock())


async def test_returning_from_the_provider_logs_in(access: Access) -> None:
    issuer = Issuer(preferred_username='ada')
    provider = issuer.provider()
    cookie, query = await issuer.begin(provider)
    account, path = await provider.finish(access, CALLBACK, cookie, query)
    assert (account.name, account.role, path) == ('ada', Role.VIEWER, '/runs')


async def test_many_started_logins_do_not_block_others(access: Access) -> None:
    issuer = Issuer()
    provider = issuer.provider()
    for _ in range(1_100):
        await provider.begin(CALLBACK, '/')
    cookie, query = await issuer.begin(provider)
    assert await provider.finish(access, CALLBACK, cookie, query)


async def test_only_the_browser_that_started_a_login_can_finish_it(access: Access) -> None:
    issuer = Issuer()
    provider = issuer.provider()
    cookie, query = await issuer.begin(provider)
    other, _ = await issuer.begin(provider)
    text, _, mac = cookie.rpartition('.')
    for state in ('', '.', 'x.y', other, f'{text}.', f'{text[::-1]}.{mac}'):
        with pytest.raises(LoginRefused, match='another browser'):
            await provider.finish(access, CALLBACK, state, query)
    elsewhere = Issuer().provider()  # another server, with another key
    with pytest.raises(LoginRefused, match='another browser'):
        await elsewhere.finish(access, CALLBACK, cookie, query)


async def test_a_login_has_to_be_finished_in_time(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = Issuer()
    provider = issuer.provider()
    monkeypatch.setattr('ui.app.access.oidc.STATE_SECONDS', -1)
    with pytest.raises(LoginRefused, match='has expired'):
        await provider.finish(access, CALLBACK, *await issuer.begin(provider))


@pytest.mark.parametrize(
    'claims',
    [{'nonce': 'another'}, {'aud': 'others'}, {'iss': 'https://evil.example'}, {'exp': 1}, {'sub': None}],
)
async def test_tokens_not_meant_for_us_are_refused(access: Access, claims: dict[str, Any]) -> None:
    issuer = Issuer(**claims)
    provider = issuer.provider()
    cookie, query = await issuer.begin(provider)
    with pytest.raises(LoginRefused, match='could not identify you'):
        await provider.finish(access, CALLBACK, cookie, query)
    (line,) = await access.audit.lines(AuditQuery(refused=True))
    assert line.action == 'login'


async def test_people_without_groups_are_rejected_or_demoted(access: Access) -> None:
    roles = {'admins': Role.ADMIN}
    for first, role in ((Role.VIEWER, Role.VIEWER), (None, None)):
        issuer = Issuer(sub=f'ada {first}', groups=['admins'])
        provider = issuer.provider(roles=roles, role=first)
        account, _ = await provider.finish(access, CALLBACK, *await issuer.begin(provider))
        assert account.role is Role.ADMIN
        issuer.claims['groups'] = ['others']
        cookie, query = await issuer.begin(provider)
        if role is None:
            with pytest.raises(LoginRefused, match='no longer gives you a role'):
                await provider.finish(access, CALLBACK, cookie, query)
        else:
            await access.accounts.add('root', Role.ADMIN)
            account, _ = await provider.finish(access, CALLBACK, cookie, query)
            assert account.role is role
