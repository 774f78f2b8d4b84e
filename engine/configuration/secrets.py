"""Secrets that a configuration refers to: where they are kept, looked up, and forgotten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError, InvalidInput
from engine.host.home import home_folder
from engine.host.private_file import change_private, read_private

REFERENCE = r'env:\w+|keyring:[^/]+/.+|file:[a-z0-9][a-z0-9_-]*'
"""A regular expression of where a secret is kept."""
REFERENCE_FORMS = 'env:NAME, keyring:SERVICE/USER or file:NAME'
SERVICE = 'hemicycle'
"""The service of our own entries in the system's keyring."""
MAX_KEY = 4_096
RECOMMENDED = 1
"""The lowest priority of a keyring that encrypts what it keeps."""


class MissingSecret(Exception):
    """A secret is not where it should be kept."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Looks up the secrets that a configuration refers to."""

    environment: Mapping[str, str]
    keyring: Callable[[str, str], str | None]

    def resolve(self, reference: str) -> str:
        """Return the secret that a reference names. Raises `MissingSecret`."""
        kind, _, rest = reference.partition(':')
        if kind == 'env':
            if secret := self.environment.get(rest, '').strip():
                return secret
            raise MissingSecret(f'the environment variable {rest} is not set')
        if kind == 'file':
            if secret := str(read_private(keys_file()).get(rest, '')):
                return secret
            raise MissingSecret(f'no key is kept for {rest!r} in {keys_file()}')
        service, _, user = rest.partition('/')
        if secret := (self.keyring(service, user) or '').strip():
            return secret
        raise MissingSecret(f'the keyring has no password of {user!r} for {service!r}')

    def resolve_all(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the values with references replaced by the secrets. Raises `MissingSecret`."""
        return {
            name: self.resolve(value) if value.startswith(('env:', 'keyring:', 'file:')) else value
            for name, value in values.items()
        }


def keys_file() -> Path:
    """Return the file that keeps keys without a keyring: not encrypted, and of mode 0600."""
    return home_folder() / 'keys.json'


def has_keyring() -> bool:
    """Whether this system has a keyring that encrypts what it keeps. Blocks."""
    return _encrypting_keyring() is not None


def checked_key(key: str) -> str:
    """Return a pasted key without the space around it. Raises `InvalidInput`, which never quotes it."""
    key = key.strip()
    if not key or len(key) > MAX_KEY or not key.isascii() or not key.isprintable() or ' ' in key:
        problem = f'must be a key: up to {MAX_KEY:,} ASCII characters without spaces or line breaks'
        raise InvalidInput({'secret': problem})
    return key


def keep_key(name: str, key: str) -> str:
    """Keep the key of an endpoint in the system's keyring, or else in `keys_file`. Blocks.

    Returns:
        Where it is kept, as `key` of the endpoint's section.

    Raises:
        EngineError: it could not be kept.
    """
    ring = _encrypting_keyring()
    if ring is not None:
        with suppress(Exception):  # Every system has its own keyring, with its own errors: it may be locked.
            ring.set_password(SERVICE, name, key)
            return f'keyring:{SERVICE}/{name}'
    _write_to_file(name, key)
    return f'file:{name}'


def forget_key(name: str, reference: str) -> None:
    """Forget a key that `keep_key` has kept for an endpoint; any other reference is left alone. Blocks."""
    if reference == f'file:{name}':
        _write_to_file(name, None)
    elif reference == f'keyring:{SERVICE}/{name}' and (ring := _encrypting_keyring()) is not None:
        with suppress(Exception):  # It is gone, or the keyring is locked.
            ring.delete_password(SERVICE, name)


def read_keyring(service: str, user: str) -> str | None:
    """Return a password from the system's keyring. Raises `MissingSecret`."""
    try:
        import keyring
    except ImportError:
        raise MissingSecret('the package keyring is not installed') from None
    try:
        password: str | None = keyring.get_password(service, user)
    except Exception as error:  # Every system has its own keyring, with its own errors.
        raise MissingSecret(f'the keyring cannot be read: {type(error).__name__}') from None
    return password


def _encrypting_keyring() -> Any:
    try:
        import keyring

        ring = keyring.get_keyring()
        return ring if ring.priority >= RECOMMENDED else None
    except Exception:  # Not installed, or the system's own is broken.
        return None


def _write_to_file(name: str, key: str | None) -> None:
    try:
        change_private(keys_file(), {name: key})
    except OSError as error:
        raise EngineError(f'{keys_file()} cannot be written: {error.strerror or error}') from None
