"""HTTP clients behind the proxies of the environment, and what went wrong with a connection, in words."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx

DESCRIPTIONS: Final[tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...]] = (
    (ssl.SSLCertVerificationError, 'its certificate is not trusted'),
    (socket.gaierror, 'its host name is not known'),
    (ConnectionRefusedError, 'it refuses connections'),
    (httpx.ConnectTimeout, 'the connection timed out'),
    ((httpx.TimeoutException, TimeoutError), 'it did not answer in time'),
    (ssl.SSLError, 'it does not speak TLS'),
    (httpx.ProxyError, 'the proxy settings of the environment (HTTPS_PROXY, NO_PROXY ...) cannot be used'),
    (
        (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError, ConnectionError),
        'it closed the connection',
    ),
    ((httpx.TransportError, OSError), 'no connection could be made'),
)
"""By kind of error, the most telling first: one is often the cause of another."""


@contextmanager
def environment_proxies() -> Iterator[None]:
    """Create an HTTP client inside of it: it reads the proxies from the environment.

    Raises:
        httpx.ProxyError: the client cannot read them, such as a range of IPv6 addresses in NO_PROXY.
    """
    try:
        yield
    except (httpx.InvalidURL, ImportError, ValueError) as error:
        raise httpx.ProxyError(str(error)) from error


def network_problem(error: BaseException) -> str:
    """Why a server could not be reached, to follow its name and a colon."""
    causes = list(_with_causes(error))
    for kinds, words in DESCRIPTIONS:
        if any(isinstance(cause, kinds) for cause in causes):
            return words
    return ' '.join(str(error).split()) or type(error).__name__


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for nested in error.exceptions:
                yield from _with_causes(nested)
        error = error.__cause__ or error.__context__
