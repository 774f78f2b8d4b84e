"""Forking: new runs from a step of another, and how runs are related."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol, Unpack

from pydantic import Field

from engine.history.forks.fork_records import CostEstimate, ForkOverrides, LineageNode
from engine.operations.table import Role, operation
from engine.records import (
    MAX_NUMBER,
    RunId,
    StartOptions,
    VariantOptions,
)

Step = Annotated[int, Field(ge=0, le=MAX_NUMBER, description='The step; 0 to start over.')]


class Forking(Protocol):
    """Starting runs from others. All raise `UnknownRun`. `new` is its id, if the caller chooses it.

    Those that start a run raise `UnknownPattern`, `WorkspaceError` and `InvalidInput`.
    """

    @operation(Role.OPERATOR, 'POST runs/{run}/forks')
    async def fork(
        self,
        run: RunId,
        at: Step,
        *,
        overrides: ForkOverrides | None = None,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        """Start a new run from a step of another, which stays unchanged."""

    @operation(Role.OPERATOR, by_hand='fork_all')
    async def fork_all(
        self,
        run: RunId,
        at: int,
        variations: Mapping[str, ForkOverrides],
        *,
        new: Sequence[RunId] = (),
        **options: Unpack[VariantOptions],
    ) -> list[RunId]:
        """Fork several variants at once; if one is invalid, none is started."""

    @operation(Role.VIEWER, 'POST runs/{run}/forecast')
    async def forecast(
        self,
        run: RunId,
        at: Annotated[int, Field(ge=0, le=MAX_NUMBER)],
        overrides: ForkOverrides | None = None,
    ) -> CostEstimate:
        """Estimate what a fork would use, without starting it."""

    @operation(Role.OPERATOR, 'POST runs/{run}/rerun')
    async def rerun(
        self,
        run: RunId,
        *,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        """Start a new run with the same input and options."""

    @operation(Role.OPERATOR, 'POST runs/{run}/retry')
    async def retry(
        self,
        run: RunId,
        *,
        new: RunId | None = None,
        **options: Unpack[StartOptions],
    ) -> RunId:
        """Fork a failed or cancelled run from just before it ended, to try again."""

    @operation(Role.VIEWER, 'GET runs/{run}/retry', result='at')
    async def retry_at(self, run: RunId) -> int:
        """Show the step from which a retry would continue."""

    @operation(Role.VIEWER, by_hand='lineage')
    async def lineage(self, run: RunId) -> LineageNode:
        """List a run with its ancestors and all their forks, each after its parent."""

    @operation(Role.VIEWER, 'GET runs/{run}/family')
    async def family(self, run: RunId) -> list[RunId]:
        """List the ids of a run's family, parents first, without those in the trash."""

    @operation(Role.OPERATOR, 'POST runs/{run}/winner')
    async def mark_winner(self, run: RunId) -> None:
        """Mark a run as the best of the variants it was forked with."""
