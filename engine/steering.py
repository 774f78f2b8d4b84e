"""Steering: events that are sent to a run; pausing, stepping, extending and cancelling it are some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.archive import Archive
from engine.catalog import Catalog
from engine.errors import EventRefused
from engine.journal import Journal
from engine.prepare import outside_event
from engine.records import RunId
from engine.run import Run
from engine.stepping.breakpoint import Breakpoint, dumped, numbered
from engine.stepping.expression import check
from engine.stepping.halts import How
from engine.stepping.probing import Probed, probed

LOOKED_BACK = 50
"""Steps among which the newest is looked for that a condition looks at: pauses are none."""


class Steering(Archive):
    """Steers the runs of this process, and reads all of them."""

    def __init__(self, journal: Journal, catalog: Catalog) -> None:
        super().__init__(journal, catalog)
        self.stranded: dict[RunId, str] = {}
        """Unfinished runs that could not be gone on with, and why."""
        self._live: dict[RunId, Run] = {}

    async def send(
        self, run: RunId, name: str, *, at: str = '', data: Mapping[str, Any] | None = None
    ) -> None:
        """Hand an event to a run; it is journaled when this returns.

        Args:
            run: which.
            name: one of the pattern's triggers; or `failed`, to end by hand what goes on in the state `at`.
            at: the active state it is for; '' is for all that take it.
            data: JSON values for the guards and actions. `approve` takes `always` (true: do not ask again for
                these tools) and `arguments` (per call's id, the JSON text to call it with instead); `deny`
                takes `reason`.

        Raises:
            UnknownRun, EventRefused, InvalidInput
        """
        live = await self._steered(run, name)
        await live.send(outside_event(run, live.ledger, name, at, data))

    async def _steered(self, run: RunId, name: str) -> Run:
        if run not in self._live:
            info = await self.journal.info(run)
            elsewhere = self.stranded.get(run, 'another process runs it')
            raise EventRefused(run, name, f'it is {info.status}' if info.status.ended else elsewhere)
        return self._live[run]

    def runs_here(self, run: RunId) -> bool:
        """Whether this conductor runs it now, and so can steer it."""
        return run in self._live

    def at_rest(self, run: RunId) -> int:
        """The last step of a run that is paused here, with nothing under way; 0 where it is not so."""
        live = self._live.get(run)
        return live.ledger.seq if live and live.ledger.paused and live.is_idle else 0

    async def pause(self, run: RunId, at: str = '') -> None:
        """Start nothing new: what is under way ends, and is journaled.

        Args:
            run: which.
            at: an active state: only the region that it is in is held, with its work and its time-outs, and
                the others go on; '' is the whole run. A region is held while its parallel state is active.

        Raises:
            UnknownRun, EventRefused
        """
        await self.send(run, 'pause', at=at)

    async def resume(self, run: RunId, at: str = '') -> None:
        """Go on.

        What is held further in, by a pause of its own, stays held; but where nothing would go on then, it
        goes on too. A region that goes on within a paused run leaves the others as they are.

        Args:
            run: which.
            at: an active state, for the region that it is in; '' is for the whole run.

        Raises:
            UnknownRun, EventRefused
        """
        await self.send(run, 'resume', at=at)

    async def step(self, run: RunId, how: How = 'in', at: str = '') -> None:
        """Go on by a step, and be held then; a run that is not paused can be stepped, too.

        Args:
            run: which.
            how: `in` starts the next piece of work, also inside an agent, and no more. `over` goes on until
                the workflow itself moves: a state outside of every agent's own chart is entered or left, or
                an agent ends. `out` goes on until the agent, or the composite state, around what is active
                ends.
            at: an active state: only the region that it is in goes on, and is held then; the others go on or
                wait as they do. '' is for the whole run.

        A step over or out ends sooner where a breakpoint holds the region, or all around it.

        Raises:
            UnknownRun, EventRefused, InvalidInput
        """
        await self.send(run, 'step', at=at, data={'how': how})

    async def set_breakpoints(self, run: RunId, breakpoints: Sequence[Breakpoint]) -> tuple[Breakpoint, ...]:
        """Have a run stop there, and nowhere else; they are kept with the run.

        Args:
            run: which.
            breakpoints: all of them; those without a number get one. The run counts the hits by number.

        Returns:
            The breakpoints with their numbers.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: there is no such state or edge, or a condition cannot be read; it names the field.
        """
        fresh = numbered(breakpoints)
        await self.send(run, 'breakpoints', data={'breakpoints': dumped(fresh)})
        return fresh

    async def probe(self, run: RunId, condition: str) -> Probed | None:
        """What a breakpoint's condition is at the present step of a run; None before the first.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: it cannot be read; it names the column.
        """
        live = await self._steered(run, 'breakpoints')
        check(condition, type(live.state.pattern).Memory.model_fields)
        last = live.info.seq
        steps = await self.transitions(run, after=max(0, last - LOOKED_BACK), until=last)
        return probed(condition, steps, live.chart.shape, live.ledger, live.state)

    async def extend(
        self,
        run: RunId,
        *,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Raise the run's budget by so much; one that is spent and has not ended the run yet is open again.

        Raises:
            InvalidInput: nothing is raised, the run has no such budget, or the rise is too small to help.
        """
        more = {'tokens': tokens, 'cost': cost, 'seconds': seconds}
        await self.send(
            run, 'extend', data={kind: amount for kind, amount in more.items() if amount is not None}
        )

    async def cancel(self, run: RunId, reason: str = '') -> None:
        """Stop for good: every activity has been cancelled when the run is seen as ended."""
        await self.send(run, 'cancel', data={'reason': reason})
