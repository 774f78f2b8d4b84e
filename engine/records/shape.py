"""Shape: a chart's states and edges as a diagram needs them; stored with each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, NewType

StatePath = NewType('StatePath', str)
"""Names of nested states from the outermost inward, joined with dots: `arguing.pro.thinking`."""

MAX_NAMED = 12
"""Maximum number of states that an error lists."""
RUN = StatePath('')  # the address of a whole run


def is_active(path: str, active: Sequence[StatePath]) -> bool:
    """Return whether the state at `path` is active, directly or through a descendant."""
    if not path or path in active:
        return bool(active)
    inside = f'{path}.'
    return any([leaf.startswith(inside) for leaf in active])


def is_within(path: str, ancestor: str) -> bool:
    """Return whether `path` is `ancestor` or inside it; everything is inside the run ('')."""
    return not ancestor or path == ancestor or path.startswith(f'{ancestor}.')


def parent_of(path: str) -> StatePath:
    """Return the parent of the state at `path`; '' for an outermost one."""
    return StatePath(path.rpartition('.')[0])


def ancestry(path: str) -> Iterator[StatePath]:
    """Yield the state at `path` and those around it, innermost first."""
    while path:
        yield StatePath(path)
        path = parent_of(path)


def suggest(path: str, paths: Sequence[str]) -> str:
    """Say which states or edges may have been meant: similar ones, or else some, the outermost first."""
    alike = [other for other in paths if other.count('.') == path.count('.')]  # to compare all takes long
    if close := get_close_matches(path, alike, n=3):
        return f'did you mean {" or ".join(close)}?'
    listed = sorted(dict.fromkeys(paths), key=lambda name: name.count('.'))
    more = f' and {len(listed) - MAX_NAMED} more' if len(listed) > MAX_NAMED else ''
    return f'available: {", ".join(listed[:MAX_NAMED])}{more}'


TRACE_PREFIX = 'trace:'
"""Prefix of the `pattern` of a run that was imported from a trace: its chart is built from the spans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShape:
    """One state of a chart, as a diagram needs it."""

    path: StatePath
    name: str
    parent: StatePath
    kind: Literal['atomic', 'compound', 'parallel', 'final']
    initial: tuple[StatePath, ...] = ()
    outcome: str = 'done'
    """For a final state: the event its parent raises, or how the run ends (`done` or `failed`)."""
    role: str = ''
    """For an agent's state: its role."""
    roles: tuple[str, ...] = ()
    """The roles it may play, if one is chosen on entry; `role` then names the choice."""
    invokes: bool = False
    waits: str = ''
    """For a state that waits for a person: what it waits for."""
    within: float | None = None
    """Timeout in seconds."""
    criteria: tuple[str, ...] = ()
    """For an agent that works until criteria are met: their names."""
    caption: str = field(default='', compare=False)
    """For a state that works without an agent: its work in words, such as *Running tests*. Not compared, like
    the seat and the marks: a run goes on with a chart that is equal to the one stored with it."""
    seat: str = field(default='', compare=False)
    """For a state in which a person acts for an agent: the name of the agent's seat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeShape:
    """One edge of a chart. `dest` is '' for an internal transition."""

    trigger: str
    source: StatePath
    dest: str
    conditions: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    history: Literal['', 'shallow', 'deep'] = ''
    """Whether it leads to where `dest` was last left: to the same child, or to the same leaves."""
    words: tuple[str, ...] = field(default=(), compare=False)
    """The guards in words, if the pattern has some: *approved*, *no revisions left*. Not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelField:
    """A memory field that a panel of the run page shows."""

    panel: str
    """The panel's name; the run page ignores unknown ones."""
    part: str = ''
    """What the panel uses the field for, if it shows several."""
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkField:
    """A memory field whose changes are marked in a run's history."""

    kind: str
    """`verdict` for a list of records with a `verdict`, `revision` for a count of revisions."""
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A whole chart, stored with each run so that it can be drawn even if its pattern no longer exists."""

    pattern: str
    title: str
    initial: StatePath
    states: tuple[StateShape, ...]
    edges: tuple[EdgeShape, ...]
    answer: str = ''
    """The memory field with the run's result."""
    caveat: str = ''
    """The memory field that says in a few words how the result falls short."""
    panels: tuple[PanelField, ...] = ()
    """Which panels of the run page show which memory fields."""
    marks: tuple[MarkField, ...] = field(default=(), compare=False)
    """The memory fields whose changes are marked in the history."""

    @property
    def is_imported_trace(self) -> bool:
        """Whether it was imported from a trace; if so, it has only the edges taken, and no guards."""
        return self.pattern.startswith(TRACE_PREFIX)

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats of agents that a person can take."""
        return tuple(dict.fromkeys(state.seat for state in self.states if state.seat))

    def state(self, path: str) -> StateShape | None:
        """Return the state at `path`; None if the chart has none there."""
        return next((state for state in self.states if state.path == path), None)

    def field(self, panel: str, part: str = '') -> str:
        """Return the memory field that a panel shows, or ''."""
        return next((item.field for item in self.panels if (item.panel, item.part) == (panel, part)), '')
