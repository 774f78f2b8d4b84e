"""The memory: runs and every step of theirs, in one SQLite file. `open_journal` is the way in."""

from storage.database import Settings
from storage.journal import SqlJournal, open_journal
from storage.locks import Claims, Served

__all__ = ['Claims', 'Served', 'Settings', 'SqlJournal', 'open_journal']
