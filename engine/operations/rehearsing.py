"""Rehearsing: what a workflow can do, before it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from pydantic import Field

from engine.operations.rehearsal import SECONDS, Rehearsal
from engine.operations.table import Role, operation
from engine.records import MAX_VERSION


class Rehearsing(Protocol):
    """Looks at patterns without running them."""

    @operation(Role.VIEWER, 'POST patterns/{pattern}/rehearsal')
    async def rehearse(  # noqa: PLR0913  (the parts of a request)
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
        models: Annotated[
            Mapping[str, str] | None,
            Field(description='Models by role, whose prices and fallbacks the cost rests on.'),
        ] = None,
        seconds: Annotated[
            float, Field(ge=0, le=SECONDS, description='Time for finding ways to states; 0 finds none.')
        ] = SECONDS,
        version: Annotated[
            str, Field(max_length=MAX_VERSION, description='A version of the pattern, not the current one.')
        ] = '',
    ) -> Rehearsal:
        """Check the chart of a pattern, find a way to each of its states, and say what a run costs at most.

        Raises:
            UnknownPattern
            InvalidInput: names each parameter that is wrong, or each field of an answer.
        """
