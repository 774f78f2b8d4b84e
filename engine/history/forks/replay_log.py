"""ReplayLog: the events recorded in a fork's parent, from the step where the fork begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.history.audit import group_turns
from engine.records import ANSWER, CONTROL, Event, StatePath, Transition
from engine.records.document import split_pointer
from engine.records.payloads import BatchData, payload, reply_of
from engine.records.question import OpenBatch, Question
from engine.records.shape import parent_of

Called = tuple[tuple[str, str], ...]
"""Tool calls, as pairs of name and arguments."""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One event that the parent processed, and its effects."""

    step: int
    event: Event
    time: float
    visit: int
    """The number of the visit to `event.at` it belongs to, counted from the step where the log begins."""
    active: tuple[StatePath, ...]
    """The active leaves after the event and everything it caused."""
    informed: frozenset[str] = frozenset()
    """The agents it notified of the budget."""
    calls: Called | None = None
    """For a batch of tool calls: the calls."""
    allowed: Mapping[str, Called] = field(default_factory=dict)
    """For an approval: the calls it allowed, by agent."""
    questions: Mapping[str, Question] = field(default_factory=dict)
    """For an answer: the questions, by agent."""

    @property
    def ending(self) -> bool:
        """Whether it ended work or an attempt at it; excludes timeouts, which are independent of attempts."""
        return self.event.name in ('done', 'asked', 'failed', 'retry')

    @property
    def control(self) -> bool:
        """Whether it is a control event by the engine or a person; edits and retries do not count."""
        return self.event.name in CONTROL and self.event.name not in ('retry', 'edit')

    @property
    def attempt(self) -> int:
        """The number of the attempt that ended."""
        return self.event.attempt - (self.event.name == 'retry')


@dataclass(slots=True)
class ReplayLog:
    """Recorded events in the parent's order, and the number of visits to each state."""

    items: list[RecordedEvent] = field(default_factory=list)
    visits: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, steps: Iterable[Transition], agents: Mapping[str, Mapping[str, Any]]) -> ReplayLog:
        """Build the log from a parent's steps.

        Args:
            steps: the steps after the one where the log begins.
            agents: the agents' data at that step, for the tool calls of their last replies.
        """
        log = cls()
        calls = {path: last_calls(agent['messages']) for path, agent in agents.items()}
        questions = {
            path: open_batch.question
            for path, agent in agents.items()
            if (open_batch := OpenBatch.model_validate(agent.get('batch') or {})).question
        }
        for turn in group_turns(steps):
            first = turn[0]
            event, home = first.event, parent_of(first.event.at)
            batch = bool({'results', 'finished'} & event.data.keys()) and not first.raised and home in calls
            log.items.append(
                RecordedEvent(
                    step=first.seq,
                    event=event,
                    time=first.time,
                    visit=log.visits[event.at],
                    active=turn[-1].active,
                    informed=_informed_agents(first),
                    calls=calls[home] if batch else None,
                    allowed={agent: calls.get(agent, ()) for agent in waiting_agents(first.left)}
                    if event.name == 'approve'
                    else {},
                    questions={
                        agent: questions[agent]
                        for agent in waiting_agents(first.left, 'asking')
                        if agent in questions
                    }
                    if event.name == ANSWER
                    else {},
                )
            )
            if event.name == 'asked':
                questions[home] = Question.model_validate(payload(BatchData, event)['question'])
            if reply := reply_of(event):
                calls[home] = last_calls([reply['message']])
            if event.name == 'approve' and event.data.get('arguments'):
                calls |= _edited_calls(turn)
            for step in turn:
                log.visits.update(step.entered)
        return log


def waiting_agents(leaves: Sequence[StatePath], state: str = 'approving') -> list[StatePath]:
    """Return the agents waiting for a person in these leaves: for approval, or for an answer (`asking`)."""
    return [parent_of(leaf) for leaf in leaves if leaf.endswith(f'.{state}')]


def last_calls(messages: Sequence[Mapping[str, Any]]) -> Called:
    """Return the calls of the last reply that has any, or ()."""
    for message in reversed(messages):
        called = tuple(
            (part['name'], part['arguments']) for part in message['parts'] if part['kind'] == 'call'
        )
        if called:
            return called
    return ()


def _edited_calls(turn: Sequence[Transition]) -> dict[str, Called]:
    """Return the calls whose arguments a person edited, by agent; the edit holds the whole message."""
    calls_by_agent = {}
    for change in turn[0].changes:
        match split_pointer(change.path), change.value:
            case ['agents', path, 'messages', *_], {'parts': _}:
                if called := last_calls([change.value]):
                    calls_by_agent[path] = called
    return calls_by_agent


def _informed_agents(step: Transition) -> frozenset[str]:
    if step.event.name not in ('warn', 'extend'):
        return frozenset()
    places = (change.path for change in step.changes if change.path.startswith('/told/'))
    return frozenset(split_pointer(place)[1] for place in places)
