"""Storage: runs and all their steps in SQLite or PostgreSQL. `open_journal` is the entry point."""

from storage.bulk.database_copy import CopyInfo, copy_database
from storage.inspection import BackupInfo
from storage.journal import SqlJournal, open_journal
from storage.settings import Settings
from storage.sqlite.backup import incomplete_runs, inspect_database, read_backup, write_backup
from storage.sqlite.locks import AlreadyServed, FileLocks

__all__ = [
    'AlreadyServed',
    'BackupInfo',
    'CopyInfo',
    'FileLocks',
    'Settings',
    'SqlJournal',
    'copy_database',
    'incomplete_runs',
    'inspect_database',
    'open_journal',
    'read_backup',
    'write_backup',
]
