"""The log: one line per event on standard error, as text or JSON, and in a file of limited size."""

from __future__ import annotations

import copy
import logging
import os
import re
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, Literal

from asgi_correlation_id import correlation_id
from pythonjsonlogger.orjson import OrjsonFormatter
from typing_extensions import override

from engine import Status, Transition
from engine.errors import JournalError
from engine.records import RunInfo
from ui.formatting.plain_text import strip_control
from ui.server.observed_journal import JournalObserver

log = logging.getLogger('hemicycle')

LogFormat = Literal['text', 'json']
FORMAT = '%(asctime)s %(levelname)-7s %(name)s: %(message)s'
MAX_BYTES, BACKUPS = 2_000_000, 3
LEVELS = {
    'failed': logging.ERROR,
    'expired': logging.ERROR,
    'retry': logging.WARNING,
    'start': logging.INFO,
}


REQUEST_ID: Final = re.compile(r'[\w.:-]{1,128}', re.ASCII)


def is_request_id(text: str) -> bool:
    """Whether a caller's `X-Request-ID` is safe to log; otherwise the request gets a new id."""
    return REQUEST_ID.fullmatch(text) is not None


def set_up_logging(folder: Path, format: LogFormat = 'text') -> None:
    """Start logging to standard error and to `hemicycle.log` in the folder."""
    file = PrivateFileHandler(
        folder / 'hemicycle.log', maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding='utf-8'
    )
    stream = logging.StreamHandler()
    if format == 'json':
        file.setFormatter(json_formatter())
        stream.setFormatter(json_formatter())
    else:
        file.setFormatter(SafeFormatter(FORMAT))
        stream.setFormatter(OneLineFormatter(FORMAT, datefmt='%H:%M:%S'))
    for handler in (file, stream):
        handler.addFilter(_add_request)
    logging.basicConfig(level=logging.WARNING, handlers=[stream, file], force=True)
    log.setLevel(logging.INFO)


def json_formatter() -> logging.Formatter:
    """Return a formatter that writes one JSON object per line.

    Fields: `time` (RFC 3339, UTC), `level`, `logger` and `message`; `run`, `step` and `request` if known;
    `exc_info` with a traceback.
    """
    return OrjsonFormatter(
        ['levelname', 'name', 'message'],
        rename_fields={'levelname': 'level', 'name': 'logger'},
        timestamp='time',
    )


def _add_request(record: logging.LogRecord) -> bool:
    """Add the id of the request that caused the record; a run's tasks inherit that of its launch."""
    if request_id := correlation_id.get():
        record.request = request_id
    return True


class PrivateFileHandler(RotatingFileHandler):
    """A log whose files only their owner can read, because they name runs and quote errors."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(descriptor, 'a', encoding=self.encoding, errors=self.errors)

    def handleError(self, record: logging.LogRecord) -> None:
        """Report a full disk in one line, not with a traceback for each event."""
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            print(f'hemicycle: {self.baseFilename}: {error.strerror}', file=sys.stderr)
        else:
            super().handleError(record)


class SafeFormatter(logging.Formatter):
    """One line per event; a traceback below is indented, so that its lines do not look like events."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line and the traceback, without control characters."""
        trace = self.formatException(record.exc_info) if record.exc_info else ''
        return '\n'.join([self.line(record), *(f'    {line}' for line in strip_control(trace).splitlines())])

    def line(self, record: logging.LogRecord) -> str:
        """Format the event itself."""
        plain = copy.copy(record)
        plain.exc_info = plain.exc_text = plain.stack_info = None
        return _on_one_line(super().format(plain))


class OneLineFormatter(SafeFormatter):
    """One line per event, with only the last line of an exception."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = self.line(record)
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line += f' ({type(error).__name__}: {_on_one_line(str(error))})'
        return line


def _on_one_line(text: str) -> str:
    return ' '.join(strip_control(text).splitlines())


class RunLog(JournalObserver):
    """Logs when runs start, fail, retry and end, once that is on disk, and failures to write."""

    def refuse(self, info: RunInfo, error: BaseException) -> None:
        """Log why steps could not be written."""
        if isinstance(error, JournalError):
            log.error('run %s: %s', info.id, error, extra={'run': info.id})

    def record(self, info: RunInfo, transitions: Sequence[Transition]) -> None:
        """Log the important steps."""
        for step in transitions:
            if step.event.name in LEVELS and not step.raised:
                log.log(
                    LEVELS[step.event.name],
                    'run %s, step %s: %s',
                    info.id,
                    step.seq,
                    _describe_step(step),
                    extra={'run': info.id, 'step': step.seq},
                )
        if info.status.ended:
            level = logging.ERROR if info.status is Status.FAILED else logging.INFO
            log.log(
                level,
                'run %s is %s%s',
                info.id,
                info.status,
                f': {info.error}' if info.error else '',
                extra={'run': info.id, 'step': info.seq},
            )


def _describe_step(step: Transition) -> str:
    data = step.event.data
    return ' '.join(filter(None, (step.event.name, step.event.at, str(data.get('error', '')))))
