"""Inputs that are ready to run: samples that the scripted model knows, and what was run earlier."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from engine import Conductor, EngineError, Pattern, RunInfo, RunQuery, Sample, scenarios
from ui.door import Door

EARLIER_FROM = 60
"""The newest runs of a pattern, among which earlier inputs are looked for."""
EARLIER = 8
"""How many different ones are offered."""


def samples(pattern: type[Pattern]) -> list[Sample]:
    """The pattern's samples, the one that is its example first; none where nothing is known to run."""
    example = _example(pattern)
    found = scenarios(pattern.name)
    if found:
        return sorted(found, key=lambda sample: not _holds(sample, example or {}))
    if example is None:
        return []
    return [Sample(name='example', title=f'{pattern.title}: example', about='', task='', parameters=example)]


def _holds(sample: Sample, example: Mapping[str, Any]) -> bool:
    return all(sample.parameters.get(name) == value for name, value in example.items())


def _example(pattern: type[Pattern]) -> dict[str, Any] | None:
    """The first example of each field that has one; None where a required field has none."""
    given: dict[str, Any] = {}
    for name, field in pattern.Parameters.model_fields.items():
        if field.examples:
            given[name] = field.examples[0]
        elif field.is_required():
            return None
    return given


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
