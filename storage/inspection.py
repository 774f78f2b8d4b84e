"""What a database holds, as backups and checks report it; and the runs that lack steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BACKUP_FORMAT = 1
"""The version of backups."""
SCHEMA_VERSION = 1
"""The version of the tables; the count is the same for both kinds of database."""
INCOMPLETE: Final = """
    SELECT run.id, run.seq - count(step.seq) FROM run LEFT JOIN "transition" AS step ON step.run = run.number
    GROUP BY run.number, run.id, run.seq HAVING count(step.seq) < run.seq ORDER BY run.number
"""
"""The runs with missing steps, and how many are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupInfo:
    """A backup's description of itself."""

    created: float
    """Seconds since 1970."""
    runs: int
    steps: int
    schema: int
    """The version of the database."""
    digest: str
    """SHA-256 of the database."""
    format: int = BACKUP_FORMAT

    @property
    def is_current(self) -> bool:
        """Whether the database needs no migration at the next start."""
        return self.schema == SCHEMA_VERSION
