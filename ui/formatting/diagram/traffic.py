"""The numbers of each drawn state and edge over many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.records import EdgeTraffic, Shape, StatePath, StateTraffic, Traffic
from ui.formatting.diagram.overlays import aggregate, visible_ancestor, visible_edge
from ui.formatting.steps import edge_name
from ui.formatting.values import compact


@dataclass(frozen=True, slots=True, kw_only=True)
class StateHeat:
    """A drawn state with the traffic of all runs through it."""

    path: str
    having: int
    """Runs whose chart has it."""
    traffic: StateTraffic | None
    """None if no run was ever there."""

    @property
    def runs(self) -> int:
        """Number of runs that were there."""
        return self.traffic.runs if self.traffic else 0

    @property
    def visits(self) -> int:
        """How often all runs together entered it."""
        return self.traffic.visits if self.traffic else 0

    @property
    def median(self) -> float:
        """Median seconds of the runs that were there."""
        return self.traffic.median if self.traffic else 0.0

    @property
    def troubled(self) -> int:
        """Runs for which something failed there."""
        return self.traffic.troubled if self.traffic else 0

    @property
    def average(self) -> float:
        """Average visits of a run that was there."""
        return self.traffic.visits / self.traffic.runs if self.traffic else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeHeat:
    """A drawn edge with the traffic of all runs along it."""

    name: str
    real: str
    """The edges it stands for, separated by `|`: several if states are folded."""
    times: int
    runs: int
    share: float
    """Its share of all exits from its source."""
    failing: bool
    """Whether only failures and timeouts take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A chart with its heat; states and edges in the order of the chart."""

    runs: int
    states: tuple[StateHeat, ...]
    edges: tuple[EdgeHeat, ...]

    @classmethod
    def of(cls, traffic: Traffic, shape: Shape, folded: frozenset[str]) -> Heat:
        """Return the heat of the states and edges that are drawn with `folded` states."""
        having = {
            state.path: sum(number for chart, number in traffic.shapes if chart.state(state.path))
            for state in shape.states
        }
        by_path = {str(state.path): state for state in traffic.states}
        drawn = [
            str(state.path) for state in shape.states if visible_ancestor(state.path, folded) == state.path
        ]
        states = tuple(
            StateHeat(path=path, having=having[StatePath(path)], traffic=by_path.get(path)) for path in drawn
        )
        return cls(runs=traffic.runs, states=states, edges=tuple(_edges(traffic, shape, folded)))


def _edges(traffic: Traffic, shape: Shape, folded: frozenset[str]) -> Iterable[EdgeHeat]:
    failing: dict[str, bool] = {}
    for edge in shape.edges:
        name = visible_edge(edge_name(edge), folded) if edge.dest else ''
        if name:
            failing[name] = failing.get(name, True) and edge.trigger in ('failed', 'expired')
    taken = {f'{edge.source}>{edge.dest}': edge for edge in traffic.edges if edge.dest}
    merged = aggregate({name: [edge] for name, edge in taken.items()}, folded, _join, edges=True)
    out: Counter[str] = Counter()
    for name, several in merged.items():
        out[name.partition('>')[0]] += sum(edge.times for edge in several)
    for name in dict.fromkeys([*failing, *merged]):
        several = merged.get(name, [])
        times = sum(edge.times for edge in several)
        yield EdgeHeat(
            name=name,
            real='|'.join(f'{edge.source}>{edge.dest}' for edge in several) or name,
            times=times,
            # A lower bound: the number of runs that took any of several edges is unknown.
            runs=max((edge.runs for edge in several), default=0),
            share=times / out[name.partition('>')[0]] if several else 0.0,
            failing=failing.get(name, False),
        )


def _join(lists: list[list[EdgeTraffic]]) -> list[EdgeTraffic]:
    return [edge for edges in lists for edge in edges]


def fork_note(traffic: Traffic) -> str:
    """Describe how many steps the runs inherited, which are counted for their parents only."""
    which = '1 of them is a fork' if traffic.forks == 1 else f'{traffic.forks:,} of them are forks'
    return f'{which}; inherited steps ({compact(traffic.inherited)}) count for the parents only'
