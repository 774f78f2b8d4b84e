"""People: the seats of agents that people may take, and the data of the events that people send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from engine.charts.compiling.guards import compile_guard
from engine.charts.compiling.language import Local
from engine.charts.compiling.scope import MAX_ITEMS, MAX_STEPS, Values
from engine.charts.compiling.steps import Action, StepCompiler
from engine.charts.format import ChartFile, Seat
from engine.charts.places import walk_states
from engine.charts.reading import Place
from engine.charts.seats import Seat as PatternSeat
from engine.charts.seats import as_agent, seat_inputs
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.expressions.compiler import Evaluation, Part
from engine.statechart.expressions.expression import compute
from engine.statechart.shape_builder import listify

SEATS = 'seats'
"""The field of memory with the agents whose seats people have taken."""
AddSeat = Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]
"""Adds a seat to an agent's state, with the variables of the region it is in."""


def seats_of(file: ChartFile) -> tuple[str, ...]:
    """Return the names of all seats of a chart."""
    return tuple(dict.fromkeys(state.seat.name for _, _, state in walk_states(file) if state.seat))


def inputs_for_seats(file: ChartFile) -> dict[str, type[BaseModel]]:
    """Return the data of the events that take and hand back the seats of a chart."""
    names = seats_of(file)
    return dict(seat_inputs(Literal[names])) if names else {}


def compile_seat(
    steps: StepCompiler,
    seat: Seat,
    record: type[BaseModel] | None,
    then: Action | None,
    at: tuple[Place, Local],
) -> AddSeat:
    """Return what adds a seat to an agent's state.

    Args:
        steps: compiles its actions.
        seat: the seat.
        record: the record with which the agent answers.
        then: the action for its answer.
        at: the seat's place in the file, and the variables there.
    """
    language, (path, local) = steps.language, at
    if record is None:
        language.note(path, 'a seat needs an agent that answers with a record: give `output`')
    if seat.event not in language.file.inputs:
        language.note((*path, 'event'), f'`inputs` does not say what {seat.event!r} carries')
    kind = record or BaseModel
    output = language.value(seat.output if seat.output is not None else 'data', (*path, 'output'), local)
    guards = [compile_guard(language, text, (*path, 'if'), local) for text in seat.if_]
    changed = steps.action(seat.changed, (*path, 'changed'), local)

    def add(built: dict[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        store = then.bind(variables) if then else _ignore
        person = PatternSeat(
            name=seat.name,
            event=seat.event,
            waits=seat.waits or seat.event,
            answer=partial(as_agent, partial(_answer, kind, output, variables), store),
            conditions=[guard.bind(variables) for guard in guards if guard],
        ).add_to(built)
        if changed is None:
            return person
        note = changed.bind(variables)
        return {**person, 'transitions': [_with_note(edge, note) for edge in person['transitions']]}

    return add


def _with_note(edge: Any, note: Action) -> Any:
    if not isinstance(edge, Mapping) or edge['trigger'] not in ('take_seat', 'hand_back'):
        return edge
    return {**edge, 'after': [*listify(edge.get('after')), note]}


def _answer(
    record: type[BaseModel], output: Part, variables: Mapping[str, Any], data: Mapping[str, Any]
) -> BaseModel:
    run = Evaluation(Values({'data': data}), dict(variables), MAX_STEPS, MAX_ITEMS)
    return record.model_validate(compute(output, run))


def _ignore(scope: CallbackContext, event: Event) -> None:
    """Do nothing with an answer."""
