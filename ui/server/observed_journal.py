"""A journal that tells observers what is appended to it: the log, metrics and traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from engine import Transition
from engine.journal import Journal
from engine.records import RunInfo, Snapshot


class JournalObserver:
    """Learns of appends; must not block. Does nothing by itself."""

    def begin(self, info: RunInfo) -> None:
        """An append begins; a run has one at a time."""

    def keep(self, info: RunInfo, transitions: Sequence[Transition]) -> None:
        """These transitions are on disk, and the run's summary with them."""

    def refuse(self, info: RunInfo, error: BaseException) -> None:
        """They could not be written."""

    async def close(self) -> None:
        """The journal is about to be closed."""


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
            observer.keep(info, transitions)
        return weight

    async def close(self) -> None:
        for observer in self._observers:
            await observer.close()
        await self._journal.close()


def observe(journal: Journal, *observers: JournalObserver) -> Journal:
    """The journal, with observers of its appends."""
    return cast(Journal, _ObservedJournal(journal, observers))
