"""Choices: what may come next in a walk, and the event that each makes of what was given with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from engine.agents.spec import AgentSpec
from engine.agents.structured_answer import check_answer
from engine.errors import InvalidInput
from engine.models.prepared_replies import Turn
from engine.models.stubs import VISIT
from engine.operations.rehearsal.possibility import outside_triggers
from engine.records import ANSWER, EXHAUSTED, Event, StatePath, is_active
from engine.records.message import Message, Part, Text, ToolCall
from engine.records.payloads import BatchData, ReplyData
from engine.records.shape import ancestry, parent_of
from engine.runtime import turn_problems
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern, validation_problems
from engine.statechart.run_state import AgentState, RunState
from engine.statechart.shape_builder import walk

TOOLS_STATE = 'using_tools'
"""The state of an agent in which its tools run."""
FAILURE = 'Simulated failure.'


class Kind(StrEnum):
    """Where what may come next is from."""

    REPLY = 'reply'
    """An agent's model answers."""
    CALLS = 'calls'
    """An agent's model calls tools."""
    TOOLS = 'tools'
    """The tools that an agent has called end."""
    WORK = 'work'
    """Work without an agent ends."""
    FAILURE = 'failure'
    TIME = 'time'
    """A time limit is over."""
    PERSON = 'person'
    BUDGET = 'budget'


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Something that may come next."""

    kind: Kind
    name: str
    """The event."""
    at: StatePath
    """The state it is addressed to."""
    agent: StatePath = StatePath('')
    """The agent that it is about, if it is one."""
    record: type[BaseModel] | None = None
    """The record that is given with it; None for anything, or for an agent's answer in words."""
    draft: Any = None
    """What is given with it if nothing else is: for a reply a stub, otherwise the event's data."""
    limit: float | None = None
    """The time limit that is over, in seconds."""

    @property
    def id(self) -> str:
        """Its name among the choices of one moment."""
        return f'{self.kind} {self.name} {self.at}'


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a pattern, and what is known of their replies."""

    specs: Mapping[StatePath, AgentSpec]
    approval: frozenset[str] = field(default=frozenset())
    """The tools that need a person's approval."""

    @classmethod
    def of(cls, pattern: Pattern, approval: frozenset[str]) -> Agents:
        """Return the agents of a pattern."""
        states = walk(pattern.chart_states())
        return cls({path: state['agent'] for path, _, state in states if 'agent' in state}, approval)

    def replying(self, leaf: StatePath) -> StatePath:
        """Return the agent whose model is called in a state; '' if there is none."""
        agent = parent_of(leaf)
        return agent if agent in self.specs and not leaf.endswith(f'.{TOOLS_STATE}') else StatePath('')

    def using_tools(self, leaf: StatePath) -> StatePath:
        """Return the agent whose tools run in a state; '' if there is none."""
        agent = parent_of(leaf)
        return agent if agent in self.specs and leaf.endswith(f'.{TOOLS_STATE}') else StatePath('')


def choices(chart: Chart, agents: Agents, state: RunState, active: Sequence[StatePath]) -> Iterator[Choice]:
    """Yield what may come next: for each active leaf, then for the states around them."""
    for leaf in active:
        if chart.states[leaf].invokes:
            yield from _endings(chart, agents, state, leaf)
    seen: set[StatePath] = set()
    triggers = outside_triggers(chart.shape)
    for path in (around for leaf in active for around in ancestry(leaf)):
        if path in seen:
            continue
        seen.add(path)
        limit = _limit(chart, state, path)
        if limit is not None:
            yield Choice(kind=Kind.TIME, name='expired', at=path, limit=limit, draft=_expired(path, limit))
        for trigger in triggers.get(path, ()):
            if trigger == EXHAUSTED:
                draft = {'budget': 'tokens', 'error': 'its budget of tokens is spent'}
                yield Choice(kind=Kind.BUDGET, name=trigger, at=path, draft=draft)
            else:
                yield _persons(state.pattern, trigger, path)


def _endings(chart: Chart, agents: Agents, state: RunState, leaf: StatePath) -> Iterator[Choice]:
    if agent := agents.replying(leaf):
        spec = agents.specs[agent]
        yield Choice(kind=Kind.REPLY, name='done', at=leaf, agent=agent, record=spec.output)
        if spec.tools:
            calls = [{'calls': [{'tool': spec.tools[0], 'arguments': {}}]}]
            yield Choice(kind=Kind.CALLS, name='done', at=leaf, agent=agent, draft=calls)
    elif agent := agents.using_tools(leaf):
        draft = _results(state.agents.get(agent))
        yield Choice(kind=Kind.TOOLS, name='done', at=leaf, agent=agent, draft=draft)
        if any(edge.trigger == 'asked' and edge.source == leaf for edge in chart.shape.edges):
            call = next(iter(draft['results']), {'id': ''})['id']
            question = {'call': call, 'server': 'simulated', 'message': 'Shall I go on?'}
            question_data = {'store': draft['store'], 'finished': [], 'question': question}
            yield Choice(kind=Kind.TOOLS, name='asked', at=leaf, agent=agent, draft=question_data)
    else:
        yield Choice(kind=Kind.WORK, name='done', at=leaf, draft={})
    yield Choice(kind=Kind.FAILURE, name='failed', at=leaf, agent=agent, draft={'error': FAILURE})


def _persons(pattern: Pattern, trigger: str, at: StatePath) -> Choice:
    draft: dict[str, Any] = {'action': 'accept', 'content': {}} if trigger == ANSWER else {}
    return Choice(kind=Kind.PERSON, name=trigger, at=at, record=pattern.inputs.get(trigger), draft=draft)


def _limit(chart: Chart, state: RunState, path: StatePath) -> float | None:
    if path not in chart.timed:
        return chart.states[path].within
    try:
        seconds = chart.limit(path, state, Event(name='expired', at=path))
    except Exception:  # The pattern's own code: what is wrong with it is noted where guards are asked.
        return None
    return None if seconds is None else max(0.0, seconds)


def _expired(path: StatePath, limit: float) -> dict[str, Any]:
    return {'error': f'{path} did not end within {round(limit, 1):g} seconds'}


def _results(agent: AgentState | None) -> BatchData:
    calls = (
        next((message.calls for message in reversed(agent.messages) if message.calls), ()) if agent else ()
    )
    results = [{'id': call.id, 'name': call.name, 'text': 'Done.', 'ok': True} for call in calls]
    return {'store': dict(agent.store) if agent else {}, 'results': results}  # type: ignore[typeddict-item]


def event_of(choice: Choice, given: Any, agents: Agents, state: RunState, number: int) -> Event:
    """Return the event that a choice makes of what is given with it.

    Args:
        choice: the choice.
        given: its stub, or the event's data.
        agents: the pattern's agents.
        state: the data before it.
        number: the step, which makes the ids of tool calls.

    Raises:
        InvalidInput: names each field that is wrong.
    """
    if choice.kind not in (Kind.REPLY, Kind.CALLS):
        if not isinstance(given, Mapping):
            raise InvalidInput({'data': 'must be an object'})
        data = dict(given)
        return Event(name=choice.name, at=choice.at, data=state.pattern.validate_input(choice.name, data))
    turn, spec = _turn(given), agents.specs[choice.agent]
    if problems := dict(turn_problems('answer', turn, spec.output)):
        raise InvalidInput(problems)
    if turn.fail:
        return Event(name='failed', at=choice.at, data={'error': turn.fail.message, 'kind': turn.fail.kind})
    return Event(name='done', at=choice.at, data=_reply(turn, choice.agent, agents, state, number))


def _turn(given: Any) -> Turn:
    try:
        turns = VISIT.validate_python(given)
    except ValidationError as error:
        raise InvalidInput(
            {f'answer.{field}': problem for field, problem in validation_problems(error).items()}
        ) from None
    if len(turns) > 1 or turns[0].cases:
        raise InvalidInput({'answer': 'must be one reply: the others come next'})
    return turns[0]


def _reply(turn: Turn, path: StatePath, agents: Agents, state: RunState, number: int) -> dict[str, Any]:
    spec = agents.specs[path]
    agent = state.agents.get(path) or AgentState(role=spec.role)
    calls = [
        ToolCall(id=f'call-{number}-{place}', name=call.tool, arguments=json.dumps(call.arguments))
        for place, call in enumerate(turn.calls)
    ]
    parts: list[Part] = [Text(text=turn.said)] if turn.said else []
    data: ReplyData = {
        'message': to_jsonable_python(Message(role='assistant', parts=(*parts, *calls))),
        'text': turn.said,
        'model': '',
        'source': 'stubbed',
        'approval': sorted({call.name for call in calls} & agents.approval),
    }
    if spec.until:
        data['seconds'] = 1.0
    if spec.roles:
        data['role'] = agent.role
    if not calls:
        data |= check_answer(spec, agent, turn.said, model='')
    return dict(data)


def is_over(chart: Chart, active: Sequence[StatePath]) -> str:
    """Return how a run in these states has ended: `done`, `failed`, or '' if it goes on."""
    for leaf in active:
        state = chart.states[leaf]
        if state.kind == 'final' and not state.parent:
            return state.outcome
    return '' if active and is_active('', active) else 'failed'
