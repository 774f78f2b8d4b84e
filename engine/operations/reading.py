"""Reading: the list of runs, and each run now and at any of its steps."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Annotated, Protocol

from pydantic import Field

from engine.history.comparison import Comparison
from engine.journal.projection import Fold
from engine.operations.experiments.checking import CheckResult
from engine.operations.experiments.files.yaml_file import ExperimentFile
from engine.operations.table import Role, operation
from engine.records import (
    Outcome,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    Traffic,
    Transition,
    View,
)
from engine.runtime.debugger.guard_explanations import GuardExplanations
from engine.runtime.feed import Item


class Reading(Protocol):
    """Reading runs, now and at any of their steps. All of one run raise `UnknownRun`."""

    @operation(Role.VIEWER, by_hand='list_runs')
    async def runs(self, query: RunQuery | None = None) -> RunPage:
        """Return a page of the list of runs, newest first."""

    @operation(Role.VIEWER, by_hand='get_run')
    async def info(self, run: RunId) -> RunInfo:
        """Summarize a run."""

    @operation(Role.VIEWER, 'GET runs/{run}/shape', id='get_shape')
    async def shape(self, run: RunId) -> Shape:
        """Show the chart of a run: its states and edges."""

    @operation(Role.VIEWER, by_hand='get_view get_memory get_transcript get_usage get_report')
    async def view(self, run: RunId, at: int | None = None) -> View:
        """Return a run as it was at step `at`, or as it is. Raises `UnknownStep`."""

    @operation(Role.VIEWER, by_hand='get_snapshot list_steps')
    async def fold(self, run: RunId, at: int | None = None) -> Fold:
        """Fold a run up to step `at`, starting from the nearest snapshot; the fold can be continued."""

    @operation(Role.VIEWER, runs=('info',), by_hand='get_turn_end')
    async def turn_end(self, info: RunInfo, at: int) -> int:
        """Return the last step of the turn that step `at` belongs to, with the steps that it raised."""

    @operation(Role.VIEWER, by_hand='get_snapshot')
    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """Return the latest snapshot at or before a step."""

    @operation(Role.VIEWER, by_hand='list_steps')
    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """Return the steps `after` < seq <= `until`, in order, at most `limit`."""

    @operation(Role.VIEWER, by_hand='watch watch_runs')
    def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Follow the steps after `after` and streamed text until the run ends."""

    @operation(Role.VIEWER, by_hand='get_result')
    async def result(self, run: RunId) -> Outcome:
        """Wait for a run to end."""

    @operation(Role.VIEWER, by_hand='get_live_state')
    def can_control(self, run: RunId) -> bool:
        """Whether the run can be controlled from here now."""

    @operation(Role.VIEWER, by_hand='get_live_state')
    def resting_step(self, run: RunId) -> int:
        """Return the last step of a run that is paused with nothing in progress; otherwise 0."""

    @operation(Role.VIEWER, logged=True, runs=('runs',), by_hand='export_bundle export_run')
    def export_bundle(self, runs: Sequence[RunId], *, compressed: bool = True) -> AsyncIterator[bytes]:
        """Export several runs as one bundle."""


class Checking(Protocol):
    """Runs compared, counted, replayed, and saved as tests. All of one run raise `UnknownRun`."""

    @operation(Role.VIEWER, 'GET compare', runs=('a', 'b'))
    async def compare(
        self,
        a: Annotated[RunId, Field(max_length=100, description="A run's id.")],
        b: Annotated[RunId, Field(max_length=100, description="A run's id.")],
    ) -> Comparison:
        """Compare two runs step by step, as far as they have progressed."""

    @operation(Role.VIEWER, by_hand='traffic')
    async def traffic(
        self, query: RunQuery | None = None, progress: Callable[[int, int], object] | None = None
    ) -> Traffic:
        """Show the states and transitions that all matching runs went through."""

    @operation(Role.VIEWER, 'POST runs/{run}/audit', result='steps')
    async def audit(self, run: RunId) -> int:
        """Replay the events of a run through a fresh chart, and check that each step is as recorded."""

    @operation(Role.VIEWER, 'GET runs/{run}/test')
    async def save_test(self, run: RunId) -> ExperimentFile:
        """Make a test of a run: an experiment on its recording that expects what it did."""

    @operation(Role.OPERATOR, 'POST checks')
    async def check(self, file: ExperimentFile) -> CheckResult:
        """Run an experiment on recordings aside, with today's patterns, without models, tools or people."""

    @operation(Role.VIEWER, by_hand='explain_guards')
    async def explain_guards(self, run: RunId) -> GuardExplanations:
        """Explain what the guards of a run mean and read; empty if its pattern no longer exists."""
