"""Where recorded answers come from: whether a launch asks its models what a run has asked them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.models.protocol import SCRIPTED
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.planning import Planner
from engine.records import Launch, RunInfo

BY_ROLE = ('models', 'effort', 'instructions', 'tools')
"""Fields of a launch that decide what a model is asked, and which."""


def asked_otherwise(launch: Launch, source: RunInfo) -> tuple[str, ...]:
    """Return the fields by which a launch asks its models otherwise than a run did; () if it asks alike.

    What it does not give is as in that run.
    """
    return tuple(name for name in BY_ROLE if _differs(getattr(launch, name), _settings(source, name), name))


def from_exchanges(launch: Launch, source: RunInfo) -> Launch:
    """Return a launch that answers from a run's exchanges with its models, and asks as that run otherwise."""
    instructions = {**_settings(source, 'instructions'), **launch.instructions}
    tools = {**_settings(source, 'tools'), **launch.tools}
    return replace(launch, replay=source.id, instructions=instructions, tools=tools)


def recording_problems(planner: Planner, case: Case, source: RunInfo) -> Iterator[tuple[str, str]]:
    """Yield what stands against answering a case from the run that it was made from, by field."""
    at = f'cases.{case.id}.source'
    if source.private:
        yield at, 'is private'
    for place, variant in enumerate(planner.experiment.variants):
        launch = planner.launch(case, variant.name, 1)
        if launch.pattern != source.pattern:
            yield at, f'is a run of the pattern {source.pattern}, not of {launch.pattern} ({variant.name})'
            return
        for name in asked_otherwise(launch, source):
            field = f'variants.{place}.change.{name}' if name in variant.change else f'base.{name}'
            if name == 'effort':
                yield field, f'the replies recorded for case {case.id} were given with another effort'
            elif not source.options.get('record'):
                answers = f'the replies recorded for case {case.id} were given to other {name}'
                yield field, f'{answers}, and its exchanges with models were not recorded (--record)'


def _settings(source: RunInfo, name: str) -> Mapping[str, Any]:
    return source.models if name == 'models' else dict(source.options.get(name) or {})


def _differs(given: Mapping[str, Any], before: Mapping[str, Any], name: str) -> bool:
    missing = SCRIPTED if name == 'models' else None
    others = before.get('', missing)
    return any(_plain(value) != _plain(before.get(role, others)) for role, value in given.items())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
