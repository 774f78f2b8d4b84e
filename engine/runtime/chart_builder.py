"""Chart builder: builds charts, and finds the parameters that their definitions read."""

from __future__ import annotations

import copy
import weakref
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from engine.statechart.chart import Chart
from engine.statechart.validation import validate_pattern

if TYPE_CHECKING:
    from engine.statechart.pattern import Pattern


def build_chart(workflow: Pattern) -> tuple[Chart, frozenset[str]]:
    """Return the validated chart of a pattern, and the parameter fields it depends on.

    Patterns with equal values in these fields have equal charts. A chart that holds on to the
    pattern or its parameters may read any of them later, so it depends on all.

    Raises:
        PatternError: a mistake in its states or transitions.
    """
    names: set[str] = set()
    everything = frozenset(type(workflow.parameters).model_fields)
    if (
        vars(workflow).keys() - {'parameters', 'instruction_overrides'}
        or vars(workflow.parameters).keys() - everything
    ):
        names |= everything  # derived from the parameters, by its own `__init__` or a cached property
    probe = copy.copy(workflow)
    probe.parameters = _record_reads(workflow.parameters, names)
    validate_pattern(probe)
    chart = Chart(probe)
    references = weakref.ref(probe), weakref.ref(probe.parameters)
    del probe
    if any(reference() is not None for reference in references):
        return Chart(workflow), everything
    return chart, frozenset(names)


def _record_reads(parameters: BaseModel, names: set[str]) -> BaseModel:
    """Return a copy of `parameters` that adds the name of every field read to `names`."""
    model = type(parameters)
    fields = model.model_fields.keys()
    more = bool(model.__private_attributes__) or model.model_config.get('extra') == 'allow'

    class Recorded(model):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name in fields:
                names.add(name)
            elif (name.startswith('__') and name != '__class__') or (more and not hasattr(model, name)):
                names.update(fields)  # such as `__dict__`, which gives access to all of them
            return super().__getattribute__(name)

        def __eq__(self, other: object) -> bool:
            names.update(fields)
            return bool(parameters == other)

        __hash__ = model.__hash__

    copied = copy.copy(parameters)
    object.__setattr__(copied, '__class__', Recorded)
    return copied
