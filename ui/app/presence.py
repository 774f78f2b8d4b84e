"""Presence: who is viewing which run at which step; known only to this server and never stored."""

from __future__ import annotations

from collections import defaultdict

from engine.records import RunId


class Viewer:
    """One open page that shows a run."""

    def __init__(self, presence: Presence, run: RunId, name: str) -> None:
        self._presence, self._run = presence, run
        self.name = name
        """The account; '' if there is no login."""
        self.at: int | None = None
        """The step it shows; None if it follows the run."""
        self.outdated = False
        """Whether others have joined, left or moved since the page last showed them."""

    def join(self) -> None:
        """Register a connected page."""
        self._presence.viewers[self._run].add(self)
        self.outdated = True  # Others may have joined or left since the page was drawn.
        self._mark_others_outdated()

    def leave(self) -> None:
        """Remove a page that was closed or lost its connection."""
        self._presence.viewers[self._run].discard(self)
        self._mark_others_outdated()
        if not self._presence.viewers[self._run]:
            del self._presence.viewers[self._run]

    def move(self, at: int | None) -> None:
        """Set the step that the page shows."""
        if at != self.at:
            self.at = at
            self._mark_others_outdated()

    @property
    def others(self) -> list[Viewer]:
        """The other pages that show the run, sorted by name."""
        viewers = self._presence.viewers.get(self._run, set())
        return sorted(
            (other for other in viewers if other is not self), key=lambda other: (other.name, id(other))
        )

    def _mark_others_outdated(self) -> None:
        for other in self.others:
            other.outdated = True


class Presence:
    """The open pages that show runs."""

    def __init__(self) -> None:
        self.viewers: defaultdict[RunId, set[Viewer]] = defaultdict(set)

    def viewer(self, run: RunId, name: str) -> Viewer:
        """Create the viewer of a page; it counts once it has joined."""
        return Viewer(self, run, name)
