"""TLS for an endpoint: the authorities it trusts, and the client certificate."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

import httpx

from engine.errors import ModelError
from engine.models.endpoint import Endpoint


def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Return the endpoint's own context, or the shared one if it configures no certificates.

    Blocks: it reads files; loading the authorities' certificates takes 30 ms.

    Raises:
        ModelError: a file cannot be used; the error names it.
    """
    if not (endpoint.ca or endpoint.certificate):
        return _shared_context(os.environ.get('SSL_CERT_FILE', ''), os.environ.get('SSL_CERT_DIR', ''))
    try:
        context = ssl.create_default_context(cafile=endpoint.ca or None)
    except (OSError, ValueError) as error:
        raise _unusable(endpoint, 'ca', endpoint.ca, error) from None
    if endpoint.certificate:
        key, password = endpoint.certificate_key or None, endpoint.certificate_password
        try:
            # The password is passed as a function: without one, OpenSSL would prompt at the terminal.
            context.load_cert_chain(endpoint.certificate, key, lambda: password)
        except (OSError, ValueError) as error:
            file = key if key and not isinstance(error, FileNotFoundError) else endpoint.certificate
            raise _unusable(endpoint, 'certificate', file, error) from None
    return context


@lru_cache
def _shared_context(file: str, folder: str) -> ssl.SSLContext:
    """Return a context that trusts the environment's authorities; `file` and `folder` are only cache keys."""
    return httpx.create_ssl_context()


def _unusable(endpoint: Endpoint, what: str, file: str, error: Exception) -> ModelError:
    reason = endpoint.hide(getattr(error, 'strerror', None) or getattr(error, 'reason', None) or str(error))
    return ModelError(f'{endpoint.name}: its {what} {file} cannot be used: {reason}', kind='bad request')
