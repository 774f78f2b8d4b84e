"""Records that only the API has: the server, tools, lineage and disk usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.history import DiskUsage, Kind
from engine.journal import Retention
from engine.records import RunId, RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """The server as it describes itself to clients."""

    version: str
    owner: str
    """Its name among those sharing the database."""
    stranded: Mapping[RunId, str] = field(default_factory=dict)
    """Unfinished runs that cannot continue, and why, as far as the caller may see them."""
    retention: Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyMember:
    """A run in its fork tree."""

    depth: int
    """0 for the oldest ancestor; a fork follows its parent."""
    kind: Kind
    group: str
    """The tag that variants share, or ''."""
    winner: bool
    info: RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageUse:
    """Disk usage of a list of runs."""

    runs: Mapping[RunId, DiskUsage]
    total: int
    """Bytes of all runs together."""
