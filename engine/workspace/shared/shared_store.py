"""SharedStore: a run's objects, both local and in storage that other machines can access."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar

from engine.errors import WorkspaceError
from engine.records.events import DIGEST
from engine.workspace.object_store import ObjectStore
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.snapshots import entries_of

P = ParamSpec('P')
T = TypeVar('T')
MAX_TRANSFERS = 16
"""Maximum number of concurrent transfers."""


class SharedStore(ObjectStore):
    """Objects in a local folder, uploaded to the remote storage before a step refers to them.

    The folder is a cache: missing objects are fetched when read. It never goes stale, because objects never
    change.

    Args:
        root: the local folder.
        remote: the remote storage.
        folder: the objects' folder in the remote storage.
    """

    def __init__(self, root: Path, remote: RemoteFiles, folder: str) -> None:
        super().__init__(root)
        self._remote, self._folder = remote, folder
        self._sent: set[str] | None = None
        """The remote store's digests; None until listed. A local object may be missing there if a process
        died before sending it."""
        self._unsent: set[str] = set()

    @property
    def is_sent(self) -> bool:
        """Whether the remote store has everything."""
        return not self._unsent and (self._sent is not None or not self.root.exists())

    def put(self, data: bytes) -> str:
        """Like `ObjectStore.put`; the object is sent later."""
        return self._note(super().put(data))

    def put_file(self, file: BinaryIO) -> str:
        """Like `ObjectStore.put_file`; the object is sent later."""
        return self._note(super().put_file(file))

    def open(self, digest: str) -> BinaryIO:
        """Like `ObjectStore.open`; fetches it if necessary. Raises `WorkspaceError`, `FilesUnavailable`."""
        self.fetch(digest)
        return super().open(digest)

    def size(self, digest: str) -> int:
        """Return the object's size. Raises `WorkspaceError`, `FilesUnavailable`."""
        if super().__contains__(digest):
            return super().size(digest)
        size = self._remote.size(self.path_there(digest))
        if size is None:
            raise WorkspaceError(f'the content {digest[:12]} is no longer kept')
        return size

    def __contains__(self, digest: str) -> bool:
        return super().__contains__(digest) or self._remote.size(self.path_there(digest)) is not None

    def link_one(self, digest: str, other: ObjectStore) -> None:
        """Like `ObjectStore.link_one`; fetches it if necessary."""
        self.fetch(digest)
        super().link_one(digest, other)

    def fetch(self, digest: str) -> None:
        """Fetch an object unless it is local. Raises `WorkspaceError` if missing, `FilesUnavailable`."""
        path = self._path(digest)
        if path.exists():
            return
        scratch, hashed = self._scratch(), hashlib.sha256()
        try:
            with scratch.open('wb') as copy:
                for piece in self._remote.read(self.path_there(digest)):
                    hashed.update(piece)
                    copy.write(piece)
            self.check(digest, hashed.hexdigest())
            self._settle(scratch, path)
        except FileNotFoundError:
            raise WorkspaceError(f'the content {digest[:12]} is no longer kept') from None
        finally:
            scratch.unlink(missing_ok=True)

    def local_only(self) -> list[str]:
        """Return the digests of objects that only the local store has."""
        if self._sent is None:
            there = self.remote_digests()
            self._unsent |= self.here() - there
            self._sent = there
        self._unsent -= self._sent
        return sorted(self._unsent)

    def here(self) -> set[str]:
        """Return the digests of objects in the local folder."""
        return {f'{path.parent.name}{path.name}' for path in self.root.glob('[0-9a-f][0-9a-f]/*')}

    def remote_digests(self) -> set[str]:
        """Return the digests of objects in the remote store."""
        paths = (file.path.rsplit('/', 2)[-2:] for file in self._remote.list_files(self._folder))
        return {digest for parts in paths if DIGEST.fullmatch(digest := ''.join(parts))}

    def send(self, digest: str) -> None:
        """Copy one object to the remote storage."""
        self._remote.send(self.path_there(digest), self._path(digest))
        if self._sent is not None:
            self._sent.add(digest)
        self._unsent.discard(digest)

    def path_there(self, digest: str) -> str:
        """Return an object's path in the remote store."""
        path = self._path(digest)
        return f'{self._folder}/{path.parent.name}/{path.name}'

    def _note(self, digest: str) -> str:
        if self._sent is None or digest not in self._sent:
            self._unsent.add(digest)
        return digest


class FileTransfer:
    """Transfers files to and from the remote storage in its own thread pool, to keep other threads free.

    Args:
        remote: the remote storage.
    """

    def __init__(self, remote: RemoteFiles) -> None:
        self.remote = remote
        self._threads = ThreadPoolExecutor(MAX_TRANSFERS, 'files')

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work in the thread pool. Raises `FilesUnavailable`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))

    async def each(self, work: Callable[[str], object], items: Iterable[str]) -> None:
        """Run blocking work for each item concurrently; raises the first error once all are done."""
        jobs: list[Awaitable[object]] = [self.do(work, item) for item in items]
        for result in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def send(self, store: SharedStore) -> None:
        """Send the objects that only the local store has. Raises `FilesUnavailable`."""
        if not store.is_sent:
            await self.each(store.send, await self.do(store.local_only))

    async def fetch_trees(self, store: SharedStore, trees: Iterable[str]) -> None:
        """Fetch snapshots with all their files. Raises `WorkspaceError`, `FilesUnavailable`."""
        pending = set(trees) - {''}
        while pending:
            await self.each(store.fetch, pending)
            entries = await self.do(lambda fetched: [entries_of(store, tree) for tree in fetched], pending)
            inside = [entry for tree_entries in entries for entry in tree_entries.values()]
            await self.each(store.fetch, {entry[1] for entry in inside if entry[0] == 'file'})
            pending = {entry[1] for entry in inside if entry[0] == 'folder'}

    async def fetch_all(self, store: SharedStore) -> None:
        """Fetch all objects of a run. Raises `WorkspaceError`, `FilesUnavailable`."""
        await self.each(store.fetch, await self.do(store.remote_digests))

    async def remove(self, folder: str, *, before: float = math.inf) -> bool:
        """Remove a remote folder unless it has a file newer than `before`; returns whether any were removed.

        Raises:
            FilesUnavailable
        """

        def remove() -> bool:
            files = list(self.remote.list_files(folder))
            if any(file.modified >= before for file in files):
                return False
            self.remote.remove(file.path for file in files)
            return bool(files)

        return await self.do(remove)

    def close(self) -> None:
        """Cancel pending work and accept no more, without waiting for running transfers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
