"""Observed journal: notifies observers of appends, for the log, metrics and traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from engine import Transition
from engine.journal import Journal
from engine.records import RunInfo, Snapshot


class JournalObserver:
    """Base class of observers of appends, with callbacks that do nothing. They must not block."""

    def begin(self, info: RunInfo) -> None:
        """Called when an append begins; a run has only one at a time."""

    def record(self, info: RunInfo, transitions: Sequence[Transition]) -> None:
        """Called when the transitions and the run's summary are on disk."""

    def refuse(self, info: RunInfo, error: BaseException) -> None:
        """Called when they could not be written."""

    async def close(self) -> None:
        """Called when the journal is about to be closed."""


class _ObservedJournal:
    def __init__(self, journal: Journal, observers: Sequence[JournalObserver]) -> None:
        self._journal, self._observers = journal, observers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        for observer in self._observers:
            observer.begin(info)
        try:
            weight = await self._journal.append(info, transitions, snapshot)
        except BaseException as error:
            for observer in self._observers:
                observer.refuse(info, error)
            raise
        for observer in self._observers:
            observer.record(info, transitions)
        return weight

    async def close(self) -> None:
        for observer in self._observers:
            await observer.close()
        await self._journal.close()


def observe(journal: Journal, *observers: JournalObserver) -> Journal:
    """Return the journal with observers of its appends."""
    return cast(Journal, _ObservedJournal(journal, observers))
