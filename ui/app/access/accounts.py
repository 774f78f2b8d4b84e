"""Accounts with their tokens and sessions: stored with the runs, secrets only as hashes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from engine import InvalidInput
from engine.errors import EntryChanged
from engine.host.clock import Clock
from engine.journal import Documents, Entry, EntryQuery
from engine.operations import Role
from engine.records import refuse_nul
from ui.app.access.passwords import TOKEN_PREFIX, Passwords, check_password, digest, new_secret

ACCOUNT, TOKENS, SESSION, LINK = 'account', 'token', 'session', 'identity'
"""Kinds of entries."""
NAME: Final = re.compile(r'[A-Za-z0-9][A-Za-z0-9._@-]{0,99}')
MAX_IDLE_SECONDS, MAX_SESSION_SECONDS = 24 * 3_600.0, 14 * 86_400.0
"""Seconds after which a session ends: since its last request, and since its start."""
DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A person or a program that may log in."""

    name: str
    role: Role
    created: float
    has_password: bool
    issuer: str = ''
    """The identity provider that vouches for it, or ''."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of a program, without its secret."""

    id: str
    account: str
    label: str
    role: Role
    """Its maximum role; the account's own role limits it, too."""
    created: float
    expires: float
    """0 means never."""
    used: float
    """When it was last used; 0 means never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token with its secret, which is shown once: only its hash is stored."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser in which a person is logged in."""

    id: str
    account: str
    created: float
    seen: float
    expires: float
    address: str
    agent: str
    """The user agent of the browser."""
    via: str


class Accounts:
    """Reads and changes accounts, tokens and sessions.

    Args:
        documents: store them.
        clock: determines when something expires.
    """

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._documents, self._clock = documents, clock
        self.passwords = Passwords()
        self.changes = 0
        """Incremented whenever a session or token ends here, so that cached callers are checked again."""

    async def has_any(self) -> bool:
        """Whether any account exists; without one, no login is needed."""
        return bool(await self._documents.find(EntryQuery(kind=ACCOUNT, limit=1)))

    async def list(self) -> list[Account]:
        """Return all accounts, sorted by name without regard to case."""
        entries = await self._documents.find(EntryQuery(kind=ACCOUNT))
        return sorted(map(_account, entries), key=lambda account: account.name.lower())

    async def find(self, name: str) -> Account | None:
        """Return an account by its name, ignoring case."""
        entry = await self._documents.get(ACCOUNT, name.lower())
        return _account(entry) if entry else None

    async def add(self, name: str, role: Role = Role.OPERATOR, password: str = '') -> Account:
        """Add an account; one without a password is for tokens or an identity provider.

        Raises:
            InvalidInput: the name is taken or invalid, or the password is too easy.
        """
        if not NAME.fullmatch(name):
            raise InvalidInput(
                {'name': 'it may contain letters, digits and . _ @ -, and begins with a letter or digit'}
            )
        if await self.find(name):
            raise InvalidInput({'name': f'the account {name!r} exists already'})
        body: dict[str, Any] = {'name': name, 'created': self._clock.now(), 'password': ''}
        if password:
            check_password(name, password)
            body['password'] = await self.passwords.hash(password)
        entry = Entry(kind=ACCOUNT, key=name.lower(), state=role, rank=body['created'], body=body)
        try:
            await self._documents.write([entry])
        except EntryChanged:
            raise InvalidInput({'name': f'the account {name!r} exists already'}) from None
        return _account(entry)

    async def set_password(
        self, name: str, password: str, *, keep: str = '', revoke_tokens: bool = False
    ) -> int:
        """Give an account a new password; all other sessions end. Raises `InvalidInput`.

        Args:
            name: the account.
            password: the new one.
            keep: the id of the session that goes on.
            revoke_tokens: whether its tokens end, too.

        Returns:
            The number of its tokens that still work.
        """
        entry = await self._account(name)
        check_password(entry.body['name'], password)
        await self.rehash(name, password)
        if revoke_tokens:
            await self._documents.forget(EntryQuery(kind=TOKENS, about=entry.key))
        await self.end_sessions(name, keep)
        now = self._clock.now()
        return sum(not token.expires or token.expires > now for token in await self.tokens(name))

    async def set_role(self, name: str, role: Role) -> None:
        """Change an account's role immediately. Raises `InvalidInput`, also for the last administrator."""
        entry = await self._account(name)
        if role is not Role.ADMIN:
            await self._check_not_last(entry)
        await self._documents.write([replace(entry, state=role)])
        self.changes += 1

    async def remove(self, name: str) -> None:
        """Remove an account, its tokens and sessions. Raises `InvalidInput`, also for the last admin."""
        entry = await self._account(name)
        await self._check_not_last(entry)
        # Last of all the account: tokens that outlived it would be those of the next account of its name.
        await self._documents.forget(EntryQuery(kind=TOKENS, about=entry.key))
        await self.end_sessions(name)
        links = await self._documents.find(EntryQuery(kind=LINK, about=entry.key))
        await self._documents.write([], [entry, *links])
        self.changes += 1

    async def find_by_subject(self, issuer: str, subject: str) -> Account | None:
        """Return the account of an identity provider's user."""
        link = await self._documents.get(LINK, f'{issuer} {subject}')
        return await self.find(link.about) if link else None

    async def add_linked(self, issuer: str, subject: str, name: str, role: Role) -> Account:
        """Add an account for an identity provider's user; a number may be appended to the name.

        An existing account is never matched by name: two providers may use the same name.
        """
        plain = re.sub(r'[^A-Za-z0-9._@-]+', '-', name).strip('-._@')[:90] or 'user'
        for number in range(1, 1_000):
            free = plain if number == 1 else f'{plain}-{number}'
            if await self.find(free):
                continue
            now = self._clock.now()
            body = {'name': free, 'created': now, 'password': '', 'issuer': issuer}
            entry = Entry(kind=ACCOUNT, key=free.lower(), state=role, rank=now, body=body)
            link = Entry(kind=LINK, key=f'{issuer} {subject}', about=free.lower(), rank=now)
            try:
                await self._documents.write([entry, link])
            except EntryChanged:
                if account := await self.find_by_subject(issuer, subject):
                    return account
                continue
            return _account(entry)
        raise InvalidInput({'name': f'no name like {plain!r} is free'})

    async def password_hash(self, name: str) -> str:
        """Return the hash of an account's password; '' if there is none, or no such account."""
        entry = await self._documents.get(ACCOUNT, name.lower())
        return str(entry.body['password']) if entry else ''

    async def rehash(self, name: str, password: str) -> None:
        """Store the hash of a password, with the current parameters."""
        entry = await self._account(name)
        hashed = await self.passwords.hash(password)
        await self._documents.write([replace(entry, body={**entry.body, 'password': hashed})])

    async def tokens(self, name: str = '') -> Sequence[Token]:
        """Return the tokens of an account, or all, newest first."""
        query = EntryQuery(kind=TOKENS, about=name.lower(), newest=True)
        return [_token(entry) for entry in await self._documents.find(query)]

    async def add_token(
        self, name: str, label: str, role: Role = Role.OPERATOR, days: float | None = 90.0
    ) -> NewToken:
        """Add a token. Raises `InvalidInput`.

        Args:
            name: the account.
            label: its purpose.
            role: its maximum role.
            days: until it expires; None means never.
        """
        account = _account(await self._account(name))
        refuse_nul({'label': label})
        label = label.strip()
        if not 0 < len(label) <= 100:
            raise InvalidInput({'label': 'describe its purpose in 1 to 100 characters'})
        if not account.role.includes(role):
            raise InvalidInput({'role': f'{name} is a {account.role}: its tokens cannot have a higher role'})
        if days is not None and not 0 < days <= 3_650:
            raise InvalidInput({'days': 'must be more than 0 and at most 3,650'})
        secret, now = f'{TOKEN_PREFIX}{new_secret()}', self._clock.now()
        body = {
            'id': secrets.token_hex(4),
            'label': label,
            'created': now,
            'expires': now + days * DAY if days else 0.0,
            'used': 0.0,
        }
        entry = Entry(kind=TOKENS, key=digest(secret), about=name.lower(), state=role, rank=now, body=body)
        await self._documents.write([entry])
        return NewToken(token=_token(entry), secret=secret)

    async def revoke_token(self, id: str, name: str = '') -> Token:
        """Revoke a token immediately, of this account or of any. Raises `InvalidInput`."""
        for entry in await self._documents.find(EntryQuery(kind=TOKENS, about=name.lower())):
            if entry.body['id'] == id:
                await self._documents.write([], [entry])
                self.changes += 1
                return _token(entry)
        raise InvalidInput({'token': f'there is no token {id!r}'})

    async def sessions(self, name: str) -> Sequence[Session]:
        """Return the sessions of an account, latest first."""
        entries = await self._documents.find(EntryQuery(kind=SESSION, about=name.lower()))
        now = self._clock.now()
        open = [_session(entry) for entry in entries if entry.rank > now]
        return sorted(open, key=lambda session: -session.seen)

    async def begin_session(self, name: str, via: str, address: str, agent: str) -> str:
        """Begin a session; return the secret for the cookie, and remove expired sessions."""
        now, secret = self._clock.now(), new_secret()
        body = {'created': now, 'seen': now, 'address': address, 'agent': agent[:200], 'via': via}
        entry = Entry(
            kind=SESSION, key=digest(secret), about=name.lower(), rank=now + MAX_IDLE_SECONDS, body=body
        )
        await self._documents.forget(EntryQuery(kind=SESSION, until=now))
        await self._documents.write([entry])
        return secret

    async def end_session(self, key: str) -> None:
        """End one session, by its id or by the hash of its secret."""
        for entry in await self._documents.find(EntryQuery(kind=SESSION)):
            if entry.key == key or entry.key[:16] == key:
                await self._documents.write([], [entry])
        self.changes += 1

    async def end_sessions(self, name: str, keep: str = '') -> None:
        """End all sessions of an account, except the one with the id `keep`."""
        entries = await self._documents.find(EntryQuery(kind=SESSION, about=name.lower()))
        ending = [entry for entry in entries if not keep or entry.key[:16] != keep]
        await self._documents.write([], ending)
        self.changes += 1

    async def record_use(self, entry: Entry) -> None:
        """Record that a session or token was used; concurrent updates do not matter."""
        now = self._clock.now()
        if entry.kind == SESSION:
            until = min(now + MAX_IDLE_SECONDS, entry.body['created'] + MAX_SESSION_SECONDS)
            fresh = replace(entry, rank=until, body={**entry.body, 'seen': now})
        else:
            fresh = replace(entry, body={**entry.body, 'used': now})
        with suppress(EntryChanged):
            await self._documents.write([fresh])

    async def entry(self, kind: str, key: str) -> Entry | None:
        """Return the entry of a session or token by the hash of its secret, unless it has expired."""
        entry = await self._documents.get(kind, key)
        if entry is None:
            return None
        until = entry.rank if kind == SESSION else entry.body['expires']
        return entry if not until or until > self._clock.now() else None

    async def _account(self, name: str) -> Entry:
        entry = await self._documents.get(ACCOUNT, name.lower())
        if entry is None:
            raise InvalidInput({'name': f'there is no account {name!r}'})
        return entry

    async def _check_not_last(self, entry: Entry) -> None:
        admins = [account for account in await self.list() if account.role is Role.ADMIN]
        if [account.name for account in admins] == [entry.body['name']]:
            raise InvalidInput({'name': f'{entry.body["name"]} is the only administrator'})


def _account(entry: Entry) -> Account:
    body = entry.body
    return Account(
        name=str(body['name']),
        role=Role(entry.state),
        created=entry.rank,
        has_password=bool(body['password']),
        issuer=str(body.get('issuer', '')),
    )


def _token(entry: Entry) -> Token:
    body: Mapping[str, Any] = entry.body
    return Token(
        id=body['id'],
        account=entry.about,
        label=body['label'],
        role=Role(entry.state),
        created=body['created'],
        expires=body['expires'],
        used=body['used'],
    )


def _session(entry: Entry) -> Session:
    body: Mapping[str, Any] = entry.body
    return Session(
        id=entry.key[:16],
        account=entry.about,
        created=body['created'],
        seen=body['seen'],
        expires=min(entry.rank, body['created'] + MAX_SESSION_SECONDS),
        address=body['address'],
        agent=body['agent'],
        via=body['via'],
    )
