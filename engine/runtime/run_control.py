"""RunControl: sends events to runs, such as pausing, stepping, extending and cancelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Unpack

from engine.records import Change, Conditions, RunId
from engine.records.breakpoint import Breakpoint, dump_breakpoints, number_breakpoints
from engine.records.payloads import StepMode
from engine.runtime.live_runs import LiveRuns


class RunControl:
    """Controls the runs of this process."""

    def __init__(self, live: LiveRuns) -> None:
        self._send = live.send

    async def pause(self, run: RunId, at: str = '', **conditions: Unpack[Conditions]) -> None:
        """Pause the run or a region: nothing new starts; work in progress finishes and is journaled.

        Args:
            run: which run.
            at: an active state: only its region is held, with its work and timeouts, while the others
                continue; '' is the whole run. A region is held while its parallel state is active.

        Raises:
            UnknownRun, EventRefused
        """
        await self._send(run, 'pause', at=at, **conditions)

    async def resume(self, run: RunId, at: str = '', **conditions: Unpack[Conditions]) -> None:
        """Resume the run or a region.

        Nested regions that were paused themselves stay held, unless nothing could proceed then: in that case
        they resume too. Resuming a region of a paused run leaves the others as they are.

        Args:
            run: which run.
            at: an active state, for its region; '' is for the whole run.

        Raises:
            UnknownRun, EventRefused
        """
        await self._send(run, 'resume', at=at, **conditions)

    async def step(
        self, run: RunId, how: StepMode = 'in', at: str = '', **conditions: Unpack[Conditions]
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

        Raises:
            UnknownRun, EventRefused, InvalidInput
        """
        await self._send(run, 'step', at=at, data={'how': how}, **conditions)

    async def set_breakpoints(
        self,
        run: RunId,
        breakpoints: Sequence[Breakpoint],
        **conditions: Unpack[Conditions],
    ) -> tuple[Breakpoint, ...]:
        """Replace a run's breakpoints; they are stored with the run.

        Args:
            run: which run.
            breakpoints: all of them; those without a number get one. Hits are counted by number.

        Returns:
            The breakpoints with their numbers.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: an unknown state or edge, or an invalid condition; names the field.
        """
        fresh = number_breakpoints(breakpoints)
        await self._send(run, 'breakpoints', data={'breakpoints': dump_breakpoints(fresh)}, **conditions)
        return fresh

    async def extend(
        self,
        run: RunId,
        *,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Raise the run's budget by these amounts; if it was spent and the run has not ended, work resumes.

        Raises:
            InvalidInput: all amounts are zero, the run has no such budget, or the increase is too small to
                help.
        """
        more = {'tokens': tokens, 'cost': cost, 'seconds': seconds}
        amounts = {kind: amount for kind, amount in more.items() if amount is not None}
        await self._send(run, 'extend', data=amounts, **conditions)

    async def cancel(self, run: RunId, reason: str = '', **conditions: Unpack[Conditions]) -> None:
        """Cancel the run: every activity has been cancelled by the time the run appears as ended."""
        await self._send(run, 'cancel', data={'reason': reason}, **conditions)

    async def approve(
        self,
        run: RunId,
        at: str = '',
        *,
        always: bool = False,
        arguments: Mapping[str, str] | None = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Approve the tool calls that wait in the state `at`, or in all.

        Args:
            run: which run.
            at: the active state whose calls wait; '' is for all.
            always: whether to stop asking for these tools.
            arguments: by call id, the JSON text to call it with instead.
        """
        given = {'always': always, 'arguments': dict(arguments or {})}
        data = {name: value for name, value in given.items() if value}
        await self._send(run, 'approve', at=at, data=data, **conditions)

    async def deny(
        self, run: RunId, at: str = '', *, reason: str = '', **conditions: Unpack[Conditions]
    ) -> None:
        """Deny the tool calls that wait; the agent continues without them, and is told the reason."""
        await self._send(run, 'deny', at=at, data={'reason': reason} if reason else {}, **conditions)

    async def take_seat(self, run: RunId, seat: str, **conditions: Unpack[Conditions]) -> None:
        """Take the seat of an agent, to do its part."""
        await self._send(run, 'take_seat', data={'seat': seat}, **conditions)

    async def hand_back(self, run: RunId, seat: str, **conditions: Unpack[Conditions]) -> None:
        """Hand a seat back to the agent's model."""
        await self._send(run, 'hand_back', data={'seat': seat}, **conditions)

    async def edit(self, run: RunId, changes: Sequence[Change], **conditions: Unpack[Conditions]) -> None:
        """Change the memory or the agents of a paused run.

        Raises:
            UnknownRun, EventRefused
            InvalidInput: a change does not fit; names its path.
        """
        await self._send(run, 'edit', data={'changes': [asdict(change) for change in changes]}, **conditions)
