"""S3Server: moto's server on a free port; it can be unavailable for a while, and reject keys."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import moto.settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.server import ThreadedMotoServer

ANYONE = 'AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x'


class S3Server:
    """A server for the tests of this process; its contents survive `stop` and `start`."""

    def __init__(self) -> None:
        self._port = 0

    @property
    def url(self) -> str:
        """Its address."""
        return f'http://127.0.0.1:{self._port}'

    def start(self) -> None:
        """Serve, at the previous address."""
        self._server = ThreadedMotoServer('127.0.0.1', port=self._port, verbose=False)
        self._server.start()
        self._port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        """Accept no more connections."""
        self._server.stop()

    def environment(self) -> dict[str, str]:
        """The environment variables for it."""
        return {
            'AWS_ENDPOINT_URL': self.url,
            'AWS_REGION': 'us-east-1',
            'AWS_ACCESS_KEY_ID': 'k',
            'AWS_SECRET_ACCESS_KEY': 's',
        }

    def bucket(self) -> str:
        """The URL of a prefix in a new bucket."""
        name = f'runs-{secrets.token_hex(4)}'
        httpx.put(f'{self.url}/{name}', headers={'Authorization': ANYONE}).raise_for_status()
        return f's3://{name}/team/files'

    @contextmanager
    def away(self) -> Iterator[None]:
        """Accept no connections meanwhile."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def strict(self) -> Iterator[None]:
        """Reject all keys meanwhile."""
        before = moto.settings.INITIAL_NO_AUTH_ACTION_COUNT
        moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        ActionAuthenticatorMixin.request_count = 0
        try:
            yield
        finally:
            moto.settings.INITIAL_NO_AUTH_ACTION_COUNT = before
