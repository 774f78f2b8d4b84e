"""Walks as stubs: the replies of a walk, by agent and visit, as a stub file holds them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from engine.operations.rehearsal.simulator.choices import Agents
from engine.operations.rehearsal.simulator.moment import Moment
from engine.records import Event
from engine.records.message import message_of
from engine.records.payloads import reply_of


def visits_of(agents: Agents, moments: Sequence[Moment]) -> dict[str, list[Any]]:
    """Return the replies between moments, by agent: for each visit a text, a record, or a list of turns.

    An agent that is given a role on entry is named by that role, by which its visits are counted.
    """
    turns: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for before, moment in pairwise(moments):
        path = agents.replying(moment.event.at)
        agent = before.document['agents'].get(path) if path else None
        if agent and (turn := _turn(moment.event)):
            name = str(agent['role'] if agents.specs[path].cast else path)
            turns.setdefault(name, {}).setdefault(agent['visits'], []).append(turn)
    return {name: list(_listed(visits)) for name, visits in turns.items()}


def _turn(event: Event) -> dict[str, Any] | None:
    """Return a reply, or a failure in its place, as a turn; None for any other event."""
    if event.name == 'failed':
        kind, message = event.data.get('kind', 'server'), event.data.get('error') or 'failed'
        return {'fail': {'kind': kind, 'message': message, 'retryable': False}}
    reply = reply_of(event)
    if reply is None:
        return None
    message = message_of(reply['message'])
    calls = [{'tool': call.name, 'arguments': _arguments(call.arguments)} for call in message.calls]
    if not calls and isinstance(reply.get('output'), Mapping):
        return {'answer': dict(reply['output'])}
    return {**({'text': message.text} if message.text else {}), **({'calls': calls} if calls else {})}


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:  # A model may write anything; the tool has refused it.
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _listed(visits: Mapping[int, list[dict[str, Any]]]) -> Iterator[Any]:
    """Yield the visits in order; one that is not in the walk is as the one before it."""
    for number in range(1, max(visits) + 1):
        turns = visits.get(number) or visits[min(visits, key=lambda known: abs(known - number))]
        only = turns[0] if len(turns) == 1 else {}
        yield only.get('answer', only.get('text', turns)) if only.keys() in ({'answer'}, {'text'}) else turns
