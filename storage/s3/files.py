"""S3Files: files in a bucket, through obstore, with errors that say what is wrong."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.errors import FilesUnavailable, InvalidInput

if TYPE_CHECKING:
    from obstore.store import S3Store

URL: Final = re.compile(r's3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>.*))?')
CHUNK_BYTES: Final = 1 << 20
FILES_PER_PAGE: Final = 1_000
ENDPOINTS: Final = ('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT')
"""Environment variables that name a server other than Amazon's, most specific first."""
RETRIES: Final = 2
"""Retries hide short outages. Longer ones are reported: a run waits, and a page shows the error."""
EXPLANATIONS: Final = (
    ('NoSuchBucket', 'there is no bucket of that name'),
    ('InvalidAccessKeyId', 'it does not know the key of AWS_ACCESS_KEY_ID'),
    ('SignatureDoesNotMatch', 'AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID'),
    ('ExpiredToken', 'the session of AWS_SESSION_TOKEN has expired'),
    ('AccessDenied', 'the key does not have permission for this'),
    ('RequestTimeTooSkewed', 'the clock of this machine is wrong'),
    ('PermanentRedirect', 'the bucket is in another region: set AWS_REGION'),
    ('AuthorizationHeaderMalformed', 'the bucket is in another region: set AWS_REGION'),
    ('169.254.169.254', 'no key is given: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'),
)
"""Server errors, and their explanations for the administrator."""
REFUSED: Final = 'it refuses the key'


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file in the bucket."""

    path: str
    size: int
    modified: float


class S3Files:
    """Files below one prefix of a bucket. Every method blocks; threads may share it.

    Server, region and keys come from the environment, as in other programs (`AWS_*`).

    Args:
        url: `s3://BUCKET/PREFIX`.

    Raises:
        InvalidInput: the URL does not name a bucket, or obstore is not installed.
    """

    def __init__(self, url: str) -> None:
        match = URL.fullmatch(url.strip())
        if match is None:
            raise InvalidInput({'--files': f'must be s3://BUCKET or s3://BUCKET/PREFIX, not {url[:200]!r}'})
        try:
            import obstore  # noqa: F401  (an extra)
        except ImportError:
            raise InvalidInput({'--files': "needs obstore: pip install 'hemicycle[s3]'"}) from None
        self._bucket, self._prefix = match['bucket'], (match['prefix'] or '').strip('/')
        self._endpoint = next((value for name in ENDPOINTS if (value := os.environ.get(name, ''))), '')

    @property
    def name(self) -> str:
        """The bucket and prefix, and the server if it is not Amazon's."""
        place = f's3://{self._bucket}/{self._prefix}'.rstrip('/')
        return f'{place} at {self._endpoint}' if self._endpoint else place

    @cached_property
    def _store(self) -> S3Store:
        from obstore.store import S3Store

        return S3Store(
            self._bucket,
            prefix=self._prefix or None,
            config={'endpoint': self._endpoint} if self._endpoint else None,
            client_options={
                'connect_timeout': '3s',
                'read_timeout': '20s',
                'timeout': '10min',
                'allow_http': self._endpoint.startswith('http://'),
            },
            retry_config={'max_retries': RETRIES, 'retry_timeout': timedelta(seconds=10)},
        )

    def check(self) -> None:
        """Write a file, read it and remove it. Raises `FilesUnavailable`."""
        path, data = f'.check/{secrets.token_hex(8)}', b'hemicycle'
        self.send(path, data)
        try:
            stored = b''.join(self.read(path))
        except FileNotFoundError:
            stored = b''
        if stored != data:
            raise FilesUnavailable(f'{self.name}: what was written cannot be read back')
        self.remove([path])

    def read(self, path: str) -> Iterator[bytes]:
        """Yield a file in pieces. Raises `FileNotFoundError`, `FilesUnavailable`."""
        with self._translate_errors(path):
            for piece in self._store.get(path).stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(piece)

    def size(self, path: str) -> int | None:
        """Return a file's size; None if it does not exist. Raises `FilesUnavailable`."""
        try:
            with self._translate_errors(path):
                return int(self._store.head(path)['size'])
        except FileNotFoundError:
            return None

    def send(self, path: str, content: bytes | Path) -> None:
        """Upload a file, completely or not at all. Raises `FilesUnavailable`."""
        with self._translate_errors(path):
            self._store.put(path, content)

    def list_files(self, folder: str) -> Iterator[StoredFile]:
        """Yield all files below a folder. Raises `FilesUnavailable`."""
        with self._translate_errors(folder):
            for page in self._store.list(folder, chunk_size=FILES_PER_PAGE):
                for entry in page:
                    when = entry['last_modified'].timestamp()
                    yield StoredFile(path=entry['path'], size=entry['size'], modified=when)

    def folders(self) -> list[str]:
        """Return the top-level folders. Raises `FilesUnavailable`."""
        with self._translate_errors('/'):
            return sorted(self._store.list_with_delimiter()['common_prefixes'])

    def copy(self, source: str, target: str) -> None:
        """Copy a file within the bucket. Raises `FileNotFoundError`, `FilesUnavailable`."""
        with self._translate_errors(source):
            self._store.copy(source, target)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, if they exist. Raises `FilesUnavailable`."""
        batch = list(paths)
        with self._translate_errors(batch[0] if batch else ''):
            if batch:
                self._store.delete(batch)

    @contextmanager
    def _translate_errors(self, path: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            text = str(error)
            if isinstance(error, FileNotFoundError) and 'NoSuchBucket' not in text:
                raise FileNotFoundError(path) from None
            raise FilesUnavailable(f'{self.name}: {_explain(error, text)}') from error


def _explain(error: Exception, text: str) -> str:
    for word, meaning in EXPLANATIONS:
        if word in text:
            return meaning
    if type(error).__name__ in ('PermissionDeniedError', 'UnauthenticatedError', 'PermissionError'):
        return REFUSED
    if 'HTTP error' in text or 'Connect' in text or isinstance(error, OSError):
        return 'it cannot be reached'
    status = re.search(r'status code: (\d{3}[^:\n]*)', text)
    return f'it answers {status[1].strip()}' if status else text.splitlines()[0][:300]
