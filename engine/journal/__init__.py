"""The journal: stores runs, in memory or elsewhere, and folds their steps back into runs."""

from engine.journal.memory_journal import MemoryJournal
from engine.journal.pause_state import StepMode
from engine.journal.projection import Fold, fold
from engine.journal.protocol import Entry, EntryQuery, Journal, Reservation, WholeRun
from engine.journal.retention_policy import ExpiredRun, Retention
from engine.journal.usage_records import usage_from_dict
from engine.records.document import complete_snapshot

__all__ = [
    'Entry',
    'EntryQuery',
    'ExpiredRun',
    'Fold',
    'Journal',
    'MemoryJournal',
    'Reservation',
    'Retention',
    'StepMode',
    'WholeRun',
    'complete_snapshot',
    'fold',
    'usage_from_dict',
]
