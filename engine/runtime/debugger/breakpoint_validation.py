"""Breakpoint validation: checks the places and conditions of breakpoints when they are set."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from engine.errors import InvalidInput
from engine.records.breakpoint import Breakpoint, load_breakpoints, number_breakpoints
from engine.records.shape import Shape, suggest
from engine.runtime.debugger.condition import check_condition


def validate_breakpoints(values: Any, shape: Shape, fields: Collection[str]) -> tuple[Breakpoint, ...]:
    """Return breakpoints from a caller, validated and ready to be stored.

    Args:
        values: a list of breakpoints, or of mappings with their fields.
        shape: the run's chart.
        fields: the fields of the pattern's memory.

    Raises:
        InvalidInput: names the field.
    """
    read = [replace(item, when=item.when.strip(), hits=0, problem='') for item in load_breakpoints(values)]
    breakpoints = number_breakpoints(read)
    states = [state.path for state in shape.states]
    edges = [f'{edge.source}>{edge.dest or edge.source}' for edge in shape.edges]
    problems: dict[str, str] = {}
    for number, item in enumerate(breakpoints):
        where = f'breakpoints.{number}'
        for name, paths in (('enter', states), ('leave', states), ('edge', edges)):
            path = getattr(item, name)
            if path and path not in paths:
                kind = 'edge' if name == 'edge' else 'state'
                problems[f'{where}.{name}'] = f'there is no {kind} {path!r}; {suggest(path, paths)}'
        if sum(map(bool, (item.enter, item.leave, item.edge))) > 1:
            problems[where] = 'give only one of enter, leave and edge'
        elif item.label == 'nothing':
            problems[where] = 'say where or when it stops: enter, leave, edge or when'
        if item.when:
            try:
                check_condition(item.when, fields)
            except InvalidInput as error:
                problems[f'{where}.when'] = error.problems['when']
    ids = [item.id for item in breakpoints]
    if len(set(ids)) < len(ids):
        problems['breakpoints'] = 'two of them have the same number'
    if problems:
        raise InvalidInput(problems)
    return breakpoints
