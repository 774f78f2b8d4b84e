"""The log: one line an event on standard error, and with tracebacks in a file that is kept small."""

from __future__ import annotations

import copy
import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from engine import Feed, Item, Transition, Trouble
from ui.plain import plain

log = logging.getLogger('hemicycle')

FORMAT = '%(asctime)s %(levelname)-7s %(name)s: %(message)s'
SIZE, KEPT = 2_000_000, 3
TOLD = {
    'failed': logging.ERROR,
    'expired': logging.ERROR,
    'abort': logging.ERROR,
    'retry': logging.WARNING,
    'cancel': logging.INFO,
    'start': logging.INFO,
    'recover': logging.INFO,
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


class LoggedFeed(Feed):
    """A feed that also logs how runs begin, fail and are tried again."""

    def publish(self, item: Item) -> None:
        """Hand an item on."""
        super().publish(item)
        if isinstance(item, Trouble):
            if item.problem:
                log.error('run %s: %s', item.run, item.problem)
            else:
                log.info('run %s: the journal can be written again', item.run)
        elif isinstance(item, Transition) and item.event.name in TOLD and not item.raised:
            data = item.event.data
            said = data.get('error') or data.get('reason') or ''
            where = f' {item.event.at}' if item.event.at else ''
            log.log(
                TOLD[item.event.name],
                'run %s, step %s: %s%s%s',
                item.run,
                item.seq,
                item.event.name,
                where,
                f': {said}' if said else '',
            )
