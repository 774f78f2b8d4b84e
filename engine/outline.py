"""The shapes of charts: states and edges, as a diagram needs them; kept with each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.path import StatePath


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
    """For a state that holds an agent: its role."""
    roles: tuple[str, ...] = ()
    """Those that it may play, where one is picked when the state is entered; `role` is then its name."""
    invokes: bool = False
    waits: str = ''
    """For a state that waits for a person: what for."""
    within: float | None = None
    """Seconds."""
    criteria: tuple[str, ...] = ()
    """For an agent that works until criteria hold: their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeShape:
    """One edge of a chart. `dest` is '' for an internal transition."""

    trigger: str
    source: StatePath
    dest: str
    conditions: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    """Where memory keeps what a supervisor said of the work: the names of its fields.

    Screens read the records as plain JSON and leave out what is not there.
    """

    verdicts: str = ''
    """A list of verifications: gate, score, threshold, conditions (name, whether it holds), level, issues."""
    interventions: str = ''
    """A list of what was sent to agents: level, agent, message, gate, score."""
    level: str = ''
    """Where it stands on the ladder of `engine.bounded.escalation`."""
    issues: str = ''
    """Verifications in a row that did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A whole chart, kept with each run so that it can be drawn when its pattern is gone."""

    pattern: str
    title: str
    initial: StatePath
    states: tuple[StateShape, ...]
    edges: tuple[EdgeShape, ...]
    answer: str = ''
    """The field of memory that holds the run's result."""
    plan: str = ''
    """The field of memory that holds the run's plan, a list of `Step`s."""
    debate: str = ''
    """The field of memory that holds what was said in debates, a list of `Said`s."""
    candidates: str = ''
    """The field of memory that holds `Candidate`s by name: what several have made of one task."""
    messages: str = ''
    """What was said between agents: records with sender, recipient, type (or kind), content."""
    report: str = ''
    """The field that holds a report of the whole run for people, as Markdown."""
    clock: str = ''
    """The field that holds the time of each phase, an `engine.bounded.schedule.Clock`."""
    oversight: Oversight | None = None
    compared: str = ''
    """The field of memory that holds ways of working beside each other, a list of `Side`s."""

    def state(self, path: str) -> StateShape | None:
        """The state at `path`, if there is one."""
        return next((state for state in self.states if state.path == path), None)
