"""ReplaySource and RunSetup: interfaces for replaying recorded events and preparing new runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from engine.journal.projection import RunProjection
from engine.records import Budget, Event, RunId, RunInfo, Shape, StatePath, Transition
from engine.statechart.run_state import RunState
from engine.workspace.workspaces import Workspaces

Treatment = Literal['keep', 'live', 'simulated', 'stop']
"""How work about to start is treated: `keep` replays its ending, `live` and `simulated` perform it, `stop`
forbids it."""


class ReplaySource(Protocol):
    """Supplies a run's recorded events when they are due."""

    strict: bool
    """Whether everything is replayed: every step as recorded, at the recorded time."""
    stopped: str
    """Why it cannot continue without a person, or ''."""
    held: bool
    """Whether a person paused the run during replay."""
    time: float
    """When the last replayed event happened."""

    @property
    def is_waiting(self) -> bool:
        """Whether a person is holding the replay."""

    @property
    def ignores_breakpoints(self) -> bool:
        """Whether breakpoints are ignored, because the recorded pauses are replayed anyway."""

    @property
    def started(self) -> Collection[StatePath]:
        """The active states whose work would be in progress if it were not replayed."""

    def first_event(self) -> Event | None:
        """Return the recorded start, if the run begins with it."""

    def next_event(
        self, started: Collection[StatePath], at_work: Collection[StatePath], state: RunState
    ) -> Event | None:
        """Return the event that is due; None if there is none."""

    def skip(self, event: Event) -> None:
        """Report that the run rejected a replayed event."""

    def advance(self, steps: Sequence[Transition]) -> None:
        """Report that the run has taken these steps, all of one turn."""

    def choose_treatment(self, path: StatePath, state: RunState) -> Treatment:
        """Return how work about to start in a state is treated."""

    def adapt_info(self, info: RunInfo, path: StatePath, state: RunState) -> RunInfo:
        """Return the run's summary as passed to the work of a state."""

    def find_unnotified(self, agents: Collection[str]) -> set[StatePath]:
        """Return the agents' states that were at work when the current event gave others a budget notice."""

    def final_event(
        self, started: Collection[StatePath], state: RunState, budget: Budget | None
    ) -> Event | None:
        """Return the event to follow once there is nothing left to replay, if any."""

    def go_live(self) -> None:
        """End the replay: perform all further work live."""

    async def restore_files(self, workspaces: Workspaces, run: RunId) -> None:
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
        """Return what the run replays from the step its projection has reached, if anything."""
