"""States: the states and transitions of a chart file, compiled once and built for given parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from engine.charts.compiling.agents import AgentCompiler, BuildAgent, Limit
from engine.charts.compiling.building import Build, Design, Variables
from engine.charts.compiling.guards import Guard, compile_guard
from engine.charts.compiling.language import Language, Local
from engine.charts.compiling.scope import DESIGN
from engine.charts.compiling.steps import Action, StepCompiler
from engine.charts.compiling.templates import is_template
from engine.charts.format import STATE_NAME, Edge, State
from engine.charts.reading import Place
from engine.records.shape import suggest
from engine.statechart.expressions.expression import Expression
from engine.statechart.validation import RESERVED_TRIGGERS

PLAIN = ('waits', 'caption', 'final', 'initial')
"""What a state has as the file gives it."""
AGENT_ONLY = ('output', 'prompt', 'then', 'on_step', 'seat')


BuildStates = Callable[[Build, Variables], list[dict[str, Any]]]
BuildEdge = Callable[[Build, Variables], dict[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """What builds one state, under its own name."""

    state: State
    actions: Mapping[str, Action | None]
    within: Callable[[Build, Variables], Any]
    most_visits: Callable[[Build, Variables], int]
    agent: BuildAgent | None
    children: BuildStates
    edges: BuildStates

    def build(self, run: Build, name: str, variables: Variables) -> dict[str, Any]:
        """Return the state as a pattern declares it."""
        state, more = self.state, self._plain(run, variables)
        seconds = self.within(run, variables)
        if self.agent is not None:
            return {**self.agent(run, name, seconds, variables), **more}
        if enter := self.actions['enter']:
            more['on_enter'] = enter.bind(variables)
        if seconds is not None:
            more['within'] = seconds
        if state.states or state.parallel:
            more['parallel' if state.parallel else 'children'] = self.children(run, variables)
        if state.transitions:
            more['transitions'] = self.edges(run, variables)
        return {'name': name, **more}

    def _plain(self, run: Build, variables: Variables) -> dict[str, Any]:
        state = self.state
        more = {key: value for key in PLAIN if (value := getattr(state, key))}
        if state.outcome != 'done':
            more['outcome'] = state.outcome
        if state.most_visits != 1:
            more['most_visits'] = self.most_visits(run, variables)
        if leave := self.actions['exit']:
            more['on_exit'] = leave.bind(variables)
        return more


class StateCompiler:
    """Compiles states and transitions.

    Args:
        language: compiles the expressions in them.
        steps: compiles their actions.
        record: returns the record with a name, noting a place if there is none.
        agents: compiles their agents.
    """

    def __init__(
        self,
        language: Language,
        steps: StepCompiler,
        record: Callable[[str, Place], type[BaseModel]],
        agents: AgentCompiler,
    ) -> None:
        self._language, self._steps, self._record, self._agents = language, steps, record, agents
        self.guards: dict[str, Guard] = {}
        """By name."""

    def states(
        self, states: Mapping[str, State | None], path: Place, local: Local, *, regions: bool = False
    ) -> BuildStates:
        """Return what builds states in order."""
        builders = [
            self._state(key, state or State(), (*path, key), local, is_region=regions)
            for key, state in states.items()
        ]

        def build(run: Build, variables: Variables) -> list[dict[str, Any]]:
            return [state for builder in builders for state in builder(run, variables)]

        return build

    def edges(
        self, edges: Sequence[Edge], path: Place, local: Local, states: Mapping[str, State | None]
    ) -> Callable[[Build, Variables], list[dict[str, Any]]]:
        """Return what builds transitions in order."""
        names = None if _are_named_later(states) else set(_names(states))
        every = len(states)
        builders = [
            self._edge(edge, (*path, number), local, (names, every)) for number, edge in enumerate(edges)
        ]

        def build(run: Build, variables: Variables) -> list[dict[str, Any]]:
            built = (builder(run, variables) for builder in builders)
            return [edge for edge in built if edge is not None]

        return build

    def _design(self, text: str, path: Place, local: Local) -> Design:
        return Design(self._language.part(text, path, local, DESIGN), path)

    def _state(self, key: str, state: State, path: Place, local: Local, *, is_region: bool) -> BuildStates:
        note = self._language.note
        when = self._design(state.when, (*path, 'when'), local) if state.when else None
        loop: tuple[str, Design] | None = None
        inner = local
        if state.for_ is not None:
            if not is_region:
                note((*path, 'for'), 'only the regions of `parallel` can be repeated')
            elif not is_template(state.name):
                note((*path, 'for'), 'each needs a name of its own: `name: worker{{ number }}`')
            variable, items = self._language.loop(state.for_, (*path, 'for'), local, DESIGN)
            loop = variable, Design(items, (*path, 'for'))
            inner = tuple(dict.fromkeys((*local, loop[0], 'region')))
        at_name = (*path, 'name')
        name = Design(self._language.template(state.name or key, at_name, inner, DESIGN), at_name)
        body = self._body(key, state, path, inner)

        def build(run: Build, variables: Variables) -> list[dict[str, Any]]:
            if when is not None and not run.value(when, variables):
                return []
            built: list[dict[str, Any]] = []
            items = [None] if loop is None else run.items(loop[1], variables)
            for item in items:
                run.add_state()
                bound = {**variables, loop[0]: item} if loop else variables
                own = run.name(name, bound, STATE_NAME)
                built.append(body.build(run, own, {**bound, 'region': own} if loop else bound))
            return built

        return build

    def _body(self, key: str, state: State, path: Place, local: Local) -> _Body:
        for place, problem in _contradictions(key, state):
            self._language.note((*path, place), problem)
        actions = {
            when: self._steps.action(getattr(state, when), (*path, when), local)
            for when in ('enter', 'exit', 'on_step')
        }
        output = self._record(state.output, (*path, 'output')) if state.output else None
        with self._language.answering(output):
            actions['then'] = self._steps.action(state.then, (*path, 'then'), local)
        children = state.parallel or state.states
        inside = 'parallel' if state.parallel else 'states'
        return _Body(
            state=state,
            actions=actions,
            within=self._within(state, path, local),
            most_visits=self._most_visits(state, path, local),
            agent=self._agents.compile(state, path, local, actions, output) if state.agent else None,
            children=self.states(children, (*path, inside), local, regions=bool(state.parallel)),
            edges=self.edges(state.transitions, (*path, 'transitions'), local, children),
        )

    def _most_visits(self, state: State, path: Place, local: Local) -> Callable[[Build, Variables], int]:
        most = state.most_visits
        if isinstance(most, int):
            return lambda run, variables: most
        part = self._design(most, (*path, 'most_visits'), local)
        return lambda run, variables: max(1, int(run.number(part, variables) or 1))

    def _within(self, state: State, path: Place, local: Local) -> Callable[[Build, Variables], Any]:
        """Return what gives a time limit: a number if parameters decide it, else what computes it."""
        within = state.within
        if within is None or isinstance(within, int | float):
            if within is not None and within <= 0:
                self._language.note((*path, 'within'), 'must be more than 0 seconds')
            return lambda run, variables: within
        expression: Expression | None = self._language.expression(within, (*path, 'within'), local)
        if expression is None:
            return lambda run, variables: None
        if expression.names <= set(DESIGN):
            self._language.varies |= bool(expression.names)
            design = Design(expression.part, (*path, 'within'))
            return lambda run, variables: run.number(design, variables)
        return lambda run, variables: Limit(within, expression.part, variables)

    def _edge(self, edge: Edge, path: Place, local: Local, states: tuple[set[str] | None, int]) -> BuildEdge:
        (names, every), note = states, self._language.note
        for name in (*edge.from_, edge.to or '='):
            if names is not None and name not in names and name not in ('*', '='):
                note(
                    (*path, 'to' if name == edge.to else 'from'),
                    f'there is no state {name!r}; {suggest(name, sorted(names))}',
                )
        if edge.on in RESERVED_TRIGGERS:
            listed = ', '.join(sorted(RESERVED_TRIGGERS))
            note((*path, 'on'), f'{edge.on!r} is an event of every run; reserved are {listed}')
        when = self._design(edge.when, (*path, 'when'), local) if edge.when else None
        conditions = self._guards(edge.if_, (*path, 'if'), local)
        unless = self._guards(edge.unless, (*path, 'unless'), local)
        before = self._steps.action(edge.do, (*path, 'do'), local)
        after = self._steps.action(edge.after, (*path, 'after'), local)
        count = every if '*' in edge.from_ else len(edge.from_)
        sources: str | list[str] = edge.from_[0] if len(edge.from_) == 1 else list(edge.from_)

        def build(run: Build, variables: Variables) -> dict[str, Any] | None:
            if when is not None and not run.value(when, variables):
                return None
            run.add_edges(count)
            built: dict[str, Any] = {'trigger': edge.on, 'source': sources, 'dest': edge.to}
            callbacks = (('conditions', conditions), ('unless', unless), ('before', before), ('after', after))
            for key, value in callbacks:
                if isinstance(value, Action):
                    built[key] = value.bind(variables)
                elif value:
                    built[key] = [guard.bind(variables) for guard in value]
            return {**built, 'history': edge.history} if edge.history else built

        return build

    def _guards(self, texts: Sequence[str], path: Place, local: Local) -> list[Guard]:
        guards = []
        for number, text in enumerate(texts):
            at = (*path, number) if len(texts) > 1 else path
            if guard := compile_guard(self._language, text, at, local):
                guards.append(self.guards.setdefault(guard.__name__, guard))
        return guards


def _contradictions(key: str, state: State) -> Iterator[tuple[str, str]]:
    """Yield fields of a state that do not fit the others, each with the problem."""
    if state.agent is None:
        for name in AGENT_ONLY:
            if name in state.model_fields_set:
                yield name, 'only a state with an agent has that'
    elif state.states or state.parallel or state.final or state.waits:
        yield 'agent', 'a state with an agent has no states inside, is not final and does not wait'
    if state.states and state.parallel:
        yield 'parallel', 'a state has `states` or `parallel`, not both'
    if state.states and not state.initial:
        yield 'states', f'{key} needs an `initial` state'


def _names(states: Mapping[str, State | None], around: str = '') -> Iterator[str]:
    for key, state in states.items():
        path = f'{around}{(state.name if state else "") or key}'
        yield path
        if state:
            yield from _names(state.parallel or state.states, f'{path}.')
            yield from (f'{path}.{name}' for name in INSIDE if state.agent)


INSIDE = ('thinking', 'using_tools', 'approving', 'asking', 'person', 'done', 'failed')
"""The states inside an agent's, which transitions may name."""


def _are_named_later(states: Mapping[str, State | None]) -> bool:
    return any(
        state is not None and (is_template(state.name) or _are_named_later(state.parallel or state.states))
        for state in states.values()
    )
