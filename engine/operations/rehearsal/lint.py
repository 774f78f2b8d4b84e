"""Lint: mistakes in a chart that can be seen without running it, each named with its state or edge."""

from __future__ import annotations

from collections.abc import Iterator

from engine.operations.rehearsal.memory_use import unused_fields
from engine.operations.rehearsal.possibility import OWN_TRIGGERS, Possibility, name_of
from engine.operations.rehearsal.records import Finding, Level
from engine.records import EdgeShape, StatePath, StateShape, is_within
from engine.records.shape import parent_of
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import declared_edges, walk


def lint(pattern: Pattern, chart: Chart, possible: Possibility) -> list[Finding]:
    """Return what is wrong with a chart, errors first."""
    listed = [*_Lint(pattern, chart, possible).findings(), *unused_fields(pattern)]
    return sorted(listed, key=lambda finding: list(Level).index(finding.level))


class _Lint:
    def __init__(self, pattern: Pattern, chart: Chart, possible: Possibility) -> None:
        self._pattern, self._possible = pattern, possible
        self._states, self._edges = chart.states, chart.shape.edges
        self._reached = [state for path, state in chart.states.items() if path in possible.states]

    def findings(self) -> Iterator[Finding]:
        yield from self._unreachable()
        yield from self._impossible_edges()
        yield from self._unaccepted()
        yield from self._automatic_cycles()
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
        declared: dict[int, list[EdgeShape]] = {}
        wildcards: set[int] = set()
        numbers: dict[int, list[int]] = {}
        listed = list(walk(self._pattern.chart_states()))
        pairs = list(declared_edges(self._pattern, listed))
        for number, (edge, declaration) in enumerate(pairs, start=1):
            declared.setdefault(id(declaration), []).append(edge)
            numbers.setdefault(id(declaration), []).append(number)
            if declaration['source'] == '*':
                wildcards.add(id(declaration))
        for key, edges in declared.items():
            sources = [edge for edge in edges if edge.source in self._possible.states]
            if not sources or any(edge in self._possible.edges for edge in edges):
                continue
            shadow = next(
                (self._possible.shadowed[n] for n in numbers[key] if n in self._possible.shadowed), ''
            )
            reason = shadow or self._reason(sources[0])
            level, text = Level.ERROR, f'it is never taken: {reason}'
            if (
                not shadow
                and sources[0].trigger == 'expired'
                and (key in wildcards or self._may_expire(edges))
            ):
                level, text = Level.NOTE, 'nothing has a time limit with these parameters'
            elif not shadow and self._possible.passes_through(sources[0].source):
                level = Level.WARNING
            yield Finding(
                level=level,
                rule='impossible-edge',
                state=sources[0].source,
                edge=name_of(sources[0]),
                text=text,
            )

    def _may_expire(self, edges: list[EdgeShape]) -> bool:
        """Return whether a state of these edges declares a time limit, if only with other parameters."""
        sources = {edge.source for edge in edges}
        return any(
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
            if edge not in self._possible.edges:
                continue
            if edge.trigger == 'always' and edge.dest and self._possible.passes_through(edge.source):
                following.setdefault(edge.source, set()).add(self._entered(StatePath(edge.dest)))
        reported: set[StatePath] = set()
        for start in following:
            reach = _reachable(start, following)
            if start not in reach or start in reported:
                continue
            cycle = {path for path in reach if path in following and start in _reachable(path, following)}
            reported |= cycle
            names = ' → '.join([*sorted(cycle), min(cycle)])
            if all(following[path] <= cycle for path in cycle):
                yield _finding(
                    Level.ERROR, 'automatic-cycle', start, f'its edges without an event never stop: {names}'
                )
            else:
                text = f'its edges without an event go on until a guard ends them: {names}'
                yield _finding(Level.WARNING, 'automatic-cycle', start, text)

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
        events = {'failed'} if state.invokes else set()
        if self._possible.is_timed(state.path):
            events.add('expired')
        if state.kind == 'final':
            return
        for event in sorted(events):
            if not self._handles(state.path, event):
                what = 'a failure' if event == 'failed' else 'the end of its time'
                text = f'nothing catches {what}: it fails the whole run'
                yield _finding(Level.WARNING, f'uncaught-{event}', state.path, text)

    def _endless(self, state: StateShape, idle: dict[StatePath, list[StateShape]]) -> Iterator[Finding]:
        path = state.path
        around = list(_chain(path))
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
            parallel = next((above for above in around[1:] if self._states[above].kind == 'parallel'), None)
            if own:
                text = f'it waits for {", ".join(map(repr, own))} without saying so: give it `waits`'
                yield _finding(Level.ERROR, 'silent-wait', path, text)
            elif parallel is None:
                text = 'if no guard lets the run go on when it comes here, it stays for ever'
                yield _finding(Level.WARNING, 'endless-state', path, text)
            else:
                idle.setdefault(parallel, []).append(state)


def _chain(path: StatePath) -> Iterator[StatePath]:
    """Yield a state and those around it, innermost first."""
    while path:
        yield path
        path = parent_of(path)


def _reachable(start: StatePath, following: dict[StatePath, set[StatePath]]) -> set[StatePath]:
    seen: set[StatePath] = set()
    waiting = [start]
    while waiting:
        for path in following.get(waiting.pop(), ()):
            if path not in seen:
                seen.add(path)
                waiting.append(path)
    return seen


def _finding(level: Level, rule: str, state: StatePath, text: str) -> Finding:
    return Finding(level=level, rule=rule, state=state, text=text)
