"""Lint: mistakes in a chart that can be seen without running it, each named with its state or edge."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from engine.operations.rehearsal.flow import reachable
from engine.operations.rehearsal.memory_use import unused_fields
from engine.operations.rehearsal.possibility import OWN_TRIGGERS, Possibility
from engine.operations.rehearsal.records import Finding, Level, name_of
from engine.records import EdgeShape, StatePath, StateShape, is_within
from engine.records.shape import ancestry, parent_of
from engine.runtime import region_of
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import walk
from engine.tools.mcp.servers import WILDCARD


def lint(pattern: Pattern, chart: Chart, possible: Possibility, tools: Collection[str] = ()) -> list[Finding]:
    """Return what is wrong with a chart, errors first; without `tools`, these are not looked at."""
    listed = [*_Lint(pattern, chart, possible).findings(), *unused_fields(pattern)]
    if tools:
        listed += _unknown_tools(pattern, tools)
    return sorted(listed, key=lambda finding: list(Level).index(finding.level))


class _Lint:
    def __init__(self, pattern: Pattern, chart: Chart, possible: Possibility) -> None:
        self._pattern, self._possible = pattern, possible
        self._states, self._shape, self._edges = chart.states, chart.shape, chart.shape.edges
        self._reached = [state for path, state in chart.states.items() if path in possible.states]

    def findings(self) -> Iterator[Finding]:
        yield from self._unreachable()
        yield from self._impossible_edges()
        yield from self._unaccepted()
        yield from self._automatic_cycles()
        yield from self._idle_history()
        yield from self._traps()
        idle: dict[StatePath, list[StateShape]] = {}
        for state in self._reached:
            yield from self._without_end(state)
            yield from self._uncaught(state)
            if state.kind == 'atomic':
                yield from self._endless(state, idle)
        for parallel, states in idle.items():
            if len(states) > 1:
                names = ', '.join(state.path for state in states)
                yield _finding(
                    Level.WARNING, 'regions-wait', parallel, f'its regions may wait for each other: {names}'
                )

    def _unreachable(self) -> Iterator[Finding]:
        for path, state in self._states.items():
            if path not in self._possible.states and (
                not state.parent or state.parent in self._possible.states
            ):
                yield _finding(Level.ERROR, 'unreachable-state', path, 'no run can reach it')

    def _impossible_edges(self) -> Iterator[Finding]:
        """Find declared edges of which none can be taken; one of many sources makes an edge for each."""
        groups: dict[int, list[int]] = {}
        for number, (_, declaration) in enumerate(self._possible.declared):
            groups.setdefault(id(declaration), []).append(number)
        for numbers in groups.values():
            edges = [self._possible.declared[number][0] for number in numbers]
            first = next((edge for edge in edges if edge.source in self._possible.states), None)
            if first is None or not self._possible.edges.isdisjoint(edges):
                continue
            shadows = (
                self._possible.shadowed[number] for number in numbers if number in self._possible.shadowed
            )
            shadow = next(shadows, '')
            level, text = Level.ERROR, f'it is never taken: {shadow or self._reason(first)}'
            if not shadow and first.trigger == 'expired' and self._may_expire(numbers):
                level, text = Level.NOTE, 'nothing has a time limit with these parameters'
            elif not shadow and self._possible.passes_through(first.source):
                level = Level.WARNING
            yield Finding(
                level=level, rule='impossible-edge', state=first.source, edge=name_of(first), text=text
            )

    def _may_expire(self, numbers: list[int]) -> bool:
        """Return whether a state that these edges leave may have a time limit with other parameters."""
        edges = [self._possible.declared[number] for number in numbers]
        sources = {edge.source for edge, _ in edges}
        return edges[0][1]['source'] == '*' or any(
            path in sources and 'within' in state for path, _, state in walk(self._pattern.chart_states())
        )

    def _reason(self, edge: EdgeShape) -> str:
        if self._possible.passes_through(edge.source):
            return 'a run never waits there'
        return {
            'done': 'nothing there can become done',
            'expired': 'nothing there has a time limit (`within`)',
            'asked': 'nothing there calls tools',
        }.get(edge.trigger, 'an edge inside always takes the event')

    def _unaccepted(self) -> Iterator[Finding]:
        triggers = {edge.trigger for edge in self._edges}
        for trigger in self._pattern.inputs:
            if trigger not in triggers:
                depends = callable(self._pattern.states) or callable(self._pattern.transitions)
                level, rest = (Level.NOTE, ' with these parameters') if depends else (Level.ERROR, '')
                text = f'`inputs` describes {trigger!r}, which no edge accepts{rest}'
                yield _finding(level, 'unaccepted-event', StatePath(''), text)

    def _automatic_cycles(self) -> Iterator[Finding]:
        following: dict[StatePath, set[StatePath]] = {}
        for edge in self._edges:
            leads_on = edge.trigger == 'always' and edge.dest and self._possible.passes_through(edge.source)
            if leads_on and edge in self._possible.edges:
                following.setdefault(edge.source, set()).add(self._entered(StatePath(edge.dest)))
        reported: set[StatePath] = set()
        for start in following:
            reach = reachable(start, following)
            if start not in reach or start in reported:
                continue
            cycle = {path for path in reach if path in following and start in reachable(path, following)}
            reported |= cycle
            names = ' → '.join([*sorted(cycle), min(cycle)])
            if all(following[path] <= cycle for path in cycle):
                yield _finding(
                    Level.ERROR, 'automatic-cycle', start, f'its edges without an event never stop: {names}'
                )
            else:
                text = f'its edges without an event go on until a guard ends them: {names}'
                yield _finding(Level.WARNING, 'automatic-cycle', start, text)

    def _traps(self) -> Iterator[Finding]:
        """Find the first outermost state from which no final state can be reached."""
        backward: dict[StatePath, set[StatePath]] = {}
        for edge in self._possible.edges:
            if edge.dest:
                backward.setdefault(_outermost(edge.dest), set()).add(_outermost(edge.source))
        outermost = [state for state in self._reached if not state.parent]
        ends = {state.path for state in outermost if state.kind == 'final'}
        leading = ends.union(*(reachable(end, backward) for end in ends))
        if trap := next((state.path for state in outermost if state.path not in leading), None):
            text = 'no final state can be reached from it: a run that comes here only ends if it is stopped'
            yield _finding(Level.WARNING, 'no-ending', trap, text)

    def _idle_history(self) -> Iterator[Finding]:
        """Find edges back to where a state was left, if no edge leaves it."""
        for edge in self._edges:
            dest = StatePath(edge.dest)
            if not edge.history or dest not in self._possible.states:
                continue
            if not any(self._may_leave(dest, other) for other in self._possible.edges):
                text = f'{dest} is never left: there is nothing to return to'
                yield Finding(
                    level=Level.WARNING, rule='idle-history', state=edge.source, edge=name_of(edge), text=text
                )

    def _may_leave(self, path: StatePath, edge: EdgeShape) -> bool:
        """Return whether taking an edge may leave a state."""
        both = next((around for around in ancestry(path) if is_within(edge.source, around)), None)
        if both is None or not edge.dest:
            return False
        if both == path:
            return not is_within(edge.dest, path) or (edge.dest == path and not edge.history)
        region = next((child for child in self._states[both].initial if is_within(edge.source, child)), both)
        return both == edge.source or (
            self._states[both].kind == 'parallel' and not is_within(edge.dest, region)
        )

    def _entered(self, path: StatePath) -> StatePath:
        """Return the leaf that entering a state leads to, if it is one."""
        while len(self._states[path].initial) == 1:
            path = self._states[path].initial[0]
        return path

    def _without_end(self, state: StateShape) -> Iterator[Finding]:
        """Find composites that end, after which nothing follows."""
        above = self._states.get(state.parent)
        if state.kind not in ('compound', 'parallel') or (above and above.kind == 'parallel'):
            return
        for ending in sorted(self._possible.endings(state.path)):
            if not self._handles(state.path, ending):
                what = 'its agent' if state.role else 'what is inside'
                did = 'is done' if ending == 'done' else 'has failed'
                text = f'nothing follows when {what} {did}: the run would stay there for ever'
                yield _finding(Level.ERROR, 'unhandled-end', state.path, text)

    def _handles(self, path: StatePath, event: str) -> bool:
        """Return whether an edge accepts an event that is addressed to a state."""
        return any(
            edge.trigger == event
            and (edge.source == path or (event != 'done' and is_within(path, edge.source)))
            for edge in self._edges
        )

    def _uncaught(self, state: StateShape) -> Iterator[Finding]:
        for event, occurs, what in (
            ('expired', self._possible.is_timed(state.path), 'the end of its time'),
            ('failed', state.invokes, 'a failure'),
        ):
            if occurs and not self._handles(state.path, event):
                text = f'nothing catches {what}: it fails the whole run'
                yield _finding(Level.WARNING, f'uncaught-{event}', state.path, text)

    def _endless(self, state: StateShape, idle: dict[StatePath, list[StateShape]]) -> Iterator[Finding]:
        path = state.path
        around = list(ancestry(path))
        limited = any(self._possible.is_timed(above) for above in around)
        outside = [e for e in self._edges if e.source in around and e.trigger not in OWN_TRIGGERS]
        if state.waits:
            if not outside:
                text = f'it waits for {state.waits!r}, and accepts no event that a person can send'
                yield _finding(Level.ERROR, 'unaccepted-event', path, text)
            elif not limited:
                yield _finding(
                    Level.NOTE, 'unlimited-wait', path, 'it waits for a person without a time limit'
                )
        elif not (state.invokes or limited or self._possible.passes_through(path)):
            own = sorted({edge.trigger for edge in outside if edge.source == path})
            region = region_of(self._shape, path)
            if own:
                text = f'it waits for {", ".join(map(repr, own))} without saying so: give it `waits`'
                yield _finding(Level.ERROR, 'silent-wait', path, text)
            elif not region:
                text = 'if no guard lets the run go on when it comes here, it stays for ever'
                yield _finding(Level.WARNING, 'endless-state', path, text)
            else:
                idle.setdefault(parent_of(region), []).append(state)


def _unknown_tools(pattern: Pattern, tools: Collection[str]) -> Iterator[Finding]:
    """Find tools that are not here; those of MCP servers are only known once these are asked."""
    for path, _, state in walk(pattern.chart_states()):
        for name in state['agent'].tools if 'agent' in state else ():
            if name not in tools and not name.startswith(WILDCARD):
                yield _finding(Level.ERROR, 'unknown-tool', path, f'there is no tool {name!r}')


def _outermost(path: str) -> StatePath:
    return StatePath(path.partition('.')[0])


def _finding(level: Level, rule: str, state: StatePath, text: str) -> Finding:
    return Finding(level=level, rule=rule, state=state, text=text)
