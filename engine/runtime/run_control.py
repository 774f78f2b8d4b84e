"""RunControl: sends events to runs, such as pausing, stepping, extending and cancelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.journal.pause_state import StepMode
from engine.records import RunId
from engine.records.breakpoint import Breakpoint, dump_breakpoints, number_breakpoints
from engine.runtime.debugger.probe import ConditionResult
from engine.runtime.live_runs import LiveRuns


class RunControl:
    """Controls the runs of this process."""

    def __init__(self, live: LiveRuns) -> None:
        self._live = live

    async def send(  # noqa: PLR0913  (all but the first two have defaults)
        self,
        run: RunId,
        name: str,
        *,
        at: str = '',
        data: Mapping[str, Any] | None = None,
        seen: int | None = None,
        key: str = '',
    ) -> None:
        """Send an event to a run; it is journaled when this returns.

        Args:
            run: which run.
            name: one of the pattern's triggers; or `failed`, to end the work of the state `at` manually.
            at: the active state it is for; '' is for all that accept it.
            data: JSON values for the guards and actions. `approve` takes `always` (true: do not ask again for
                these tools) and `arguments` (by call id, the JSON text to call it with instead); `deny` takes
                `reason`.
            seen: the last step the sender knows, if the event is to be refused once the run has moved on.
                Works alike in all other methods that control a run.
            key: the sender's idempotency key: a repeated event is not carried out again while it is among the
                last 100 with a key. Works alike in all other methods that control a run.

        Raises:
            UnknownRun, EventRefused, InvalidInput
            StepPassed: the run has moved on since step `seen`.
        """
        await self._live.send(run, name, at=at, data=data, seen=seen, key=key)

    def runs_here(self, run: RunId) -> bool:
        """Whether this conductor runs it now, and can therefore control it."""
        return self._live.runs_here(run)

    def at_rest(self, run: RunId) -> int:
        """Return the last step of a run paused here with nothing in progress; otherwise 0."""
        return self._live.at_rest(run)

    async def pause(self, run: RunId, at: str = '', *, seen: int | None = None, key: str = '') -> None:
        """Pause the run or a region: nothing new starts; work in progress finishes and is journaled.

        Args:
            run: which run.
            at: an active state: only its region is held, with its work and timeouts, while the others
                continue; '' is the whole run. A region is held while its parallel state is active.
            seen: as for `send`.
            key: as for `send`.

        Raises:
            UnknownRun, EventRefused
        """
        await self.send(run, 'pause', at=at, seen=seen, key=key)

    async def resume(self, run: RunId, at: str = '', *, seen: int | None = None, key: str = '') -> None:
        """Resume the run or a region.

        Nested regions that were paused themselves stay held, unless nothing could proceed then: in that case
        they resume too. Resuming a region of a paused run leaves the others as they are.

        Args:
            run: which run.
            at: an active state, for its region; '' is for the whole run.
            seen: as for `send`.
            key: as for `send`.

        Raises:
            UnknownRun, EventRefused
        """
        await self.send(run, 'resume', at=at, seen=seen, key=key)

    async def step(
        self, run: RunId, how: StepMode = 'in', at: str = '', *, seen: int | None = None, key: str = ''
    ) -> None:
        """Continue for one step, then pause; also works on runs that are not paused.

        A step over or out ends early if a breakpoint pauses the region or one around it.

        Args:
            run: which run.
            how: `in` starts just the next piece of work, even inside an agent. `over` continues until the
                workflow itself moves: a state outside every agent's own chart is entered or left, or an agent
                ends. `out` continues until the agent or composite state around the active state ends.
            at: an active state: only its region continues, then pauses; the others are unaffected. '' is for
                the whole run.
            seen: as for `send`.
            key: as for `send`.

        Raises:
            UnknownRun, EventRefused, InvalidInput
        """
        await self.send(run, 'step', at=at, data={'how': how}, seen=seen, key=key)

    async def set_breakpoints(
        self,
        run: RunId,
        breakpoints: Sequence[Breakpoint],
        *,
        seen: int | None = None,
        key: str = '',
    ) -> tuple[Breakpoint, ...]:
        """Replace a run's breakpoints; they are stored with the run.

        Args:
            run: which run.
            breakpoints: all of them; those without a number get one. Hits are counted by number.
            seen: as for `send`.
            key: as for `send`.

        Returns:
            The breakpoints with their numbers.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: an unknown state or edge, or an invalid condition; names the field.
        """
        fresh = number_breakpoints(breakpoints)
        await self.send(run, 'breakpoints', data={'breakpoints': dump_breakpoints(fresh)}, seen=seen, key=key)
        return fresh

    async def probe(self, run: RunId, condition: str) -> ConditionResult | None:
        """Evaluate a breakpoint's condition at the run's present step; None before the first.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: it cannot be parsed; names the column.
        """
        return await self._live.probe(run, condition)

    async def extend(  # noqa: PLR0913  (all but the first have defaults)
        self,
        run: RunId,
        *,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
        seen: int | None = None,
        key: str = '',
    ) -> None:
        """Raise the run's budget by these amounts; if it was spent and the run has not ended, work resumes.

        Raises:
            InvalidInput: all amounts are zero, the run has no such budget, or the increase is too small to
                help.
        """
        more = {'tokens': tokens, 'cost': cost, 'seconds': seconds}
        amounts = {kind: amount for kind, amount in more.items() if amount is not None}
        await self.send(run, 'extend', data=amounts, seen=seen, key=key)

    async def cancel(self, run: RunId, reason: str = '', *, seen: int | None = None, key: str = '') -> None:
        """Cancel the run: every activity has been cancelled by the time the run appears as ended."""
        await self.send(run, 'cancel', data={'reason': reason}, seen=seen, key=key)
