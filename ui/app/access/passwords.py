"""Passwords and secrets: hashed, verified and generated; none is stored here."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from engine import InvalidInput

if TYPE_CHECKING:
    from argon2 import PasswordHasher

P = ParamSpec('P')
R = TypeVar('R')
MIN_LENGTH, MAX_LENGTH = 12, 1_000
PROFILE: Final = 'RFC_9106_LOW_MEMORY'
"""The cost of hashing, and so of guessing, by its name in `argon2.profiles`."""
MAX_HASHING: Final = 2
"""Maximum passwords hashed at the same time: each takes 64 MB and a tenth of a second."""
MAX_WAITING: Final = 30
TOKEN_PREFIX: Final = 'hct_'
"""The prefix of tokens, so that scanners for leaked secrets recognize them."""


class Passwords:
    """Hashes and checks passwords with Argon2id, in threads, a few at a time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(MAX_HASHING)
        self._waiting = 0
        self._dummy_hash = ''

    @functools.cached_property
    def _hasher(self) -> PasswordHasher:
        from argon2 import PasswordHasher, profiles  # Slow to import, and only needed where people log in.

        return PasswordHasher.from_parameters(getattr(profiles, PROFILE))

    @property
    def is_busy(self) -> bool:
        """Whether too many are waiting to accept another one."""
        return self._waiting >= MAX_WAITING

    async def hash(self, password: str) -> str:
        """Return the hash to store, with its salt and its parameters."""
        return await self._run_in_thread(self._hasher.hash, password)

    async def verify(self, stored: str, password: str) -> bool:
        """Whether the password is right; takes just as long if there is none (`stored` is '')."""
        self._dummy_hash = self._dummy_hash or await self.hash(secrets.token_urlsafe())
        right = await self._run_in_thread(self._verify, stored or self._dummy_hash, password)
        return right and bool(stored)

    def is_outdated(self, stored: str) -> bool:
        """Whether it was hashed with weaker parameters than the current ones."""
        return self._hasher.check_needs_rehash(stored)

    def _verify(self, stored: str, password: str) -> bool:
        from argon2.exceptions import Argon2Error, InvalidHashError

        try:
            return self._hasher.verify(stored, password)
        except (Argon2Error, InvalidHashError):
            return False

    async def _run_in_thread(self, work: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
        self._waiting += 1
        try:
            async with self._slots:
                return await asyncio.to_thread(work, *args, **options)
        finally:
            self._waiting -= 1


def check_password(name: str, password: str) -> None:
    """Reject a password that is too easy to guess. Raises `InvalidInput`."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise InvalidInput(
            {'password': f'it needs at least {MIN_LENGTH} characters, and at most {MAX_LENGTH:,}'}
        )
    if name.lower() in password.lower() or len(set(password)) < MIN_LENGTH // 2:
        raise InvalidInput(
            {'password': 'it is too easy to guess: it contains the name, or too few different characters'}
        )


def new_secret() -> str:
    """Return a random secret of 256 bits."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return the digest to store for a random secret, which cannot be guessed: a fast hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()
