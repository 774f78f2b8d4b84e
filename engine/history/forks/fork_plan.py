"""ForkPlanner: works out a fork before it starts; and the step from which to retry a failed run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic import ValidationError

from engine.errors import EventRefused, InvalidInput
from engine.history.changed_patterns import contains_shape, find_change
from engine.history.forks.fork_records import ForkOverrides
from engine.history.forks.fork_validation import apply_overrides, edits, validate_overrides
from engine.history.run_reader import RunReader
from engine.journal.protocol import Journal
from engine.records import Event, RunInfo, Transition
from engine.runtime.control_events import apply_edit
from engine.runtime.live_runs import LiveRuns
from engine.runtime.run_factory import (
    child_run_info,
    fork_run_info,
    initial_state,
    restore_state,
    workflow_of,
)
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPlan:
    """A run that is ready to start."""

    info: RunInfo
    chart: Chart
    state: RunState
    data: Mapping[str, Any]
    """Event data for its first step."""


class ForkPlanner:
    """Plans forks; starts none."""

    def __init__(self, live: LiveRuns, reader: RunReader) -> None:
        self._live, self._reader, self._services = live, reader, live.services

    async def plan(self, parent: RunInfo, at: int, variation: ForkOverrides) -> ForkPlan:
        """Plan a fork without starting it; raises any error that would prevent it from starting."""
        await self._live.catalog.compile(parent.pattern, parent.version)
        workflow = workflow_of(
            self._live.catalog, replace(parent, parameters={**parent.parameters, **variation.parameters})
        )
        workflow.instruction_overrides = {**workflow.instruction_overrides, **variation.instructions}
        validate_overrides(variation, workflow, self._services)
        chart = self._live.charts.of(workflow)
        if variation.before != 'recorded' or at == 0:  # nothing precedes the first step
            return await self._plan_rerun(parent, variation, workflow, chart)
        fold = await self._reader.fold(parent.id, await self._reader.turn_end(parent, at))
        recorded = await self._live.journal.shape(parent.id)
        if not contains_shape(chart.shape, recorded):
            remedy = 'fork from the start, where all earlier steps are run again'
            if change := find_change(self._live.catalog, parent, recorded):
                raise EventRefused(parent.id, 'fork', f'{change}; {remedy}')
            problem = f'they change the chart: {remedy}'
            raise InvalidInput({f'parameters.{name}': problem for name in variation.parameters})
        limits = fold.projection.meter.budget
        child = fork_run_info(
            parent, fold.view, owner=self._live.owner, now=self._services.clock.now(), budget=limits
        )
        info = apply_overrides(child, variation, workflow, self._services)
        state = restore_state(fold, workflow, chart)
        changes = [asdict(change) for change in edits(variation, state, parent.parameters)]
        if changes:
            state, _ = apply_edit(state, Event(name='edit', data={'changes': changes}))
        data: dict[str, Any] = {'changes': changes} if changes else {}
        settings = {
            name: [_setting(parent, name), _setting(info, name)] for name in ('parameters', 'instructions')
        }
        varied = {name: values for name, values in settings.items() if values[0] != values[1]}
        return ForkPlan(
            info=info, chart=chart, state=state, data=data | ({'varied': varied} if varied else {})
        )

    async def _plan_rerun(
        self, parent: RunInfo, variation: ForkOverrides, workflow: Pattern, chart: Chart
    ) -> ForkPlan:
        state = await self._first_state(parent, variation, workflow)
        changes = [asdict(change) for change in edits(variation, state, parent.parameters)]
        if changes:
            state, _ = apply_edit(state, Event(name='edit', data={'changes': changes}))
        child = child_run_info(parent, owner=self._live.owner, now=self._services.clock.now())
        return ForkPlan(
            info=apply_overrides(child, variation, workflow, self._services),
            chart=chart,
            state=state,
            data={},
        )

    async def _first_state(self, parent: RunInfo, variation: ForkOverrides, workflow: Pattern) -> RunState:
        """Return the initial data; a replayed run begins with the recorded data.

        Raises:
            PatternError: the pattern itself can no longer start.
        """
        fresh = initial_state(workflow)
        if variation.after == 'recorded' and not variation.parameters:
            steps = await self._live.journal.transitions(parent.id, limit=1)
            memory = steps[0].event.data.get('memory') if steps else None
            if memory:
                with suppress(ValidationError):  # The recorded data no longer fits the pattern.
                    return RunState(workflow, workflow.Memory.model_validate(memory))
        return fresh


def _setting(info: RunInfo, what: str) -> Any:
    return info.parameters if what == 'parameters' else info.options.get(what, {})


MAX_STEPS_BACK = 200
"""Number of a run's last steps to search for the one that made it fail."""


async def find_retry_step(journal: Journal, info: RunInfo) -> int:
    """Return the last step from which a failed run can continue, so that the failed work is retried.

    This is the step before the failure named in the run's error, or before the budget was exceeded; if the
    cause is unknown, it is the step before the event that ended the run.

    Raises:
        EventRefused: it failed at its first step.
    """
    steps = await journal.transitions(info.id, after=max(0, info.seq - MAX_STEPS_BACK))
    first = _failed_step(steps, info.error)
    if first.seq < 2:
        raise EventRefused(info.id, 'retry', 'it failed at its first step: run it again')
    return first.seq - 1


def _failed_step(steps: list[Transition], reason: str) -> Transition:
    caused = [step for step in steps if not step.raised]
    last = caused[-1]
    for step in reversed(caused):
        name, error = step.event.name, str(step.event.data.get('error', ''))
        if name == 'extend':
            break
        if name == 'exhaust':
            return step
        if name in ('failed', 'expired') and error and error in reason:
            return step
    return last
