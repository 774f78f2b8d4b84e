"""The journal: stores runs, in memory or elsewhere, and folds their steps back into runs."""

from engine.journal.documents import Documents, Entry, EntryQuery, Reservation
from engine.journal.memory_journal import MemoryJournal
from engine.journal.projection import Fold, fold
from engine.journal.protocol import Journal
from engine.journal.retention_policy import ExpiredRun, Retention
from engine.journal.store import Columns, Store
from engine.journal.usage_records import usage_from_dict
from engine.records.document import complete_snapshot
from engine.records.payloads import StepMode

__all__ = [
    'Columns',
    'Documents',
    'Entry',
    'EntryQuery',
    'ExpiredRun',
    'Fold',
    'Journal',
    'MemoryJournal',
    'Reservation',
    'Retention',
    'StepMode',
    'Store',
    'complete_snapshot',
    'fold',
    'usage_from_dict',
]
