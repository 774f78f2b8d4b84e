"""BundleStore: the storage that bundles are exported from or imported into."""

from __future__ import annotations

from dataclasses import dataclass

from engine.history.bundle.documents import DocumentKinds
from engine.history.run_reader import RunReader
from engine.host.clock import Clock
from engine.runtime.run_recordings import Recordings
from engine.workspace.workspaces import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleStore:
    """The journal and the files that belong to it."""

    reader: RunReader
    workspaces: Workspaces
    recordings: Recordings
    clock: Clock
    documents: DocumentKinds
    """Takes what a bundle holds besides runs."""
