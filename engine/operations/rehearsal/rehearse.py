"""Rehearse: lint a pattern's chart, and find a way to each of its states, without running anything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.configuration.catalog import Catalog
from engine.journal.protocol import Journal
from engine.operations.rehearsal.cost import Means, cost_of
from engine.operations.rehearsal.free_chart import FreeChart
from engine.operations.rehearsal.lint import lint
from engine.operations.rehearsal.possibility import Possibility
from engine.operations.rehearsal.records import PlayedEvent, Rehearsal, RehearsedEdge, RehearsedState, Walk
from engine.operations.rehearsal.search import Search
from engine.operations.rehearsal.simulator import Simulator, with_examples
from engine.operations.rehearsal.usual import RecordedRuns, with_usual
from engine.records import Event, StatePath
from engine.runtime import check_stubs
from engine.statechart.chart import Microstep
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import START

SECONDS = 2.0
"""The default limit of time for the search."""


class Rehearsals:
    """Rehearses the patterns of a catalog."""

    def __init__(self, catalog: Catalog, journal: Journal) -> None:
        self._catalog, self._recorded = catalog, RecordedRuns(journal)

    async def rehearse(  # noqa: PLR0913  (the parts of a request)
        self,
        pattern: str,
        parameters: Mapping[str, Any] | None = None,
        stubs: Mapping[str, Any] | None = None,
        models: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
        version: str = '',
    ) -> Rehearsal:
        """Rehearse a pattern; parameters that are left out have their defaults, and stubs are followed.

        Raises:
            UnknownPattern
            InvalidInput: names each parameter that is wrong, or each field of an answer.
        """
        await self._catalog.compile(pattern, version)
        chosen = self._catalog.pattern(pattern, version)
        workflow = chosen.sample(parameters)
        check_stubs(workflow, stubs or {})
        means = Means(chosen=models or {}, models=self._catalog.registry, tools=self._catalog.tools)
        runs = await self._recorded.of(workflow.name)
        rehearsal = await asyncio.to_thread(rehearse, workflow, seconds=seconds, means=means)
        followed = await asyncio.to_thread(walk, chosen, parameters or {}, stubs) if stubs else None
        return replace(rehearsal, cost=with_usual(rehearsal.cost, runs), walk=followed)


def rehearse(pattern: Pattern, *, seconds: float = SECONDS, means: Means | None = None) -> Rehearsal:
    """Return what the chart of a pattern, with its parameters, can do.

    None of its code is run but the guards that compare a count with a limit.

    Args:
        pattern: the pattern with the parameters.
        seconds: the limit of time for the search.
        means: the models and tools it would work with.
    """
    chart = FreeChart(pattern)
    possible = Possibility(pattern, chart)
    search = Search(chart, possible, seconds=seconds)
    search.run()
    taken = {(trigger, edge.source, edge.dest) for trigger, edge in search.edges}
    return Rehearsal(
        pattern=pattern.name,
        findings=tuple(lint(pattern, chart, possible, means.tools if means else ())),
        states=tuple(
            RehearsedState(
                path=path,
                possible=path in possible.states,
                ends=state.kind == 'final' and not state.parent,
                events=search.way_to(search.states[path]) if path in search.states else (),
            )
            for path, state in chart.states.items()
        ),
        edges=tuple(
            RehearsedEdge(
                trigger=edge.trigger,
                source=edge.source,
                dest=edge.dest,
                possible=edge in possible.edges,
                taken=(edge.trigger, edge.source, edge.dest) in taken,
            )
            for edge in dict.fromkeys(chart.shape.edges)
        ),
        complete=search.complete,
        cost=cost_of(pattern, chart, possible, means or Means()),
    )


def play(pattern: Pattern, events: Sequence[PlayedEvent]) -> list[Microstep]:
    """Return the microsteps that events cause, one after the other, from the start of a run."""
    chart = FreeChart(pattern)
    active: tuple[StatePath, ...] = (START,)
    microsteps: list[Microstep] = []
    for event in events:
        microsteps += chart.play(active, Event(name=event.name, at=event.at), event.answers)
        active = microsteps[-1].active
    return microsteps


def walk(pattern: type[Pattern], parameters: Mapping[str, Any], stubs: Mapping[str, Any]) -> Walk:
    """Return the way that stubs lead a run. Raises `InvalidInput`: a parameter has no example."""
    simulator = Simulator(with_examples(pattern, parameters))
    stopped = simulator.follow(stubs)
    events = (
        PlayedEvent(name=moment.event.name, at=moment.event.at, active=moment.active)
        for moment in simulator.moments
    )
    ending = simulator.moment.ending
    return Walk(events=tuple(events), ending=ending, reason=stopped or simulator.moment.reason)
