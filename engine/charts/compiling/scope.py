"""Scope: the names in a chart's expressions and templates, and what they stand for when it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from engine.agents.spec import Role
from engine.records import Event, StatePath
from engine.records.shape import ancestry
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.expressions.compiler import Evaluation
from engine.statechart.expressions.values import get_item
from engine.statechart.pattern import Pattern

MAX_STEPS = 50_000
"""Maximum number of parts that a guard, the steps of an action or a template evaluate."""
MAX_ITEMS = 500_000
"""Maximum number of values that they inspect."""
MAX_WRITTEN = 1_000_000
"""Maximum number of characters that the steps of an action write, and that a text has."""

NAMES: Mapping[str, str] = {
    'memory': 'what the run remembers: memory.drafts[-1].text',
    'parameters': 'what it was started with',
    'event': 'the name of the event',
    'at': 'the state it belongs to',
    'data': 'its data: data.comments',
    'text': "the text of an agent's answer",
    'output': "the record in an agent's answer",
    'error': 'what went wrong, if something did',
    'attempt': 'the number of the attempt, from 1',
    'results': 'what tools returned: each with name, arguments, text and ok',
    'roles': "the chart's roles, each with name, title and instructions",
    'agent': 'the path of the agent',
    'role': 'its role',
    'model': 'its model',
}
"""The names in expressions, with descriptions. A name without a value is null."""


class ChartContext:
    """Looks up names for one event."""

    __slots__ = ('_event', '_path', '_pattern', '_state')

    def __init__(self, scope: CallbackContext, event: Event) -> None:
        self._pattern, self._state, self._path, self._event = scope.pattern, scope.state, scope.path, event

    def value(self, name: str) -> Any:
        """Return the name's value; None if there is none."""
        return READERS[name](self)

    @property
    def memory(self) -> Any:
        """The run's memory."""
        return self._state.memory

    @property
    def parameters(self) -> Any:
        """Its parameters."""
        return self._pattern.parameters

    @property
    def event(self) -> Event:
        """The event."""
        return self._event

    @property
    def agent(self) -> str | None:
        """The agent the event belongs to; otherwise the one around."""
        for path in (self._event.at, self._path):
            if agent := next(
                (around for around in ancestry(StatePath(path)) if around in self._state.agents), None
            ):
                return agent
        return None

    def of_agent(self, name: str) -> str | None:
        """Return a field of that agent's record."""
        agent = self.agent
        return getattr(self._state.agents[agent], name) or None if agent else None

    @property
    def roles(self) -> list[dict[str, str]]:
        """The chart's roles, for the run's parameters."""
        return described(self._pattern.all_roles()) if isinstance(self._pattern, HasRoles) else []

    @property
    def results(self) -> list[dict[str, Any]] | None:
        """What tools returned, each with the arguments of its call."""
        listed, agent = self._event.data.get('results'), self.agent
        if not isinstance(listed, list) or agent is None:
            return None
        calls = {call.id: call for message in self._state.agents[agent].messages for call in message.calls}
        return [
            {
                'name': result.get('name'),
                'arguments': call.arguments if (call := calls.get(result.get('id'))) else None,
                'text': result.get('text'),
                'ok': result.get('ok', True),
            }
            for result in listed
        ]


DESIGN = ('parameters',)
"""The names in what the form of a chart depends on."""
READERS: Mapping[str, Callable[[ChartContext], Any]] = {
    'memory': lambda context: context.memory,
    'parameters': lambda context: context.parameters,
    'event': lambda context: context.event.name,
    'at': lambda context: context.event.at,
    'data': lambda context: context.event.data,
    'text': lambda context: get_item(context.event.data, 'text'),
    'output': lambda context: get_item(context.event.data, 'output'),
    'error': lambda context: context.event.data.get('error') or context.event.data.get('unfit'),
    'attempt': lambda context: context.event.attempt,
    'results': lambda context: context.results,
    'roles': lambda context: context.roles,
    'agent': lambda context: context.agent,
    'role': lambda context: context.of_agent('role'),
    'model': lambda context: context.event.data.get('model') or context.of_agent('model'),
}


@runtime_checkable
class HasRoles(Protocol):
    """A pattern that knows all roles of its chart."""

    def all_roles(self) -> Iterable[Role]:
        """Return them in the file's order."""


def described(roles: Iterable[Role]) -> list[dict[str, str]]:
    """Return roles as expressions see them."""
    return [{'name': role.name, 'title': role.title, 'instructions': role.instructions} for role in roles]


class Values:
    """Looks up names in a mapping."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def value(self, name: str) -> Any:
        """Return the name's value; None if there is none."""
        return self._values.get(name)


def evaluation(scope: CallbackContext, event: Event, variables: Mapping[str, Any]) -> Evaluation:
    """Return what a guard, an action or a template is evaluated with."""
    return Evaluation(ChartContext(scope, event), dict(variables), MAX_STEPS, MAX_ITEMS, MAX_WRITTEN)


def design_time(pattern: Pattern, variables: Mapping[str, Any]) -> Evaluation:
    """Return what the parts of a chart are evaluated with that depend on parameters only."""
    return Evaluation(Values({'parameters': pattern.parameters}), dict(variables), MAX_STEPS, MAX_ITEMS)
