"""Inputs that are ready to run: samples that the scripted model knows, and what was run earlier."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from engine import Conductor, EngineError, Pattern, RunInfo, RunQuery
from ui.door import Door

EARLIER_FROM = 60
"""The newest runs of a pattern, among which earlier inputs are looked for."""
EARLIER = 8
"""How many different ones are offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Parameters that are ready to run."""

    title: str
    about: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)


def samples(pattern: type[Pattern]) -> list[Sample]:
    """The pattern's samples: scenarios first; where there are none, the examples of its required fields."""
    found = [
        Sample(title=known.title, about=' '.join(known.about.split()), parameters=dict(known.parameters))
        for known in _scenarios(pattern.name)
    ]
    if found:
        return found
    given = {}
    for name, wanted in pattern.Parameters.model_fields.items():
        if wanted.examples:
            given[name] = wanted.examples[0]
        elif wanted.is_required():
            return []
    return [Sample(title=f'{pattern.title}: a sample', parameters=given)]


def _scenarios(pattern: str) -> list[Any]:
    scenarios = getattr(importlib.import_module('engine'), 'scenarios', None)
    return list(scenarios(pattern)) if scenarios else []


async def earlier(conductor: Conductor, pattern: str) -> list[RunInfo]:
    """The newest runs of the pattern with different inputs; none where the journal does not answer."""
    try:
        page = await conductor.runs(RunQuery(pattern=pattern, limit=EARLIER_FROM))
    except EngineError:
        return []
    distinct: dict[str, RunInfo] = {}
    for info in page.runs:
        distinct.setdefault(json.dumps(info.parameters, sort_keys=True, default=str), info)
    return list(distinct.values())[:EARLIER]


class Starter:
    """Starts one run from a page and goes to it: a second click while the first is under way does nothing."""

    def __init__(self, door: Door) -> None:
        self._door, self.busy = door, False

    async def start(self, pattern: str, parameters: Mapping[str, Any], **options: Any) -> None:
        """Start it, and leave the page, from which nothing else starts then. Raises `EngineError`."""
        if self.busy:
            return
        self.busy = True
        try:
            run = await self._door().start(pattern, parameters, **options)
        except BaseException:
            self.busy = False
            raise
        ui.navigate.to(f'/runs/{run}')
