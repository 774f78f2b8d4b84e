"""Access: identifies callers by session or token, logs people in, and gives each a guarded conductor."""

from __future__ import annotations

import ipaddress
import secrets
from collections import OrderedDict
from dataclasses import replace
from typing import Final
from weakref import WeakKeyDictionary

from engine import Conductor, EngineError, LocalConductor
from engine.errors import SignedOut
from engine.host.clock import Clock
from engine.journal import Documents, Entry, EntryQuery
from engine.operations import Role
from ui.app.access.accounts import ACCOUNT, SESSION, TOKENS, Account, Accounts
from ui.app.access.audit_log import AuditLog
from ui.app.access.caller import ADDRESS, Caller, Identity
from ui.app.access.guard import guard_conductor
from ui.app.access.passwords import MAX_LENGTH, digest

CACHE_SECONDS: Final = 2.0
"""Seconds for which a caller is cached: another process may change the account meanwhile."""
USE_UPDATE_SECONDS: Final = 60.0
"""Minimum seconds between updates of when a session or a token was last used."""
MAX_CACHED: Final = 4_096
ATTEMPT: Final = 'guess'
ATTEMPT_WINDOW: Final = 15 * 60.0
"""The period in seconds over which login attempts are counted."""
MAX_ATTEMPTS: Final = {'both': 5, 'address': 30, 'account': 50}
"""Maximum attempts in that period: for one account from one address, from one address, for one account."""


class LoginRefused(EngineError):
    """A login was refused; `retry_later` is set if there were too many attempts."""

    def __init__(self, problem: str, *, retry_later: bool = False) -> None:
        self.retry_later = retry_later
        super().__init__(problem)


WRONG_CREDENTIALS: Final = 'The name or the password is wrong.'
TOO_MANY_ATTEMPTS: Final = 'Too many attempts. Try again in 15 minutes.'


class _TooManyAttempts(Exception):
    """There were too many attempts for an account, from an address, or both."""

    def __init__(self, which: tuple[str, str]) -> None:
        self.which = which


class Access:
    """Identifies callers, and logs them in and out. One per server.

    Args:
        documents: store accounts, sessions, tokens and the audit log, with the runs.
        clock: determines when something expires.
    """

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._documents, self._clock = documents, clock
        self.accounts, self.audit = Accounts(documents, clock), AuditLog(documents, clock)
        self._identities: OrderedDict[tuple[str, str], AuthenticatedIdentity] = OrderedDict()
        self._logged_limits: OrderedDict[tuple[str, str], float] = OrderedDict()
        """By account and address: when it was last noted that the limit of attempts was reached."""
        self._guards: WeakKeyDictionary[Identity, Conductor] = WeakKeyDictionary()

    def guard(self, conductor: LocalConductor, identity: Identity) -> Conductor:
        """Return the conductor, restricted to what this identity may do."""
        guarded = self._guards.get(identity)
        if guarded is None:
            guarded = self._guards[identity] = guard_conductor(conductor, identity, self.audit.write)
        return guarded

    def now(self) -> float:
        """Return the time by the server's clock, in seconds since 1970."""
        return self._clock.now()

    async def identify_session(self, secret: str) -> AuthenticatedIdentity:
        """Return the identity of a browser. Raises `SignedOut`."""
        return await self._identity(SESSION, secret)

    async def identify_token(self, secret: str) -> AuthenticatedIdentity:
        """Return the identity of a program. Raises `SignedOut`."""
        return await self._identity(TOKENS, secret)

    async def log_in(self, name: str, password: str, *, address: str, agent: str) -> str:
        """Log a person in by password; return the session secret. Raises `LoginRefused`."""
        tried = Caller(name[:100], Role.VIEWER, 'password')
        if self.accounts.passwords.is_busy:
            raise LoginRefused('The server is busy. Try again in a moment.', retry_later=True)
        try:
            attempt = await self._count_attempt(name, address)
        except _TooManyAttempts as full:
            if self._is_unlogged(full.which):
                await self.audit.write(tried, 'login', refused='too many attempts', address=address)
            raise LoginRefused(TOO_MANY_ATTEMPTS, retry_later=True) from None
        stored = await self.accounts.password_hash(name)
        if len(password) > MAX_LENGTH or not await self.accounts.passwords.verify(stored, password):
            await self.audit.write(tried, 'login', refused='wrong name or password', address=address)
            raise LoginRefused(WRONG_CREDENTIALS)
        account = await self.accounts.find(name)
        if account is None:
            raise LoginRefused(WRONG_CREDENTIALS)
        await self._documents.write([], [attempt])
        if self.accounts.passwords.is_outdated(stored):
            await self.accounts.rehash(account.name, password)
        return await self.begin(account, 'password', address=address, agent=agent)

    async def is_password(self, caller: Caller, password: str) -> bool:
        """Whether this is the caller's own password; attempts count as logins. Raises `LoginRefused`."""
        try:
            attempt = await self._count_attempt(caller.name, ADDRESS.get())
        except _TooManyAttempts:
            raise LoginRefused(TOO_MANY_ATTEMPTS, retry_later=True) from None
        stored = await self.accounts.password_hash(caller.name)
        if not await self.accounts.passwords.verify(stored, password):
            return False
        await self._documents.write([], [attempt])
        return True

    async def begin(self, account: Account, via: str, *, address: str, agent: str) -> str:
        """Begin a session for a person whose identity is verified."""
        secret = await self.accounts.begin_session(account.name, via, address, agent)
        await self.audit.write(Caller(account.name, account.role, via), 'login', address=address)
        return secret

    async def log_out(self, identity: AuthenticatedIdentity, *, everywhere: bool = False) -> None:
        """End a session, or all sessions of the account."""
        caller = identity.last_caller
        if everywhere:
            await self.accounts.end_sessions(caller.name)
        else:
            await self.accounts.end_session(identity.key)
        await self.audit.write(caller, 'logout', details={'everywhere': everywhere})

    async def resolve(self, kind: str, key: str) -> Caller:
        """Return the current caller for a session or token. Raises `SignedOut`."""
        entry = await self.accounts.entry(kind, key)
        account = entry and await self._documents.get(ACCOUNT, entry.about)
        if entry is None or account is None:
            raise SignedOut('you are logged out: log in again')
        last = entry.body['seen' if kind == SESSION else 'used']
        if self._clock.now() - last > USE_UPDATE_SECONDS:
            await self.accounts.record_use(entry)
        role = Role(account.state)
        if kind == SESSION:
            return Caller(account.body['name'], role, entry.body['via'])
        least = min(role, Role(entry.state), key=list(Role).index)
        return Caller(account.body['name'], least, f'token {entry.body["label"]}')

    async def _identity(self, kind: str, secret: str) -> AuthenticatedIdentity:
        key = (kind, digest(secret))
        identity = self._identities.get(key)
        if identity is None:
            identity = AuthenticatedIdentity(self, *key, await self.resolve(*key), self._clock)
            self._identities[key] = identity
            if len(self._identities) > MAX_CACHED:
                self._identities.popitem(last=False)
        await identity.check()
        return identity

    async def _count_attempt(self, name: str, address: str) -> Entry:
        """Count an attempt before it is made, so concurrent ones count too. Raises `_TooManyAttempts`."""
        now, place = self._clock.now(), network_of(address)
        await self._documents.forget(EntryQuery(kind=ATTEMPT, until=now - ATTEMPT_WINDOW))
        attempt = Entry(
            kind=ATTEMPT, key=secrets.token_hex(16), about=name.lower()[:100], state=place, rank=now
        )
        await self._documents.write([attempt])
        limits = {
            'both': EntryQuery(kind=ATTEMPT, about=attempt.about, state=place),
            'address': EntryQuery(kind=ATTEMPT, state=place),
            'account': EntryQuery(kind=ATTEMPT, about=attempt.about),
        }
        stored = replace(attempt, version=1)
        for what, query in limits.items():
            if len(await self._documents.find(query)) > MAX_ATTEMPTS[what]:
                await self._documents.write([], [stored])
                raise _TooManyAttempts((query.about, query.state))
        return stored

    def _is_unlogged(self, which: tuple[str, str]) -> bool:
        """Whether a limit was not noted recently, so that repeated guessing cannot fill the audit log."""
        now = self._clock.now()
        logged_at = self._logged_limits.get(which)
        if logged_at is not None and now - logged_at < ATTEMPT_WINDOW:
            return False
        self._logged_limits[which] = now
        self._logged_limits.move_to_end(which)
        if len(self._logged_limits) > MAX_CACHED:
            self._logged_limits.popitem(last=False)
        return True


class AuthenticatedIdentity:
    """The identity of a session or a token, rechecked every few seconds."""

    def __init__(self, access: Access, kind: str, key: str, caller: Caller, clock: Clock) -> None:
        self._access, self._kind, self.key, self._clock = access, kind, key, clock
        self.last_caller = caller
        self._checked_at, self._changes = clock.now(), access.accounts.changes

    @property
    def is_session(self) -> bool:
        """Whether it is a browser session, which is sent automatically."""
        return self._kind == SESSION

    async def check(self) -> Caller:
        """Return the current caller. Raises `SignedOut`."""
        now, changes = self._clock.now(), self._access.accounts.changes
        if changes != self._changes or not 0 <= now - self._checked_at < CACHE_SECONDS:
            self.last_caller = await self._access.resolve(self._kind, self.key)
            self._checked_at, self._changes = now, changes
        return self.last_caller


def network_of(address: str) -> str:
    """Return what counts as one address: for IPv6 the network, since a household has 2**64 addresses."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if parsed.version == 6:
        return str(ipaddress.ip_network(f'{parsed}/64', strict=False))
    return str(parsed)
