"""Documents: what programs around the engine store with the runs; the engine reads none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from typing_extensions import override

from engine.errors import EntryChanged
from engine.records import RunId, RunInfo

RESERVATION_SECONDS = 7 * 86_400.0
"""Seconds after which a reservation is forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The key of a request that creates something and may be retried, stored before anything is created."""

    key: str
    digest: str
    """Of the request's contents: the same key with other contents is a mistake."""
    run: RunId
    """The id of the run it creates, so that a retry after a crash creates no second one."""
    created: float
    reply: str = ''
    """The reply to the request; '' until there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A small document.

    The key is unique within its kind. `version` counts the writes, so that if two writers have read the same
    version, the second write is rejected.
    """

    kind: str
    key: str
    body: Mapping[str, Any] = field(default_factory=dict)
    """JSON values."""
    state: str = ''
    """A value to select by."""
    rank: float = 0.0
    """A value to sort by."""
    about: str = ''
    """Another value to select by, such as the run it is about, which need not exist."""
    version: int = 0
    """0 while it is not stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryQuery:
    """Which entries of a kind to list, by rank, then by key; '' and None select all."""

    kind: str
    state: str = ''
    about: str = ''
    until: float | None = None
    """Only entries of this rank or a lower one."""
    newest: bool = False
    """Whether the highest ranks come first."""
    limit: int | None = None


class Documents(Protocol):
    """Stores entries and reservations. Every method may raise `JournalError`."""

    async def reserve(self, reservation: Reservation) -> Reservation:
        """Store a reservation unless its key is in use; return the stored one. Old ones are dropped."""

    async def finish_reservation(self, key: str, reply: str | None) -> None:
        """Store the reply to a reserved request; None frees the key, since nothing was created."""

    async def get(self, kind: str, key: str) -> Entry | None:
        """Return an entry by its key, or None."""

    async def find(self, query: EntryQuery) -> list[Entry]:
        """Return the entries that match."""

    async def write(self, written: Sequence[Entry], deleted: Sequence[Entry] = ()) -> None:
        """Write and delete entries, all or none; the version of each one written goes up by 1.

        Raises:
            EntryChanged: an entry's stored version is not the given one; nothing was written.
        """

    async def forget(self, query: EntryQuery) -> int:
        """Delete all entries that match, and return how many; the query's order and limit are ignored."""

    async def runs_beyond(self, kind: str, since: float) -> list[RunId]:
        """Return runs updated since a time whose last step is beyond the rank of their entry.

        A run's entry is the one of this kind whose key is the run's id; a run without one counts if it has
        any steps. Deleted runs are included. The least recently updated come first.
        """


class MemoryDocuments(Documents):
    """Documents in memory.

    Args:
        infos: returns the summaries of the stored runs.
    """

    def __init__(self, infos: Callable[[], Iterable[RunInfo]]) -> None:
        self._infos = infos
        self._reserved: dict[str, Reservation] = {}
        self._entries: dict[tuple[str, str], Entry] = {}

    @override
    async def reserve(self, reservation: Reservation) -> Reservation:
        too_old = reservation.created - RESERVATION_SECONDS
        self._reserved = {key: stored for key, stored in self._reserved.items() if stored.created >= too_old}
        return self._reserved.setdefault(reservation.key, reservation)

    @override
    async def finish_reservation(self, key: str, reply: str | None) -> None:
        stored = self._reserved.pop(key, None)
        if stored and reply is not None:
            self._reserved[key] = replace(stored, reply=reply)

    @override
    async def get(self, kind: str, key: str) -> Entry | None:
        return self._entries.get((kind, key))

    @override
    async def find(self, query: EntryQuery) -> list[Entry]:
        matches = sorted(
            self._matching(query), key=lambda entry: (entry.rank, entry.key), reverse=query.newest
        )
        return matches[: query.limit]

    @override
    async def write(self, written: Sequence[Entry], deleted: Sequence[Entry] = ()) -> None:
        for entry in (*written, *deleted):
            stored = self._entries.get((entry.kind, entry.key))
            if (stored.version if stored else 0) != entry.version:
                raise EntryChanged(entry.kind, entry.key)
        for entry in deleted:
            self._entries.pop((entry.kind, entry.key), None)
        for entry in written:
            self._entries[entry.kind, entry.key] = replace(entry, version=entry.version + 1)

    @override
    async def forget(self, query: EntryQuery) -> int:
        matches = self._matching(query)
        for entry in matches:
            del self._entries[entry.kind, entry.key]
        return len(matches)

    @override
    async def runs_beyond(self, kind: str, since: float) -> list[RunId]:
        infos = [
            info
            for info in self._infos()
            if info.updated >= since
            and info.seq > (entry.rank if (entry := self._entries.get((kind, info.id))) else 0)
        ]
        return [info.id for info in sorted(infos, key=lambda info: (info.updated, info.id))]

    def _matching(self, query: EntryQuery) -> list[Entry]:
        return [
            entry
            for entry in self._entries.values()
            if entry.kind == query.kind
            and query.state in ('', entry.state)
            and query.about in ('', entry.about)
            and (query.until is None or entry.rank <= query.until)
        ]
