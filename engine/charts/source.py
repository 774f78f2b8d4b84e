"""The text of a chart file, and where in it each state and each edge is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSource:
    """An edge as it is written, which may have several sources."""

    index: int
    """Its place among the edges that are written in the same list."""
    scope: str
    """The state in which it is written, or ''."""
    trigger: str
    sources: tuple[str, ...]
    """Whole paths; of `*`, every state that it stands for."""
    dest: str
    """A whole path; '' if it leads nowhere or back to each source."""
    line: int

    def leaves(self, path: str) -> bool:
        """Return whether it leads out of a state."""
        return any(fnmatchcase(path, source) for source in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSource:
    """The text of a chart file.

    Lines count from 1.
    """

    text: str
    digest: str
    """The first 12 hexadecimal digits of the text's SHA-256."""
    lines: Mapping[str, int]
    """By field, as `transitions.3.if` or `states.writing.prompt`: the line of its name."""
    states: Mapping[str, int]
    """By path of a state, with `*` for what a template fills in: `voting.voter*`. See `state_line`."""
    edges: tuple[EdgeSource, ...]

    def state_line(self, path: str) -> int | None:
        """Return the line of a state; None if it is inside an agent's."""
        exact = self.states.get(path)
        fits = (line for name, line in self.states.items() if fnmatchcase(path, name))
        return next(fits, None) if exact is None else exact

    def edge_line(self, trigger: str, source: str, dest: str) -> int | None:
        """Return the line of the first edge that fits; None without one."""
        fits = (
            edge.line
            for edge in self.edges
            if edge.trigger == trigger
            and edge.leaves(source)
            and (not edge.dest or fnmatchcase(dest, edge.dest))
        )
        return next(fits, None)
