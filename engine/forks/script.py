"""The script of a fork: what is recorded of its parent from the step on at which it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.audit import turns
from engine.path import parent_of
from engine.pointer import parts_of
from engine.records import CONTROL, Event, StatePath, Transition

Called = tuple[tuple[str, str], ...]
"""Calls of tools: names and arguments."""


@dataclass(frozen=True, slots=True)
class Item:
    """One event that the parent took, and what came of it."""

    step: int
    event: Event
    time: float
    visit: int
    """Which visit to `event.at` it belongs to, counted from the step at which the script begins."""
    active: tuple[StatePath, ...]
    """The leaves after all that it brought about."""
    told: frozenset[str] = frozenset()
    """The agents that were told of the budget with it."""
    calls: Called | None = None
    """For a batch of tools: what was called."""
    allowed: Mapping[str, Called] = field(default_factory=dict)
    """For the word of a person: by agent, the calls that it let pass."""

    @property
    def ending(self) -> bool:
        """Whether work ended with it, or an attempt at it; an expiry has nothing to do with attempts."""
        return self.event.name in ('done', 'failed', 'retry')

    @property
    def control(self) -> bool:
        """Whether the engine or a person steered with it; an edit of memory does not steer."""
        return self.event.name in CONTROL and self.event.name not in ('retry', 'edit')

    @property
    def attempt(self) -> int:
        """The attempt that ended."""
        return self.event.attempt - (self.event.name == 'retry')


@dataclass(slots=True)
class Script:
    """Items in the parent's order, and how often it visited each state."""

    items: list[Item] = field(default_factory=list)
    visits: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, steps: Iterable[Transition], agents: Mapping[str, Mapping[str, Any]]) -> Script:
        """Read a parent's steps.

        Args:
            steps: those after the one at which the script begins.
            agents: the conversations there, for what their last replies call.
        """
        made = cls()
        calls = {path: called_by(agent['messages']) for path, agent in agents.items()}
        for turn in turns(steps):
            first = turn[0]
            event, home = first.event, parent_of(first.event.at)
            batch = event.name == 'done' and 'results' in event.data and home in calls
            made.items.append(
                Item(
                    step=first.seq,
                    event=event,
                    time=first.time,
                    visit=made.visits[event.at],
                    active=turn[-1].active,
                    told=_told(first),
                    calls=calls[home] if batch else None,
                    allowed={agent: calls.get(agent, ()) for agent in asking(first.left)}
                    if event.name == 'approve'
                    else {},
                )
            )
            if event.name == 'done' and isinstance(event.data.get('message'), Mapping):
                calls[home] = called_by([event.data['message']])
            if event.name == 'approve' and event.data.get('arguments'):
                calls |= _edited(turn)
            for step in turn:
                made.visits.update(step.entered)
        return made


def asking(leaves: Sequence[StatePath]) -> list[StatePath]:
    """The agents that wait in these leaves for a person's word."""
    return [parent_of(leaf) for leaf in leaves if leaf.endswith('.approving')]


def called_by(messages: Sequence[Mapping[str, Any]]) -> Called:
    """What the last reply that calls tools calls; () where there is none."""
    for message in reversed(messages):
        called = tuple(
            (part['name'], part['arguments']) for part in message['parts'] if part['kind'] == 'call'
        )
        if called:
            return called
    return ()


def _edited(turn: Sequence[Transition]) -> dict[str, Called]:
    """The calls of a reply whose arguments a person changed, by agent: the change holds the whole message."""
    found = {}
    for change in turn[0].changes:
        match parts_of(change.path), change.value:
            case ['agents', path, 'messages', *_], {'parts': _}:
                if called := called_by([change.value]):
                    found[path] = called
    return found


def _told(step: Transition) -> frozenset[str]:
    if step.event.name not in ('warn', 'extend'):
        return frozenset()
    places = (change.path for change in step.changes if change.path.startswith('/told/'))
    return frozenset(parts_of(place)[1] for place in places)
