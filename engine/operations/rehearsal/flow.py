"""Flow: how often a run can visit each state of a chart, at most, and which edges leave that open.

Each composite is looked at alone: its children are the nodes, and an edge that leads elsewhere links those
children that hold its ends. Where no loop can repeat for ever, a visit to the composite comes by each child
once, and again once for each time that a bounded edge, or the entry of a bounded child, starts a loop anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.operations.rehearsal.possibility import OWN_TRIGGERS, Possibility
from engine.records import EdgeShape, StatePath, StateShape
from engine.records.shape import ancestry, is_within, parent_of
from engine.statechart.shape_builder import START

Visits = float
"""A number of visits; `math.inf` if there is no bound."""


@dataclass(frozen=True, slots=True)
class Arc:
    """An edge of the chart, as a link between two children of one composite."""

    edge: EdgeShape
    source: StatePath
    dest: StatePath
    most: Visits = math.inf
    """How often a run can take it at most, as far as is known."""

    @property
    def by_people(self) -> bool:
        """Whether only an event that people send takes it."""
        return self.edge.trigger not in OWN_TRIGGERS


@dataclass(slots=True)
class Level:
    """The inside of one composite, or the outermost states."""

    nodes: list[StatePath] = field(default_factory=list)
    entries: set[StatePath] = field(default_factory=set)
    """The children in which a visit can begin."""
    exits: set[StatePath] = field(default_factory=set)
    """The children that edges out of the composite start in."""
    arcs: list[Arc] = field(default_factory=list)
    limits: dict[StatePath, int] = field(default_factory=dict)
    """The children that are entered only so often during one visit."""
    open_arcs: list[Arc] = field(default_factory=list)
    """Arcs that close a loop which may repeat without an end."""
    again: list[Arc] = field(default_factory=list)
    """Arcs that close a loop only if people send the event."""
    loops: Mapping[StatePath, frozenset[StatePath]] = field(default_factory=dict)
    """For each child those with which it shares a loop, itself included."""

    def close_loops(self) -> None:
        """Sort out the arcs that close loops without a known bound."""
        while self._close_loops():
            pass
        together = _strongly_connected(self.nodes, _links(self._arcs_in_use()))
        self.loops = {node: component for component in together for node in component}

    def _close_loops(self) -> bool:
        """Search in depth for arcs that lead back; return whether one before was sorted out instead."""
        following: dict[StatePath, list[Arc]] = {}
        for arc in self._free_arcs():
            following.setdefault(arc.source, []).append(arc)
        done: set[StatePath] = set()
        for start in self.nodes:
            path: list[Arc] = []
            on_way = {start: 0}
            branches = [iter(following.get(start, ()))]
            while branches and start not in done:
                link = next(branches[-1], None)
                if link is None:
                    branches.pop()
                    done.add(on_way.popitem()[0])
                    if path:
                        path.pop()
                elif link.dest in on_way:
                    cycle = [*path[on_way[link.dest] :], link]
                    ours = next((arc for arc in reversed(cycle) if arc.by_people), None)
                    (self.open_arcs if ours is None else self.again).append(ours or cycle[-1])
                    if ours not in (None, cycle[-1]):
                        return True
                elif link.dest not in done:
                    path.append(link)
                    on_way[link.dest] = len(path)
                    branches.append(iter(following.get(link.dest, ())))
        return False

    def _free_arcs(self) -> list[Arc]:
        """Return the arcs that nothing bounds, without those sorted out."""
        out = {id(arc) for arc in (*self.open_arcs, *self.again)}
        return [
            arc for arc in self.arcs
            if arc.most == math.inf and arc.dest not in self.limits and id(arc) not in out
        ]  # fmt: skip

    def _arcs_in_use(self) -> list[Arc]:
        """Return the arcs without those that only people take again, and those that are never taken."""
        again = {id(arc) for arc in self.again}
        return [arc for arc in self.arcs if arc.most and id(arc) not in again]

    def visits(self) -> dict[StatePath, Visits]:
        """Return how often each child can be visited during one visit to the composite."""
        free, loops = _links(self._free_arcs()), self.loops
        closing = {id(arc) for arc in self.open_arcs}
        starts: dict[StatePath, Visits] = {}
        """How often loops start anew at a child."""
        for arc in self._arcs_in_use():
            if arc.dest not in loops[arc.source]:
                continue
            if arc.dest in self.limits:
                starts[arc.dest] = self.limits[arc.dest]
            elif arc.most < math.inf or id(arc) in closing:
                starts[arc.dest] = starts.get(arc.dest, 0) + arc.most
        reach = {start: {start} | reachable(start, free) for start in starts}
        visits: dict[StatePath, Visits] = {}
        for node in self.nodes:
            more = sum(
                starts[start]
                for start, nodes in reach.items()
                if node in nodes and loops[node] == loops[start]
            )
            visits[node] = min(1 + more, self.limits.get(node, math.inf))
        return visits

    def longest(self, weights: Mapping[StatePath, float], starts: Iterable[StatePath]) -> float:
        """Return the weight of the heaviest way through; the children of one loop count together."""
        loops = self.loops
        following: dict[frozenset[StatePath], set[frozenset[StatePath]]] = {}
        for arc in self._arcs_in_use():
            if loops[arc.source] != loops[arc.dest]:
                following.setdefault(loops[arc.source], set()).add(loops[arc.dest])
        known: dict[frozenset[StatePath], float] = {}

        def weigh(loop: frozenset[StatePath]) -> float:
            if loop not in known:
                own = sum(weights[node] for node in loop)
                known[loop] = own + max(map(weigh, following.get(loop, ())), default=0.0)
            return known[loop]

        return max((weigh(loops[node]) for node in starts), default=0.0)

    def shortest(self, weights: Mapping[StatePath, float], ends: Callable[[StatePath], bool]) -> float:
        """Return the weight of the lightest way to an end on which nothing fails or expires."""
        links = _links(
            [arc for arc in self.arcs if arc.edge.trigger not in ('failed', 'expired', 'exhausted')]
        )
        best = {node: weights[node] for node in self.entries}
        waiting = set(best)
        while waiting:
            node = min(waiting, key=lambda item: best[item])
            waiting.discard(node)
            for dest in links.get(node, ()):
                if best[node] + weights[dest] < best.get(dest, math.inf):
                    best[dest] = best[node] + weights[dest]
                    waiting.add(dest)
        return min((weight for node, weight in best.items() if ends(node)), default=0.0)


def levels(
    states: Mapping[StatePath, StateShape],
    possible: Possibility,
    limits: Mapping[StatePath, int],
    count: Callable[[int], int | None],
) -> dict[StatePath, Level]:
    """Return the levels of a chart by their composite, '' for the outermost; agents are single nodes.

    Args:
        states: the states by path.
        possible: what can happen at all.
        limits: by state, how often one visit to the state around it can enter it.
        count: returns how often a run can take a declared edge, by its number; None if it does not know.
    """
    agents = {path for path, state in states.items() if state.role}
    inside: dict[StatePath, Level] = {}
    for path, state in states.items():
        if path in possible.states and agents.isdisjoint([*ancestry(path)][1:]):
            level = inside.setdefault(state.parent, Level())
            level.nodes.append(path)
            if path in limits:
                level.limits[path] = limits[path]
            if state.kind in ('compound', 'parallel') and path not in agents:
                inside.setdefault(path, Level()).entries |= set(state.initial)
    for number, (edge, _) in enumerate(possible.declared):
        if edge in possible.edges and edge.dest and agents.isdisjoint([*ancestry(edge.source)][1:]):
            known = count(number)
            _add_edge(inside, edge, states, math.inf if known is None else known)
    for level in inside.values():
        level.close_loops()
    return inside


def _add_edge(
    inside: Mapping[StatePath, Level], edge: EdgeShape, states: Mapping[StatePath, StateShape], most: Visits
) -> None:
    dest = StatePath('')
    if edge.source != START:
        scope, source, dest = _meet(edge, states)
        inside[scope].arcs.append(Arc(edge, source, dest, most))
        for path in _outward(edge.source, source):
            inside[parent_of(path)].exits.add(path)
    for path in _outward(StatePath(edge.dest), dest):
        inside[parent_of(path)].entries.add(path)
    if edge.history:  # a visit may begin wherever the last one was left
        for scope, level in inside.items():
            if is_within(scope, StatePath(edge.dest)):
                level.entries |= set(level.nodes)


def _meet(edge: EdgeShape, states: Mapping[StatePath, StateShape]) -> tuple[StatePath, StatePath, StatePath]:
    """Return the innermost composite around both ends of an edge, and its children that hold them."""
    sources, dests = ([*ancestry(path)][::-1] for path in (edge.source, edge.dest))
    place = 0
    while place < min(len(sources), len(dests)) - 1 and sources[place] == dests[place]:
        place += 1
    # Between regions of a parallel state, an edge leaves all of it and enters it anew.
    while place and states[sources[place]].parent and states[parent_of(sources[place])].kind == 'parallel':
        place -= 1
    return parent_of(sources[place]), sources[place], dests[place]


def _outward(path: StatePath, top: StatePath) -> Iterator[StatePath]:
    """Yield the states from `path` outward that are inside `top`."""
    for around in ancestry(path):
        if around == top:
            return
        yield around


def _links(arcs: list[Arc]) -> dict[StatePath, dict[StatePath, None]]:
    """Return where each state leads, each once."""
    links: dict[StatePath, dict[StatePath, None]] = {}
    for arc in arcs:
        links.setdefault(arc.source, {})[arc.dest] = None
    return links


def reachable(start: StatePath, following: Mapping[StatePath, Iterable[StatePath]]) -> set[StatePath]:
    """Return the states to which steps lead from a state; itself only if they lead back."""
    reached: set[StatePath] = set()
    waiting = [start]
    while waiting:
        for dest in following.get(waiting.pop(), ()):
            if dest not in reached:
                reached.add(dest)
                waiting.append(dest)
    return reached


def _strongly_connected(
    nodes: Iterable[StatePath], links: Mapping[StatePath, Iterable[StatePath]]
) -> list[frozenset[StatePath]]:
    """Return the states in groups, in each of which every state leads to every other: as Kosaraju does."""
    backward: dict[StatePath, list[StatePath]] = {}
    for node, dests in links.items():
        for dest in dests:
            backward.setdefault(dest, []).append(node)
    groups: list[frozenset[StatePath]] = []
    done: set[StatePath] = set()
    for node in reversed(_by_finish(nodes, links)):
        if node not in done:
            group, waiting = {node}, [node]
            while waiting:
                new = {other for other in backward.get(waiting.pop(), ()) if other not in done} - group
                group |= new
                waiting.extend(new)
            done |= group
            groups.append(frozenset(group))
    return groups


def _by_finish(nodes: Iterable[StatePath], links: Mapping[StatePath, Iterable[StatePath]]) -> list[StatePath]:
    """Return states in the order in which a search in depth has seen all that they lead to."""
    finished: list[StatePath] = []
    seen: set[StatePath] = set()
    for start in nodes:
        on_way = [] if start in seen else [(start, iter(links.get(start, ())))]
        seen.add(start)
        while on_way:
            node, following = on_way[-1]
            dest = next((each for each in following if each not in seen), None)
            if dest is None:
                finished.append(node)
                on_way.pop()
            else:
                seen.add(dest)
                on_way.append((dest, iter(links.get(dest, ()))))
    return finished
