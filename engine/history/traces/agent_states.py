"""The states of a trace's agents: one per agent, with regions for agents that worked in parallel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.errors import BundleError
from engine.history.bundle.validation import MAX_STATES
from engine.history.traces import attributes as names
from engine.history.traces.tree import Visit
from engine.records import StatePath

THINKING, USING_TOOLS, DONE, FAILED, IDLE = 'thinking', 'using_tools', 'done', 'failed', 'idle'
"""Names of an agent's inner states, as in the engine's agents; `idle` means that its turn is yet to come."""
PARALLEL: Final = 'together'
"""The name of a state whose agents work in parallel."""
RESERVED: Final = frozenset({THINKING, USING_TOOLS, DONE, FAILED, IDLE, PARALLEL})


@dataclass(slots=True, eq=False)
class AgentState:
    """An agent's state, with those of the agents it calls; the run itself has the path ''."""

    path: StatePath
    role: str
    visits: list[Visit]
    region: bool = False
    """Whether it is a region, next to others that work in parallel."""
    inside: list[AgentState] = field(default_factory=list)
    parallels: list[ParallelState] = field(default_factory=list)
    leaves: dict[str, None] = field(default_factory=dict)
    """Its inner states that were entered, in order; the first is the initial state."""

    def leaf(self, name: str) -> StatePath:
        """Return the path of the inner state `name`, adding it if it is new."""
        self.leaves.setdefault(name)
        return child(self.path, name)

    def groups(self, visit: Visit) -> list[VisitGroup]:
        """Group the visits that one visit calls, in order; those that run in parallel form one group."""
        visit_groups: list[VisitGroup] = []
        home = {id(inner): agent for agent in self.inside for inner in agent.visits}
        parallel_of = {id(agent): parallel for parallel in self.parallels for agent in parallel.regions}
        for inner in visit.inside:
            agent = home[id(inner)]
            parallel = parallel_of.get(id(agent))
            last = visit_groups[-1] if visit_groups else None
            if parallel and last and last.parallel is parallel and inner.start < last.end:
                last.visits.append((agent, inner))
            else:
                visit_groups.append(VisitGroup(parallel, [(agent, inner)]))
        return visit_groups


@dataclass(slots=True, eq=False)
class ParallelState:
    """A parallel state whose regions are agents."""

    path: StatePath
    regions: list[AgentState]


@dataclass(slots=True, eq=False)
class VisitGroup:
    """Overlapping visits, or a single visit."""

    parallel: ParallelState | None
    visits: list[tuple[AgentState, Visit]]

    @property
    def start(self) -> float:
        """When the first visit began."""
        return self.visits[0][1].start

    @property
    def end(self) -> float:
        """When the last visit ended."""
        return max(visit.end for _, visit in self.visits)


def child(path: str, name: str) -> StatePath:
    """Return the path of a state inside another."""
    return StatePath(f'{path}.{name}' if path else name)


def build_agent_states(visits: Sequence[Visit]) -> AgentState:
    """Build the states of a run with these top-level agents. Raises `BundleError` if there are too many."""
    around = Visit('', None, inside=list(visits))
    return _Builder().build(StatePath(''), '', [around], region=False)


class _Builder:
    def __init__(self) -> None:
        self._count = 0

    def build(self, path: StatePath, role: str, visits: list[Visit], *, region: bool) -> AgentState:
        self._count += 1
        if self._count > MAX_STATES // 3:
            raise BundleError(0, f'a chart can have {MAX_STATES // 3} agents at most')
        agent = AgentState(path, role, visits, region)
        called = [inner for visit in visits for inner in visit.inside]
        regions = self._split_overlaps(sorted(called, key=lambda inner: (inner.start, inner.name)))
        first = _overlaps(regions)
        parallels: dict[int, ParallelState] = {}
        for number, (name, region_visits) in enumerate(regions):
            is_parallel = sum(other == first[number] for other in first) > 1
            home = path
            if is_parallel:
                if first[number] not in parallels:
                    suffix = f'_{len(parallels) + 1}' if parallels else ''
                    parallels[first[number]] = ParallelState(child(path, f'{PARALLEL}{suffix}'), [])
                home = parallels[first[number]].path
            inner = self.build(child(home, name), region_visits[0].name, region_visits, region=is_parallel)
            agent.inside.append(inner)
            if is_parallel:
                parallels[first[number]].regions.append(inner)
        agent.parallels = list(parallels.values())
        return agent

    def _split_overlaps(self, visits: Sequence[Visit]) -> list[tuple[str, list[Visit]]]:
        """Group visits by state name; overlapping visits of one agent go to different regions."""
        regions: dict[str, list[Visit]] = {}
        shared: dict[str, set[str]] = {}
        for visit in visits:
            shared.setdefault(state_name(visit), set()).add(visit.name)
        for visit in visits:
            name = state_name(visit)
            name = name if len(shared[name]) == 1 else to_state_name(visit.name)
            region, number = name, 1
            while region in regions and (
                regions[region][-1].end > visit.start or regions[region][-1].name != visit.name
            ):
                number += 1
                region = f'{name}_{number}'
                if number > MAX_STATES:
                    raise BundleError(0, f'more than {MAX_STATES} agents work at the same time')
            regions.setdefault(region, []).append(visit)
        return list(regions.items())


def _overlaps(regions: Sequence[tuple[str, list[Visit]]]) -> list[int]:
    """Return, for each region, the first region it overlaps with, directly or through others."""
    first = list(range(len(regions)))
    ordered = sorted(
        ((visit, number) for number, (_, visits) in enumerate(regions) for visit in visits),
        key=lambda item: item[0].start,
    )
    going: list[tuple[float, int]] = []
    for visit, number in ordered:
        going = [(end, other) for end, other in going if end > visit.start]
        joined = {first[other] for _, other in going} | {first[number]}
        if len(joined) > 1:
            first = [min(joined) if index in joined else index for index in first]
        going.append((visit.end, number))
    return first


def state_name(visit: Visit) -> str:
    """Return the name of an agent's state; Hemicycle's own spans hold the original name."""
    own = str(visit.span.attributes.get(names.STATE) or '') if visit.span else ''
    return to_state_name(own.rpartition('.')[2] or visit.name)


def to_state_name(text: str) -> str:
    """Convert a name to a valid state name."""
    name = re.sub(r'\W+', '_', text).strip('_')[:60] or 'agent'
    return f'{name}_agent' if name in RESERVED or name.startswith(f'{PARALLEL}_') else name
