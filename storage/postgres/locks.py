"""Which processes that use a PostgreSQL database are alive: each holds a lock in its own session."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from engine.errors import JournalUnavailable
from storage.postgres.connections import ADAPTERS, conninfo, translate_errors
from storage.settings import Settings

KIND = 'process'
"""The kind of the entries that name the processes."""
POLL_SECONDS = 0.5
"""Seconds between polls of the locks; each poll also checks that our own session still works."""
DEAD_AFTER = 2.0
"""Seconds for which a lock must be missing before its process counts as dead: after a disconnect or a restart
of the server, a live process re-acquires its lock within a beat or two."""
MAX_WAIT, RETRY_SECONDS = 15.0, 0.1
"""Seconds to wait while another process adopts runs, and between attempts."""
FORGET_AFTER = 60.0
"""Seconds until a dead process is forgotten; until then, each server tries to continue its runs."""
KEEPALIVE = 'SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3'
"""The server detects within 11 s that a machine is unreachable, and frees the locks of its processes."""

SELECT_LOCKS = """
SELECT
    ARRAY(
        SELECT classid::bigint << 32 | objid::bigint FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ),
    ARRAY(SELECT ARRAY[key, about, body] FROM entry WHERE kind = %s ORDER BY rank),
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float
"""
UPSERT_OWNER = """
INSERT INTO entry (kind, key, version, state, rank, about, body) VALUES (%s, %s, 1, '', %s, %s, %s)
ON CONFLICT (kind, key) DO UPDATE SET rank = excluded.rank, about = excluded.about, body = excluded.body
"""
DELETE_OWNERS = 'DELETE FROM entry WHERE kind = %s AND key = ANY(%s)'


@dataclass(frozen=True, slots=True)
class LockSnapshot:
    """The locks as last seen in the database."""

    at: float
    held: frozenset[int]
    owners: dict[str, tuple[str, str]]
    """The host of each process, and its description if it is a server."""
    up: float
    """Seconds since the database server was started."""

    def holds(self, owner: str) -> bool:
        """Return whether the lock of an owner is held."""
        return lock_id(owner) in self.held


class PostgresLocks:
    """Locks of the processes that use one database. A run's owner and epoch decide who may write it.

    A lock ends with its session even if the process is alive; it is re-acquired within a second. If a run was
    adopted in between, its former owner's next step is refused; nothing else is affected.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: psycopg.Connection[tuple[Any, ...]] | None = None
        self._mutex = threading.RLock()
        """Held while the session is in use."""
        self._stopped = threading.Event()
        self._poll_thread: threading.Thread | None = None
        self._own: list[str] = []
        self._holder = ''
        self._seen: LockSnapshot | None = None
        self._missing: dict[str, float] = {}
        """The time at which the lock of each process was first missing."""

    def acquire(self, owner: str) -> None:
        """Hold the lock of `owner`, a name no other process uses, until `release` or death.

        Raises:
            JournalUnavailable: another process holds it, or the database cannot be reached.
        """
        with self._mutex, translate_errors(self._settings.name):
            if owner in self._own:
                return
            session = self._session or self._connect()
            self._session = session
            if not self._acquire_lock(session, owner):
                raise JournalUnavailable(
                    f'another process is already running as {owner!r}; start this one under another name'
                )
            self._own.append(owner)
            self._poll(session)
            if self._poll_thread is None:
                self._poll_thread = threading.Thread(target=self._maintain_locks, name='locks', daemon=True)
                self._poll_thread.start()

    def is_alive(self, owner: str) -> bool:
        """Return whether a process, possibly this one, holds the lock of `owner`; True if that is unknown."""
        if owner in self._own:
            return True
        seen = self._latest_snapshot()
        if seen is None or seen.holds(owner):
            return True
        return owner in seen.owners and seen.up < DEAD_AFTER

    def live_owners(self) -> list[str]:
        """The owners whose lock is held."""
        seen = self._latest_snapshot()
        return [owner for owner in seen.owners if seen.holds(owner)] if seen else []

    def dead_owners(self) -> list[str]:
        """The owners that died holding their lock; an orderly exit forgets them."""
        if self._poll_thread is None:
            seen = self._latest_snapshot()
            return [owner for owner in seen.owners if not seen.holds(owner)] if seen else []
        now = time.monotonic()
        return [owner for owner, since in dict(self._missing).items() if now - since >= DEAD_AFTER]

    def forget(self, owner: str) -> None:
        """Forget a dead owner, once every server has had time to continue its runs."""
        with self._mutex:
            since = self._missing.get(owner)
            if self._session and since is not None and time.monotonic() - since >= FORGET_AFTER:
                with suppress(psycopg.Error):
                    self._session.execute(DELETE_OWNERS, (KIND, [owner]))

    def begin_adoption(self) -> None:
        """Keep other servers from adopting runs. Waits at most `MAX_WAIT`, as the epoch protects the runs."""
        until = time.monotonic() + MAX_WAIT
        while time.monotonic() < until:
            with self._mutex, suppress(psycopg.Error):
                if self._session is None:
                    return
                if _try_lock(self._session, ADOPTION):
                    self._poll(self._session)  # A run adopted by another server has a live owner.
                    return
            self._stopped.wait(RETRY_SECONDS)

    def end_adoption(self) -> None:
        """Let the other servers adopt runs."""
        with self._mutex, suppress(psycopg.Error):  # A session that was cut off no longer holds it.
            if self._session:
                self._session.execute('SELECT pg_advisory_unlock(%s)', (ADOPTION,))

    def serve(self, holder: str) -> None:
        """Publish `holder`, this process's description as a server; other servers may exist."""
        with self._mutex, translate_errors(self._settings.name):
            self._holder = holder
            for owner in self._own if self._session else ():
                self._publish(self._session, owner)

    def servers(self) -> list[str]:
        """Return the descriptions that servers on this machine published, oldest first."""
        seen, here = self._latest_snapshot(), socket.gethostname()
        if seen is None:
            return []
        return [
            holder
            for owner, (host, holder) in seen.owners.items()
            if holder and host == here and seen.holds(owner)
        ]

    def release(self) -> None:
        """Release every lock held here, and delete the entries of their owners."""
        self._stopped.set()
        if self._poll_thread:
            self._poll_thread.join()
        with self._mutex:
            if self._session:
                with suppress(psycopg.Error):  # On failure, other servers will find these owners dead.
                    self._session.execute(DELETE_OWNERS, (KIND, self._own))
                self._session.close()
            self._session, self._own = None, []

    def _maintain_locks(self) -> None:
        """Re-acquire the locks after the session was lost, and poll those of other processes."""
        while not self._stopped.wait(POLL_SECONDS):
            with self._mutex:
                try:
                    if self._session is None:
                        self._session = self._connect()
                        for owner in self._own:
                            self._acquire_lock(self._session, owner)
                    self._poll(self._session)
                except psycopg.Error:
                    self._drop_session()

    def _drop_session(self) -> None:
        """Close the session and forget what it saw."""
        if self._session:
            self._session.close()
        self._session, self._seen = None, None
        self._missing.clear()

    def _latest_snapshot(self) -> LockSnapshot | None:
        """Return the latest snapshot; if the database is unreachable, None (raise if no lock is held)."""
        seen = self._seen
        if seen and time.monotonic() - seen.at < 3 * POLL_SECONDS:
            return seen
        if self._poll_thread:
            return None
        with translate_errors(self._settings.name):
            session = self._connect()
            try:
                return self._poll(session)
            except psycopg.errors.UndefinedTable:  # Nobody has used it yet.
                return None
            finally:
                session.close()

    def _poll(self, session: psycopg.Connection[tuple[Any, ...]]) -> LockSnapshot:
        row = session.execute(SELECT_LOCKS, (KIND,)).fetchone()
        assert row is not None
        held, entries, up = row
        owners = {owner: (about, str(json.loads(body)['serves'])) for owner, about, body in entries}
        now = time.monotonic()
        self._seen = seen = LockSnapshot(now, frozenset(held), owners, up)
        missing = {owner for owner in owners if not seen.holds(owner)}
        for owner in self._missing.keys() - missing:
            del self._missing[owner]
        for owner in missing:
            self._missing.setdefault(owner, now)
        return seen

    def _acquire_lock(self, session: psycopg.Connection[tuple[Any, ...]], owner: str) -> bool:
        if not _try_lock(session, lock_id(owner)):
            return False
        self._publish(session, owner)
        return True

    def _publish(self, session: psycopg.Connection[tuple[Any, ...]] | None, owner: str) -> None:
        if session:
            body = json.dumps({'serves': self._holder})
            session.execute(UPSERT_OWNER, (KIND, owner, time.time(), socket.gethostname(), body))

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        session = psycopg.connect(conninfo(self._settings), autocommit=True, context=ADAPTERS)
        session.execute(KEEPALIVE)
        return session


def lock_id(name: str) -> int:
    """Return the number of the advisory lock for a name."""
    return int.from_bytes(hashlib.sha256(f'hemicycle {name}'.encode()).digest()[:8], signed=True)


ADOPTION = lock_id(' adoption')


def _try_lock(session: psycopg.Connection[tuple[Any, ...]], number: int) -> bool:
    rows: Sequence[tuple[Any, ...]] = session.execute('SELECT pg_try_advisory_lock(%s)', (number,)).fetchall()
    return bool(rows[0][0])
