"""Who looks at which run, and at which step: known to this server alone, and never kept."""

from __future__ import annotations

from collections import defaultdict

from engine.records import RunId


class Viewer:
    """One page that shows a run."""

    def __init__(self, presence: Presence, run: RunId, name: str) -> None:
        self._presence, self._run = presence, run
        self.name = name
        """The account; '' where nobody logs in."""
        self.at: int | None = None
        """The step that it shows; None follows the run."""
        self.outdated = False
        """Whether others have come, gone or moved since the page said who they are."""

    def join(self) -> None:
        """The page is connected."""
        self._presence.viewers[self._run].add(self)
        self.outdated = True  # Others may have come and gone since the page was drawn.
        self._tell()

    def leave(self) -> None:
        """The page is closed, or has lost its connection."""
        self._presence.viewers[self._run].discard(self)
        self._tell()
        if not self._presence.viewers[self._run]:
            del self._presence.viewers[self._run]

    def move(self, at: int | None) -> None:
        """The page shows another step."""
        if at != self.at:
            self.at = at
            self._tell()

    @property
    def others(self) -> list[Viewer]:
        """The other pages that show the run, by name."""
        found = self._presence.viewers.get(self._run, set())
        return sorted(
            (other for other in found if other is not self), key=lambda other: (other.name, id(other))
        )

    def _tell(self) -> None:
        for other in self.others:
            other.outdated = True


class Presence:
    """The pages that are open on runs."""

    def __init__(self) -> None:
        self.viewers: defaultdict[RunId, set[Viewer]] = defaultdict(set)

    def viewer(self, run: RunId, name: str) -> Viewer:
        """A page that is about to show a run: it counts once it has joined."""
        return Viewer(self, run, name)
