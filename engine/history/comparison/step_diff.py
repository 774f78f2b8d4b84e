"""Differences between two matching steps: text, tool calls, files, models, guards and data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.records import GuardResult, Transition
from engine.records.payloads import calls_of

Facet = Literal['text', 'tools', 'files', 'model', 'guards', 'data']
"""`text` is the text of a reply or output, `tools` the calls and results, `data` all other event data."""

FACET_BY_KEY: Mapping[str, Facet | None] = {
    'text': 'text', 'message': None, 'output': 'text', 'results': 'tools', 'store': 'tools',
    'snapshots': 'files', 'model': 'model', 'failed': 'model', 'origin': None, 'usage': None, 'source': None,
    'spent': None, 'seconds': None, 'delay': None, 'forked': None,
}  # fmt: skip
"""The facet of each event data key; None for keys not compared, such as usage and times, which vary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardDifference:
    """A guard that gave a different answer, or that was evaluated in only one of the steps."""

    name: str
    source: str
    dest: str
    wanted: bool
    a: bool | None
    b: bool | None
    says: str = ''
    """The guard's own description; '' if unknown."""


def facets_of(a: Transition, b: Transition) -> tuple[Facet, ...]:
    """Return the aspects in which two matching steps differ."""
    facets: set[Facet] = set()
    data_a, data_b = a.event.data, b.event.data
    if data_a is not data_b and data_a != data_b:
        for key in {*data_a, *data_b}:
            facet = FACET_BY_KEY.get(key, 'data')
            if facet == 'tools':
                differs = _results(data_a.get(key)) != _results(data_b.get(key))
            else:
                differs = facet is not None and data_a.get(key) != data_b.get(key)
            if differs and facet:
                facets.add(facet)
        if _calls(a) != _calls(b):
            facets.add('tools')
    if guard_differences(a, b):
        facets.add('guards')
    return tuple(sorted(facets))


def guard_differences(a: Transition | None, b: Transition | None) -> tuple[GuardDifference, ...]:
    """Return the guards whose answers differ, in the order in which they were evaluated."""
    if not (a and b) or a.guards == b.guards:
        return ()
    answers_a, answers_b = _answers(a.guards), _answers(b.guards)
    return tuple(
        GuardDifference(
            name=name, source=source, dest=dest, wanted=wanted, a=answers_a.get(key), b=answers_b.get(key)
        )
        for key in {**answers_a, **answers_b}
        for name, source, dest, wanted in [key]
        if answers_a.get(key) != answers_b.get(key)
    )


def _answers(guards: Iterable[GuardResult]) -> dict[tuple[str, str, str, bool], bool]:
    return {(guard.name, guard.source, guard.dest, guard.wanted): guard.value for guard in guards}


def _calls(step: Transition) -> list[tuple[str, str]]:
    return [(str(call.get('name')), str(call.get('arguments'))) for call in calls_of(step.event)]


def _results(value: Any) -> Any:
    """Strip call ids, which are random, from results."""
    if not isinstance(value, list):
        return value
    return [
        {key: item for key, item in result.items() if key != 'id'} if isinstance(result, Mapping) else result
        for result in value
    ]
