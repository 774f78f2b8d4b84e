"""What a rehearsal finds: mistakes in a chart, and how each of its states can be reached."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from engine.records import EdgeShape, StatePath


class Level(StrEnum):
    """How much a finding matters."""

    ERROR = 'error'
    """The chart cannot do what it says."""
    WARNING = 'warning'
    """A run may wait for ever, or end in a way that nobody wanted."""
    NOTE = 'note'
    """Worth knowing before a run that nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about a chart that its author should know."""

    level: Level
    rule: str
    """The kind of finding, such as `unreachable-state`."""
    state: StatePath = StatePath('')
    """The state it is about; '' for the whole chart."""
    edge: str = ''
    """The edge it is about: `done: reviewing → complete`."""
    text: str
    """What is wrong, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEvent:
    """One event of a witness, and what the guards say to it, in the order in which they are asked."""

    name: str
    at: StatePath = StatePath('')
    answers: tuple[bool, ...] = ()
    active: tuple[StatePath, ...] = ()
    """The active states after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedState:
    """Whether runs can come to a state: they can if it has `events`, and cannot if it is not `possible`."""

    path: StatePath
    possible: bool
    """Whether no reason is known why no run can come there."""
    ends: bool = False
    """Whether a run ends in it."""
    events: tuple[PlayedEvent, ...] = ()
    """A short way there from the start of a run. Empty if none was found in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedEdge:
    """Whether runs can take an edge."""

    trigger: str
    source: StatePath
    dest: str
    possible: bool
    """Whether no reason is known why no run can take it."""
    taken: bool = False
    """Whether the rehearsal took it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a run, or a state during a run, uses; None where there is no bound, or none is known."""

    calls: float | None = 0
    """Model calls, failed attempts included."""
    tokens: float | None = 0
    """Input and output together."""
    dollars: float | None = 0
    seconds: float | None = 0
    """Working time: waiting for people does not count."""
    answers: float | None = 0
    """What people are asked for."""


FIGURES = tuple(item.name for item in fields(Figures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbounded:
    """Why one of the figures has no bound."""

    figure: str
    """One of `FIGURES`."""
    state: StatePath = StatePath('')
    edge: str = ''
    """The edge that lets a loop repeat for ever: `done: reviewing → analyzing`; '' for other reasons."""
    dest: StatePath = StatePath('')
    """Where that edge leads."""
    text: str
    """In a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """An edge by which people can have work done again; the worst case counts none of them."""

    edge: str
    calls: float | None
    """Model calls that it adds at most, each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCost:
    """What one state uses in a run; what an agent's own states use is counted for the agent."""

    path: StatePath
    visits: float | None
    """How often a run enters it at most."""
    most: Figures
    usual: Figures | None = None
    """The mean over recorded runs, for agents; None if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run costs at worst, at least and as recorded."""

    most: Figures
    """At worst: every agent uses all its turns, every call all its attempts, every loop all its rounds.
    People who take over, repeat, stop or edit work can make it more; see `repeats`."""
    least_calls: int
    """The fewest calls of a run in which nothing fails."""
    unbounded: tuple[Unbounded, ...] = ()
    """Why figures of `most` are None."""
    repeats: tuple[Repeat, ...] = ()
    states: tuple[StateCost, ...] = ()
    usual: Figures | None = None
    """The mean over recorded runs of the pattern; None if there are none."""
    runs: int = 0
    """How many recorded runs `usual` rests on."""

    @property
    def unbounded_calls(self) -> Unbounded | None:
        """Why the number of calls has no bound; None if it has one."""
        return next((item for item in self.unbounded if item.figure == 'calls'), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The way that stubs lead, on real memory: guards decide, and work without an agent succeeds."""

    events: tuple[PlayedEvent, ...]
    ending: str = ''
    """How the run ends: `done` or `failed`; '' if the stubs do not lead to an end."""
    reason: str = ''
    """Why it fails, or where the stubs do not say what comes next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """What a pattern's chart can do with its parameters, if guards may answer either way."""

    pattern: str
    findings: tuple[Finding, ...]
    """What is wrong with the chart, errors first."""
    states: tuple[RehearsedState, ...]
    edges: tuple[RehearsedEdge, ...]
    complete: bool
    """Whether the search ended by itself, and not by its limit of time."""
    cost: Cost
    walk: Walk | None = None
    """The way of a run with the stubs that were given."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are errors."""
        return tuple(finding for finding in self.findings if finding.level is Level.ERROR)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The states and edges of which it is not known whether runs can come there."""
        states = [str(state.path) for state in self.states if state.possible and not state.events]
        edges = [name_of(edge) for edge in self.edges if edge.possible and not edge.taken]
        return (*states, *edges)


def name_of(edge: EdgeShape | RehearsedEdge) -> str:
    """Return an edge as findings name it."""
    return f'{edge.trigger}: {edge.source} → {edge.dest}' if edge.dest else f'{edge.trigger}: {edge.source}'
