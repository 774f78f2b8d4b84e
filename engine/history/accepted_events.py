"""Accepted events: the events people can send to a run now, and the values each takes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from engine.records import (
    ANSWER,
    ENGINE_EVENTS,
    Shape,
    StatePath,
    View,
    is_active,
    is_within,
    message_of,
)
from engine.records.question import Answer, OpenBatch, Question
from engine.statechart.pattern import Pattern

APPROVALS: Mapping[str, Sequence[str]] = {'approve': ('always', 'arguments'), 'deny': ('reason',)}
"""The events that answer an approval request, and the values they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedEvent:
    """An event that a run currently accepts."""

    event: str
    at: StatePath
    """The state that accepts it."""
    takes: tuple[str, ...] = ()
    """The names of its values."""
    help: str = ''
    """Its purpose, or ''."""
    calls: tuple[str, ...] = ()
    """For an approval: the pending tool calls, each with its arguments."""
    question: Question | None = None
    """For an answer: the question asked by a tool's server."""


def accepted_events(shape: Shape, view: View, pattern: type[Pattern] | None) -> list[AcceptedEvent]:
    """Return the events people can send to a run in state `view`; `pattern` is None if it is unknown."""
    return list(_find_accepted(shape, view, pattern))


def _find_accepted(shape: Shape, view: View, pattern: type[Pattern] | None) -> Iterator[AcceptedEvent]:
    inputs: dict[str, type[BaseModel]] = {ANSWER: Answer, **(pattern.inputs if pattern else {})}
    seen = set[tuple[str, str]]()
    for edge in shape.edges:
        key = (edge.trigger, edge.source)
        if edge.trigger in ENGINE_EVENTS or key in seen or not is_active(edge.source, view.active):
            continue
        seen.add(key)
        model = inputs.get(edge.trigger)
        yield AcceptedEvent(
            event=edge.trigger,
            at=edge.source,
            takes=tuple(model.model_fields) if model else tuple(APPROVALS.get(edge.trigger, ())),
            help=' '.join((inspect.getdoc(model) or '').split()) if model else '',
            calls=tuple(_pending(view, edge.source)) if edge.trigger in APPROVALS else (),
            question=open_question(view, edge.source) if edge.trigger == ANSWER else None,
        )


def open_question(view: View, state: StatePath) -> Question | None:
    """Return the question a tool's server is asking in a state, if any."""
    for path, agent in view.agents.items():
        if is_within(state, path) and (batch := agent.get('batch')):
            return OpenBatch.model_validate(batch).question
    return None


def _pending(view: View, state: str) -> Iterator[str]:
    for path, agent in view.agents.items():
        messages = agent.get('messages')
        if is_within(state, path) and messages:
            for call in message_of(messages[-1]).calls:
                yield f'{call.name} {call.arguments}'
