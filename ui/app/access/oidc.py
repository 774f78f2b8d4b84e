"""Logging in with an identity provider: OpenID Connect, the authorization code flow with PKCE."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import httpx
from itsdangerous import BadData, URLSafeTimedSerializer

from engine import InvalidInput
from engine.operations import Role
from ui.app.access.access import Access, LoginRefused
from ui.app.access.accounts import Account
from ui.app.access.caller import Caller
from ui.app.network import environment_proxies, network_problem

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]

STATE_COOKIE: Final = 'hemicycle-login'
STATE_SECONDS: Final = 600
MAX_TARGET: Final = 1_000
"""Maximum length of the address to redirect to: it is stored in a cookie."""
ALGORITHMS: Final = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA']
"""Accepted signature algorithms: none with a shared secret, and not `none`."""
SCOPE: Final = 'openid profile email'
TIMEOUT: Final = 15.0
LEEWAY: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """The settings from the environment: `HEMICYCLE_OIDC_...`."""

    issuer: str
    client_id: str
    client_secret: str = ''
    name: str = 'OpenID Connect'
    """The label of the login button."""
    role: Role | None = Role.VIEWER
    """The role of people who log in for the first time; None rejects them."""
    claim: str = 'groups'
    roles: Mapping[str, Role] = field(default_factory=dict)
    """Roles by values of that claim, applied at each login."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> ProviderSettings | None:
        """Return the settings, or None if there is no issuer. Raises `InvalidInput`, naming the variable."""

        def setting(name: str) -> str:
            return environment.get(f'HEMICYCLE_OIDC_{name}', '').strip()

        issuer = setting('ISSUER')
        if not issuer:
            return None
        parts = urlsplit(issuer)
        if parts.scheme != 'https' and parts.hostname not in ('localhost', '127.0.0.1', '::1'):
            raise InvalidInput({'HEMICYCLE_OIDC_ISSUER': f'must be an https address, not {issuer!r}'})
        if not setting('CLIENT_ID'):
            raise InvalidInput({'HEMICYCLE_OIDC_CLIENT_ID': 'is missing'})
        mapped = {}
        for pair in filter(None, (part.strip() for part in setting('ROLES').split(','))):
            value, _, role = pair.rpartition('=')
            mapped[value.strip()] = _parse_role('ROLES', role)
        first = setting('ROLE') or 'viewer'
        return cls(
            issuer=issuer,
            client_id=setting('CLIENT_ID'),
            client_secret=setting('CLIENT_SECRET'),
            name=setting('NAME') or 'OpenID Connect',
            role=None if first == 'none' else _parse_role('ROLE', first),
            claim=setting('CLAIM') or 'groups',
            roles=mapped,
        )


def _parse_role(variable: str, text: str) -> Role:
    try:
        return Role(text.strip().lower())
    except ValueError:
        raise InvalidInput(
            {f'HEMICYCLE_OIDC_{variable}': f'{text!r} is not a role: use viewer, operator or admin'}
        ) from None


@dataclass(frozen=True, slots=True)
class _PendingLogin:
    """A login in progress; stored by the browser that began it, so that nobody can begin too many."""

    state: str
    nonce: str
    verifier: str
    wanted: str


class Provider:
    """An identity provider, found by its issuer's address."""

    def __init__(self, settings: ProviderSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.settings, self.name = settings, settings.name
        self._transport = transport
        self._metadata: dict[str, Any] | None = None
        signed = {'digest_method': hashlib.sha256}
        self._cookies = URLSafeTimedSerializer(secrets.token_bytes(32), signer_kwargs=signed)

    async def begin(self, callback: str, target: str) -> tuple[str, str]:
        """Begin a login; return the address for the browser, and a cookie. Raises `LoginRefused`."""
        metadata = await self.discover()
        nonce, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        async with self._client(callback) as client:
            url, state = client.create_authorization_url(
                metadata['authorization_endpoint'], nonce=nonce, code_verifier=verifier
            )
        target = target if len(target) <= MAX_TARGET else ''
        pending = _PendingLogin(state, nonce, verifier, target)
        return url, str(self._cookies.dumps(asdict(pending)))

    async def finish(
        self, access: Access, callback: str, cookie: str, query: Mapping[str, str]
    ) -> tuple[Account, str]:
        """Finish a login; return the account, and the page the person wanted. Raises `LoginRefused`."""
        try:
            pending = _PendingLogin(**self._cookies.loads(cookie, max_age=STATE_SECONDS))
        except BadData:
            pending = None
        if not pending or pending.state != query.get('state', ''):
            raise LoginRefused('This login has expired, or was begun in another browser. Try again.')
        if 'error' in query:
            raise LoginRefused(
                f'{self.name} refused: {query.get("error_description") or query["error"]}'[:300]
            )
        try:
            claims = await self._fetch_claims(callback, query.get('code', ''), pending)
        except LoginRefused as error:
            await access.audit.write(Caller('', Role.VIEWER, self.name), 'login', refused=str(error))
            raise
        return await self._find_or_add_account(access, claims), pending.wanted

    async def _fetch_claims(self, callback: str, code: str, pending: _PendingLogin) -> Mapping[str, Any]:
        from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        metadata = await self.discover()
        try:
            async with self._client(callback) as client:
                token = await client.fetch_token(
                    metadata['token_endpoint'], code=code, code_verifier=pending.verifier
                )
                keys = KeySet.import_key_set(cast(Any, await self._get(metadata['jwks_uri'])))
            read = jwt.decode(str(token.get('id_token', '')), keys, algorithms=ALGORITHMS)
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY,
                iss={'essential': True, 'value': metadata['issuer']},
                aud={'essential': True, 'value': self.settings.client_id},
                sub={'essential': True},
                exp={'essential': True},
                nonce={'essential': True, 'value': pending.nonce},
            ).validate(read.claims)
            if 'userinfo_endpoint' in metadata and self.settings.claim not in read.claims:
                more = await self._get(metadata['userinfo_endpoint'], str(token['access_token']))
                if more.get('sub') == read.claims['sub']:
                    return {**more, **read.claims}
        except (OAuthError, JoseError, httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise LoginRefused(f'{self.name} could not identify you ({type(error).__name__}).') from error
        return read.claims

    async def _find_or_add_account(self, access: Access, claims: Mapping[str, Any]) -> Account:
        issuer, subject = str(claims['iss']), str(claims['sub'])
        role = self._map_role(claims)
        account = await access.accounts.find_by_subject(issuer, subject)
        if account is None:
            first = role or self.settings.role
            if first is None:
                raise LoginRefused('There is no account for you here. Ask an administrator.')
            name = str(
                claims.get('preferred_username') or claims.get('email') or claims.get('name') or subject
            )
            account = await access.accounts.add_linked(issuer, subject, name, first)
            caller = Caller(account.name, account.role, self.name)
            await access.audit.write(
                caller, 'account.add', details={'name': account.name, 'role': str(first)}
            )
        elif self.settings.roles and role is None:  # they had one before
            raise LoginRefused(f'{self.name} no longer gives you a role here. Ask an administrator.')
        elif role and role is not account.role:
            await access.accounts.set_role(account.name, role)
            caller = Caller(account.name, role, self.name)
            await access.audit.write(
                caller, 'account.set_role', details={'name': account.name, 'role': str(role)}
            )
        return await access.accounts.find_by_subject(issuer, subject) or account

    def _map_role(self, claims: Mapping[str, Any]) -> Role | None:
        """If roles are mapped, return the highest that the claims give, or else that of a first login."""
        if not self.settings.roles:
            return None
        claim = claims.get(self.settings.claim, ())
        values = (
            [claim] if isinstance(claim, str) else list(claim) if isinstance(claim, (list, tuple)) else []
        )
        roles = [self.settings.roles[str(value)] for value in values if str(value) in self.settings.roles]
        return max(roles, key=list(Role).index) if roles else self.settings.role

    async def discover(self) -> dict[str, Any]:
        """Return its configuration. Raises `LoginRefused` if it cannot be reached or has another issuer."""
        if self._metadata is None:
            url = f'{self.settings.issuer.rstrip("/")}/.well-known/openid-configuration'
            try:
                metadata = await self._get(url)
            except (httpx.HTTPError, ValueError) as error:
                raise LoginRefused(f'{self.name} cannot be reached: {network_problem(error)}.') from error
            if metadata.get('issuer', '').rstrip('/') != self.settings.issuer.rstrip('/'):
                raise LoginRefused(f'{self.name} calls itself {metadata.get("issuer")!r}: check the issuer.')
            self._metadata = metadata
        return self._metadata

    async def _get(self, url: str, token: str = '') -> dict[str, Any]:
        headers = {'Authorization': f'Bearer {token}'} if token else {}
        with environment_proxies():
            client = httpx.AsyncClient(timeout=TIMEOUT, transport=self._transport)
        async with client:
            answer = await client.get(url, headers=headers)
            answer.raise_for_status()
            document = json.loads(answer.content)
        if not isinstance(document, dict):
            raise ValueError('not an object')
        return document

    def _client(self, callback: str) -> AsyncOAuth2Client:
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        with environment_proxies():
            return AsyncOAuth2Client(
                client_id=self.settings.client_id,
                client_secret=self.settings.client_secret or None,
                scope=SCOPE,
                redirect_uri=callback,
                code_challenge_method='S256',
                token_endpoint_auth_method='client_secret_basic' if self.settings.client_secret else 'none',
                timeout=TIMEOUT,
                transport=self._transport,
            )
