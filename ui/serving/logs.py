"""The log: one line an event on standard error, and with tracebacks in a file that is kept small."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, cast

from engine import Journal, JournalError, RunInfo, Snapshot, Status, Transition
from ui.plain import plain

log = logging.getLogger('hemicycle')

FORMAT = '%(asctime)s %(levelname)-7s %(name)s: %(message)s'
SIZE, KEPT = 2_000_000, 3
TOLD = {
    'failed': logging.ERROR,
    'expired': logging.ERROR,
    'retry': logging.WARNING,
    'start': logging.INFO,
}


def set_up(folder: Path) -> None:
    """Log from now on; the file is `hemicycle.log` in the folder."""
    file = RotatingFileHandler(folder / 'hemicycle.log', maxBytes=SIZE, backupCount=KEPT, encoding='utf-8')
    file.setFormatter(logging.Formatter(FORMAT))
    stream = logging.StreamHandler()
    stream.setFormatter(OneLine(FORMAT, datefmt='%H:%M:%S'))
    logging.basicConfig(level=logging.WARNING, handlers=[stream, file], force=True)
    log.setLevel(logging.INFO)


class OneLine(logging.Formatter):
    """An event on one line: of an exception only its last words."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = copy.copy(record)
        told.exc_info = told.exc_text = told.stack_info = None
        line = super().format(told)
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line = f'{line} ({type(error).__name__}: {error})'
        return ' '.join(plain(line).split('\n'))


class LoggedJournal:
    """A journal that also logs how runs begin, fail, are tried again and end, once that is on disk."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """Keep transitions; log those that matter, or that they could not be kept."""
        try:
            weight = await self._journal.append(info, transitions, snapshot)
        except JournalError as error:
            log.error('run %s: %s', info.id, error)
            raise
        for step in transitions:
            if step.event.name in TOLD and not step.raised:
                log.log(TOLD[step.event.name], 'run %s, step %s: %s', info.id, step.seq, _told(step))
        if info.status.ended:
            level = logging.ERROR if info.status is Status.FAILED else logging.INFO
            log.log(level, 'run %s is %s%s', info.id, info.status, f': {info.error}' if info.error else '')
        return weight


def logged(journal: Journal) -> Journal:
    """The journal, with what happens to its runs in the log."""
    return cast(Journal, LoggedJournal(journal))


def _told(step: Transition) -> str:
    data = step.event.data
    return ' '.join(filter(None, (step.event.name, step.event.at, str(data.get('error', '')))))
