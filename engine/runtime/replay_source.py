"""ReplaySource and RunSetup: interfaces to what a run replays, and to what prepares it and its files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from engine.journal.projection import RunProjection
from engine.records import Budget, Event, RunId, RunInfo, Shape, StatePath, Transition
from engine.statechart.run_state import RunState
from engine.workspace.workspaces import Workspaces

Way = Literal['keep', 'live', 'simulated', 'stop']
"""How work about to start is treated: `keep` replays its ending, `live` and `simulated` do it, `stop` forbids
it."""


class ReplaySource(Protocol):
    """Recorded events for one run, supplied when they are due."""

    strict: bool
    """Whether everything is replayed: every step is the recorded one, at the recorded time."""
    stopped: str
    """Why it cannot continue without a person, or ''."""
    held: bool
    """Whether a person paused the run during replay."""
    time: float
    """When the last replayed event happened."""

    @property
    def waits(self) -> bool:
        """Whether a person is holding the replay."""

    @property
    def overlooks(self) -> bool:
        """Whether breakpoints are ignored."""

    @property
    def started(self) -> Collection[StatePath]:
        """The active states whose work would be in progress if it were not replayed."""

    def first_event(self) -> Event | None:
        """The recorded start, if the run begins with it."""

    def next_event(
        self, started: Collection[StatePath], at_work: Collection[StatePath], state: RunState
    ) -> Event | None:
        """The event that is due; None if there is none."""

    def skip(self, event: Event) -> None:
        """Report that the run refused a replayed event."""

    def advance(self, steps: Sequence[Transition]) -> None:
        """Report that the run has taken these steps, all of one turn."""

    def treatment(self, path: StatePath, state: RunState) -> Way:
        """How work about to start in a state is treated."""

    def cast(self, info: RunInfo, path: StatePath, state: RunState) -> RunInfo:
        """The run's summary as passed to the work of a state."""

    def unnotified(self, agents: Collection[str]) -> set[StatePath]:
        """The agents' states that were at work when the current event told all others of the budget."""

    def last_word(
        self, started: Collection[StatePath], state: RunState, budget: Budget | None
    ) -> Event | None:
        """What happens once there is nothing left to replay."""

    def leave(self) -> None:
        """Do all further work for real."""

    async def files(self, workspaces: Workspaces, run: RunId) -> None:
        """Restore the agents' folders to the state after the replayed events."""


class RunSetup(Protocol):
    """Prepares a run right after it was journaled."""

    async def equip(self, info: RunInfo) -> None:
        """Give it its files; repeated if the process died before finishing.

        Raises:
            InvalidInput, WorkspaceError
        """

    async def replay_source(
        self, info: RunInfo, projection: RunProjection, shape: Shape
    ) -> ReplaySource | None:
        """What is replayed to the run, if anything, from the step its projection has reached."""
