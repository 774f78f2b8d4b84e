"""Writes: what the steps of a chart's actions do to fields of memory, for those who count its loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.charts.format import ChartFile, Step

FIELD = re.compile(r'\w+')


@dataclass(frozen=True, slots=True)
class Write:
    """What a step does to a field of memory."""

    field: str
    added: int | None
    """The whole number it adds; None if it does something else."""
    always: bool
    """Whether it does so whenever the action is run."""


def writes_of(file: ChartFile, steps: Sequence[Step], *, always: bool = True) -> Iterator[Write]:
    """Yield what steps do to fields of memory, those of the actions they name included."""
    for step in steps:
        sure = always and step.if_ is None and step.for_ is None
        for values in (step.set, step.append):
            yield from (Write(_field(target), None, sure) for target in values or ())
        yield from _increments(step.increment or {}, sure)
        if step.remove:
            yield Write(_field(step.remove), None, sure)
        named = file.actions.get(step.action or '', ())
        yield from writes_of(file, (*named, *(step.do or ())), always=sure)
        yield from writes_of(file, step.else_ or (), always=False)


def _increments(values: Mapping[str, object], sure: bool) -> Iterator[Write]:
    for target, by in values.items():
        added = by if isinstance(by, int) and not isinstance(by, bool) and target.isidentifier() else None
        yield Write(_field(target), added, sure)


def _field(target: str) -> str:
    """Return the field of memory that a place is in."""
    match = FIELD.match(target.strip())
    return match[0] if match else target
