"""Drafting: works a fork out before it is started, so that all that may be wrong with it is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.activity import Services
from engine.chart import Chart
from engine.control import edited
from engine.errors import InvalidInput
from engine.forks.variation import Variation
from engine.forks.varied import alike, checked, edits, varied
from engine.keeping.keeper import Keeper
from engine.pattern import Pattern
from engine.prepare import Charts, begun, born_of, forked, restored, workflow_of
from engine.records import Event, RunInfo
from engine.state import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A run that could be started."""

    info: RunInfo
    chart: Chart
    state: RunState
    data: Mapping[str, Any]
    """For the step with which it begins."""


class Drafting(Keeper):
    """Makes runs of runs, as far as nobody sees it."""

    owner: str
    services: Services
    _charts: Charts

    async def _drafted(self, parent: RunInfo, at: int, variation: Variation) -> Draft:
        """A fork that has not been started: all that may be wrong with it is found here."""
        workflow = workflow_of(
            self.catalog, replace(parent, parameters={**parent.parameters, **variation.parameters})
        )
        workflow.instructed = {**workflow.instructed, **variation.instructions}
        checked(variation, workflow, self.services)
        chart = self._charts.of(workflow)
        if variation.before != 'recorded' or at == 0:  # there is nothing before the first step
            return self._anew(parent, variation, workflow, chart)
        fold = await self.fold(parent.id, await self.turn_end(parent, at))
        if not alike(chart.shape, await self.journal.shape(parent.id)):
            problem = 'they change the chart: begin at the start, where the steps before are done anew'
            raise InvalidInput({f'parameters.{name}': problem for name in variation.parameters or ('',)})
        limits = fold.ledger.meter.budget
        made = forked(parent, fold.view, owner=self.owner, now=self.clock.now(), budget=limits)
        info = varied(made, variation, workflow, self.services)
        state = restored(fold, workflow, chart)
        changes = [asdict(change) for change in edits(variation, state, parent.parameters)]
        if changes:
            state, _ = edited(state, Event(name='edit', data={'changes': changes}))
        data = {'changes': changes} if changes else {}
        ways = {name: [_way(parent, name), _way(info, name)] for name in ('parameters', 'instructions')}
        turned = {name: way for name, way in ways.items() if way[0] != way[1]}
        return Draft(info=info, chart=chart, state=state, data=data | ({'varied': turned} if turned else {}))

    def _anew(self, parent: RunInfo, variation: Variation, workflow: Pattern, chart: Chart) -> Draft:
        state = begun(workflow)
        changes = [asdict(change) for change in edits(variation, state, parent.parameters)]
        if changes:
            state, _ = edited(state, Event(name='edit', data={'changes': changes}))
        made = born_of(parent, owner=self.owner, now=self.clock.now())
        return Draft(info=varied(made, variation, workflow, self.services), chart=chart, state=state, data={})


def _way(info: RunInfo, what: str) -> Any:
    return info.parameters if what == 'parameters' else info.options.get(what, {})
