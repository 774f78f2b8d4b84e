"""Which parameters a chart is made of: those that a pattern's `states` and `transitions` read."""

from __future__ import annotations

import copy
import weakref
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from engine.chart import Chart
from engine.check import check

if TYPE_CHECKING:
    from engine.pattern import Pattern


def built(workflow: Pattern) -> tuple[Chart, frozenset[str]]:
    """The checked chart of a pattern, and the fields of its parameters that it follows from.

    Patterns with the same values in these fields have the same chart: what reads the same goes the same way.
    A chart that keeps the pattern or its parameters for later may read any of them then: it follows from all.

    Raises:
        PatternError: a mistake in its states or transitions.
    """
    names: set[str] = set()
    everything = frozenset(type(workflow.parameters).model_fields)
    if vars(workflow).keys() - {'parameters', 'instructed'} or vars(workflow.parameters).keys() - everything:
        names |= everything  # it has been worked out from them, by its own `__init__` or a cached property
    probe = copy.copy(workflow)
    probe.parameters = _watched(workflow.parameters, names)
    check(probe)
    chart = Chart(probe)
    left = weakref.ref(probe), weakref.ref(probe.parameters)
    del probe
    if any(found() is not None for found in left):
        return Chart(workflow), everything
    return chart, frozenset(names)


def _watched(parameters: BaseModel, names: set[str]) -> BaseModel:
    """A copy of `parameters` that adds each field that is read to `names`."""
    model = type(parameters)
    fields = model.model_fields.keys()
    more = bool(model.__private_attributes__) or model.model_config.get('extra') == 'allow'

    class Watched(model):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name in fields:
                names.add(name)
            elif (name.startswith('__') and name != '__class__') or (more and not hasattr(model, name)):
                names.update(fields)  # `__dict__`, say, through which all of them can be had
            return super().__getattribute__(name)

        def __eq__(self, other: object) -> bool:
            names.update(fields)
            return bool(parameters == other)

        __hash__ = model.__hash__

    copied = copy.copy(parameters)
    object.__setattr__(copied, '__class__', Watched)
    return copied
