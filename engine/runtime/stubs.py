"""Stubs of a run: whether the answers given to a pattern's agents are what these agents can answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.errors import InvalidInput
from engine.models.prepared_replies import Turn
from engine.models.protocol import schema_of
from engine.models.stubs import MAX_FILE, VISIT, stubs_for
from engine.records import StatePath
from engine.records.jsonable import to_jsonable
from engine.statechart.pattern import Pattern, validation_problems
from engine.statechart.shape_builder import walk


def check_stubs(workflow: Pattern, stubs: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return stubs as JSON, once each is known to be an answer of its agent.

    Raises:
        InvalidInput: names the agent, the visit, counted from 0, and the field: `stubs.reviewer.1.score`.
    """
    try:
        values: dict[str, Any] = to_jsonable(dict(stubs))
    except (ValueError, RecursionError):
        raise InvalidInput({'stubs': 'are not JSON'}) from None
    if len(json.dumps(values, ensure_ascii=False)) > MAX_FILE:
        raise InvalidInput({'stubs': f'are larger than {MAX_FILE // 1024} KB'})
    if problems := dict(_problems(workflow, values)):
        raise InvalidInput(problems)
    return {agent: tuple(visits) for agent, visits in values.items()}


def all_stubbed(workflow: Pattern, stubs: Mapping[str, Any]) -> bool:
    """Return whether no agent of a pattern asks a model."""
    return bool(stubs) and all(
        stubs_for(stubs, path, role.name) for path, spec in _agents(workflow) for role in spec.possible_roles
    )


def agent_names(workflow: Pattern) -> set[str]:
    """Return what stubs can be for: the paths and the roles of the agents."""
    agents = _agents(workflow)
    return {name for path, spec in agents for name in (path, *(role.name for role in spec.possible_roles))}


def _agents(workflow: Pattern) -> list[tuple[StatePath, Any]]:
    return [(path, state['agent']) for path, _, state in walk(workflow.chart_states()) if 'agent' in state]


def _problems(workflow: Pattern, stubs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    agents, names = _agents(workflow), agent_names(workflow)
    for agent, visits in stubs.items():
        named = f'stubs.{agent}'
        if agent not in names:
            available = ', '.join(sorted(names)) or 'none'
            yield named, f'there is no agent {agent!r}; available: {available}'
            continue
        if not isinstance(visits, list) or not visits:
            yield named, 'must be a list of answers, one for each visit'
            continue
        outputs = {
            spec.output
            for path, spec in agents
            if agent == path or (path not in stubs and agent in {role.name for role in spec.possible_roles})
        }
        for number, visit in enumerate(visits):
            try:
                turns = VISIT.validate_python(visit)
            except ValidationError as error:
                fields = validation_problems(error).items()
                yield from ((_join(f'{named}.{number}', field), text) for field, text in fields)
                continue
            for output in outputs:
                for place, turn in enumerate(turns):
                    at = f'{named}.{number}' + (f'.{place}' if isinstance(visit, list) else '')
                    yield from turn_problems(at, turn, output, is_last=place == len(turns) - 1)


def _join(at: str, field: str) -> str:
    return at if field == 'parameters' else f'{at}.{field}'


def turn_problems(
    at: str, turn: Turn, output: type[BaseModel] | None, *, is_last: bool = True
) -> Iterator[tuple[str, str]]:
    """Find what is wrong with a turn. Only the last text of a visit has to fit: others may be repaired."""
    for case in turn.cases:
        yield from turn_problems(at, case, output, is_last=is_last)
    if turn.cases or turn.calls:
        return
    if output is None:
        if turn.answer is not None:
            yield at, 'this agent answers in words: give a text'
        return
    if turn.answer is not None:
        yield from _record_problems(at, turn.answer, output)
    elif turn.text and is_last:
        try:
            yield from _record_problems(at, json.loads(turn.text), output)
        except ValueError:
            fields = ', '.join(schema_of(output).get('properties', {}))
            yield at, f'this agent answers with a record: give an object with {fields}'


def _record_problems(at: str, answer: Any, output: type[BaseModel]) -> Iterator[tuple[str, str]]:
    try:
        output.model_validate(answer)
    except ValidationError as error:
        for field, problem in validation_problems(error).items():
            yield _join(at, field), problem
    known = schema_of(output).get('properties', {})
    if isinstance(answer, dict) and output.model_config.get('extra') != 'allow':
        for name in answer.keys() - known.keys():
            yield f'{at}.{name}', f'there is no such field; available: {", ".join(known)}'
