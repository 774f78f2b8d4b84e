"""Rehearsing: what a workflow can do, before it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from pydantic import Field

from engine.operations.rehearsal import Rehearsal
from engine.operations.table import Role, operation


class Rehearsing(Protocol):
    """Looks at patterns without running them."""

    @operation(Role.VIEWER, 'POST patterns/{pattern}/rehearsal')
    async def rehearse(
        self,
        pattern: str,
        parameters: Annotated[
            Mapping[str, Any] | None,
            Field(description='Parameters that the chart depends on; others have their defaults.'),
        ] = None,
        stubs: Annotated[
            Mapping[str, Any] | None,
            Field(description='Answers of agents, by agent or role, one for each visit.'),
        ] = None,
    ) -> Rehearsal:
        """Check the chart of a pattern, and find a way to each of its states. Nothing is run.

        Raises:
            UnknownPattern
            InvalidInput: names each parameter that is wrong, or each field of an answer.
        """
