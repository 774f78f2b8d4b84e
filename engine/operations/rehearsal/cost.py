"""Cost: what a run of a chart uses at worst, as a whole and by state, and why there may be no bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from engine.agents.spec import AgentSpec
from engine.models.protocol import Model, candidate_models
from engine.operations.rehearsal.counters import Counters
from engine.operations.rehearsal.flow import Level, levels
from engine.operations.rehearsal.possibility import Possibility
from engine.operations.rehearsal.records import FIGURES, Cost, Figures, Repeat, StateCost, Unbounded, name_of
from engine.records import StatePath, StateShape, Usage
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern
from engine.statechart.retry import Retry
from engine.statechart.shape_builder import walk
from engine.tools.acp.agents import AGENT_PREFIX
from engine.tools.protocol import Tool

Amounts = dict[str, float]
"""A number for each of `FIGURES`; `math.inf` if there is no bound."""
NO_AMOUNTS: Mapping[str, float] = dict.fromkeys(FIGURES, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """With what a run works."""

    chosen: Mapping[str, str] = field(default_factory=dict)
    """Models by role, as in a launch."""
    models: Mapping[str, Model] = field(default_factory=dict)
    tools: Mapping[str, Tool] = field(default_factory=dict)

    def of_role(self, role: str) -> list[tuple[str, Model | None]]:
        """Return the models of a role by name, in order of preference."""
        return [(name, self.models.get(name)) for name in candidate_models(self.chosen, role)]


def cost_of(pattern: Pattern, chart: Chart, possible: Possibility, means: Means) -> Cost:
    """Return what a run costs at worst and at least."""
    return _Costing(pattern, chart, possible, means).cost()


class _Costing:
    def __init__(self, pattern: Pattern, chart: Chart, possible: Possibility, means: Means) -> None:
        self._states, self._means, self._possible = chart.states, means, possible
        self._stated = {path: state for path, _, state in walk(pattern.chart_states())}
        limits = {
            path: state['most_visits'] for path, state in self._stated.items() if 'most_visits' in state
        }
        counters = Counters(pattern, possible.declared)
        self._levels = levels(chart.states, possible, limits, counters.most)
        self._reasons: dict[tuple[str, str], Unbounded] = {}
        self._visits = {path: level.visits() for path, level in self._levels.items()}
        self._worst: dict[StatePath, Amounts] = {}
        """By state, for one visit."""
        self._whole = self._inside(StatePath(''))

    def cost(self) -> Cost:
        """Return the whole and its parts."""
        for level in self._levels.values():
            self._explain_loops(level)
        repeats = {
            name_of(arc.edge): Repeat(edge=name_of(arc.edge), calls=_known(calls))
            for scope, level in self._levels.items()
            for arc in level.again
            if (calls := self._from(scope, arc.dest))
        }
        totals = self._totals(StatePath(''), 1.0)
        return Cost(
            most=_figures(self._whole),
            least_calls=_whole_number(self._least(StatePath(''))),
            unbounded=tuple(item for item in self._reasons.values() if self._whole[item.figure] == math.inf),
            repeats=tuple(repeats.values()),
            states=tuple(
                StateCost(path=path, visits=_known(visits), most=_figures(_times(visits, self._worst[path])))
                for path, visits in totals
            ),
        )

    def _from(self, scope: StatePath, start: StatePath) -> float:
        """Return the calls of the heaviest way from a child of a composite on."""
        visits = self._visits[scope]
        weights = {path: _product(visits[path], self._worst[path]['calls']) for path in visits}
        return self._levels[scope].longest(weights, {start})

    def _totals(self, scope: StatePath, times: float) -> Iterable[tuple[StatePath, float]]:
        for path, visits in self._visits[scope].items():
            total = visits * times if visits and times else 0.0
            yield path, total
            if path in self._levels:
                yield from self._totals(path, total)

    def _inside(self, scope: StatePath) -> Amounts:
        """Return what one visit to a composite uses at worst."""
        level, parallel = self._levels[scope], self._kind(scope) == 'parallel'
        each = {path: _times(visits, self._visit(path)) for path, visits in self._visits[scope].items()}
        whole: Amounts = {}
        for name in FIGURES:
            weights = {path: amounts[name] for path, amounts in each.items()}
            if not parallel:
                whole[name] = level.longest(weights, level.entries)
            else:
                whole[name] = max(weights.values()) if name == 'seconds' else sum(weights.values())
        return whole

    def _kind(self, path: StatePath) -> str:
        return self._states[path].kind if path else 'compound'

    def _visit(self, path: StatePath) -> Amounts:
        """Return what one visit to a state uses at worst."""
        state = self._states[path]
        if path in self._worst:
            return self._worst[path]
        if state.role:
            amounts = self._agent(path, self._stated[path]['agent'])
        elif path in self._levels:
            amounts = self._inside(path)
        else:
            amounts = self._work(state)
        if state.within is not None:
            amounts['seconds'] = min(amounts['seconds'], state.within)
            self._reasons.pop(('seconds', path), None)
        self._worst[path] = amounts
        return amounts

    def _work(self, state: StateShape) -> Amounts:
        """Return what a state without an agent uses."""
        amounts = {**NO_AMOUNTS, 'answers': float(bool(state.waits))}
        if state.invokes:
            amounts['calls'] = float(self._stated[state.path].get('most_calls', 0))
            amounts['seconds'] = math.inf
            self._note('seconds', state.path, f'{state.path} has no time limit')
        if amounts['calls'] == math.inf:
            self._note(
                'calls', state.path, f'{state.path} runs code that may call models any number of times'
            )
        if amounts['calls']:
            self._price(state.path, amounts, [('', None)])
        return amounts

    def _agent(self, path: StatePath, spec: AgentSpec) -> Amounts:
        """Return what a visit to an agent uses."""
        inside = StatePath(f'{path}.thinking')
        thinking = inside if inside in self._stated else None
        turns = spec.turns + 1 if thinking else 0  # One more to correct an answer of the wrong form.
        retry: Retry = self._stated[thinking].get('retry', Retry()) if thinking else Retry()
        models = [pair for role in spec.possible_roles for pair in self._means.of_role(role.name)]
        choices = max(len(self._means.of_role(role.name)) for role in spec.possible_roles)
        calls = float(turns * choices * max(_attempts(model, retry) for _, model in models))
        external = next((name for name, _ in models if name.startswith(AGENT_PREFIX)), '')
        tools = [tool for name in spec.tools if (tool := self._means.tools.get(name))]
        asking = next((tool.spec.name for tool in tools if 'model' in tool.needs), '')
        remote = next((name for name in spec.tools if name not in self._means.tools), '')
        if external:
            calls = math.inf
            self._note(
                'calls', path, f'{external} plays {path}, and decides itself how often it calls models'
            )
        elif asking:
            calls = math.inf
            self._note(
                'calls', path, f'{path} may call {asking} any number of times, which asks a model each time'
            )
        amounts = {**NO_AMOUNTS, 'calls': calls, 'seconds': math.inf}
        if remote:
            amounts['answers'] = math.inf
            self._note('answers', path, f'{remote} may ask people any number of times')
        elif any(tool.approval for tool in tools):
            amounts['answers'] = float(turns) if thinking else math.inf
        self._note('seconds', path, f'{path} has no time limit')
        if calls:
            self._price(path, amounts, models)
        return amounts

    def _price(self, path: StatePath, amounts: Amounts, models: list[tuple[str, Model | None]]) -> None:
        """Add the tokens and dollars of calls, each as large as the model allows."""
        tokens, dollars = 0.0, 0.0
        for name, model in models:
            largest = getattr(model, 'largest_call', None)
            paid = model is None or not model.simulated
            price = getattr(model, 'price', None) if paid else None
            cost = _largest_price(price, largest) if price and largest else None
            tokens = max(tokens, largest.total if largest else math.inf)
            dollars = max(dollars, math.inf if paid and cost is None else cost or 0.0)
            who = name or path
            if largest is None:
                self._note('tokens', path, f'the largest request to {who} is not known', once=who)
            if paid and cost is None:
                self._note('dollars', path, f'the price of the largest call of {who} is not known', once=who)
        amounts['tokens'], amounts['dollars'] = (
            _product(amounts['calls'], tokens),
            _product(amounts['calls'], dollars),
        )

    def _note(self, figure: str, path: StatePath, text: str, *, once: str = '') -> None:
        self._reasons.setdefault((figure, once or path), Unbounded(figure=figure, state=path, text=text))

    def _explain_loops(self, level: Level) -> None:
        for arc in level.open_arcs:
            edge, inside = name_of(arc.edge), level.loops[arc.dest]
            for figure in FIGURES:
                if any(self._worst[node][figure] for node in inside):
                    text = f'nothing bounds how often a run takes the edge {edge}'
                    self._reasons[figure, edge] = Unbounded(
                        figure=figure,
                        state=arc.edge.source,
                        edge=edge,
                        dest=StatePath(arc.edge.dest),
                        text=text,
                    )

    def _least(self, scope: StatePath) -> float:
        """Return the fewest calls of a visit in which nothing fails."""
        level = self._levels[scope]
        weights = {path: self._least_of(path) for path in level.nodes}
        if self._kind(scope) == 'parallel':
            leaves = any(
                edge.source == scope and edge.dest and edge.trigger not in ('done', 'failed', 'expired')
                for edge in self._possible.edges
            )
            return min(weights.values(), default=0.0) if leaves else sum(weights.values())
        return level.shortest(weights, lambda path: self._ends(path, level))

    def _ends(self, path: StatePath, level: Level) -> bool:
        state = self._states[path]
        return path in level.exits or (state.kind == 'final' and state.outcome == 'done')

    def _least_of(self, path: StatePath) -> float:
        if self._states[path].seat:
            return math.inf  # Only a person who takes over gets there.
        if self._states[path].role:
            return float(f'{path}.thinking' in self._stated)
        return self._least(path) if path in self._levels else 0.0


def _largest_price(price: Callable[[Usage], float | None], largest: Usage) -> float | None:
    """Return the dollars of the largest call; what is written to a cache may cost more than other input."""
    prices = [price(usage) for usage in (largest, replace(largest, written=largest.input))]
    return max((amount for amount in prices if amount is not None), default=None)


def _attempts(model: Model | None, retry: Retry) -> int:
    """Return how often a call of a model is tried at most."""
    return max(getattr(model, 'attempts', None) or retry.attempts, 1)


def _whole_number(amount: float) -> int:
    return int(amount) if amount < math.inf else 0


def _product(one: float, other: float) -> float:
    return one * other if one and other else 0.0


def _times(visits: float, amounts: Mapping[str, float]) -> Amounts:
    return {name: _product(visits, amount) for name, amount in amounts.items()}


def _known(amount: float) -> float | None:
    if amount == math.inf:
        return None
    return int(amount) if amount == int(amount) else amount


def _figures(amounts: Mapping[str, float]) -> Figures:
    return Figures(**{name: _known(amount) for name, amount in amounts.items()})
