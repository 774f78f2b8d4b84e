"""Answers: whether one has the form that an agent's must have, and the record in it."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel, ValidationError

from engine.agents.spec import AgentSpec
from engine.models.protocol import schema_of
from engine.records.payloads import ReplyData
from engine.statechart.run_state import AgentState

REPEAT_REQUEST = 'Give the whole answer again, more briefly if it is long.'
EMPTY, CUT_OFF = 'the answer is empty', 'it was cut off at the length limit'

OBJECT = re.compile(r'\{\s*(?=["}])')
MAX_BROKEN = 100
"""Maximum number of broken objects in an answer: each costs time that grows with the answer's length."""
BROKEN = re.compile(r'\{\s*["\']?(\w+)["\']?\s*:')
"""The beginning of an object, with its first field."""


def check_answer(
    spec: AgentSpec, agent: AgentState, text: str, *, model: str, was_cut: bool = False
) -> ReplyData:
    """Return what is journaled with an agent's answer: its `output`, or why it is `unfit`.

    Args:
        spec: the agent's.
        agent: its state before the answer.
        text: the answer.
        model: names a real model or an external agent in the problem if it is the second, which ends the
            agent's work; '' for a simulated one.
        was_cut: whether it was cut off at the length limit.

    Returns:
        `output` if a record is wanted, or `unfit`, with `again` (the request to repeat the answer) if that
        should not be for JSON that fits. Nothing for a good answer in words.
    """
    if was_cut and not (spec.output and _is_json(text)):
        result: ReplyData = {'unfit': CUT_OFF, 'again': REPEAT_REQUEST}
    elif spec.output:
        result = _parse_answer(spec.output, text, was_repaired=agent.repairs > 0)
    elif not (text.strip() or spec.until or (spec.may_be_silent and _has_used_tools(agent))):
        result = {'unfit': EMPTY, 'again': REPEAT_REQUEST}
    else:
        result = {}
    if model and agent.repairs and 'unfit' in result:
        result['unfit'] = f'{model}: {result["unfit"]}'
    return result


def parse_structured(record: type[BaseModel], text: str) -> ReplyData:
    """Parse the answer as the requested record; models often wrap it in a code fence or a sentence.

    Of several JSON objects, the last that fits is the answer: those before it are drafts, or examples. None
    is if a broken one with a field of the record follows.
    """
    if not text.strip():
        return {'unfit': EMPTY}
    try:
        answers = [(json.loads(text), len(text))]
    except (ValueError, RecursionError) as error:
        answers = _objects_in(text)
        if not answers:
            return {'unfit': f'it is not JSON: {error}'}
    fields = schema_of(record).get('properties', {}).keys()
    # One without any of the fields is hardly the answer, even if the record has a default for each.
    related = [pair for pair in answers if isinstance(pair[0], dict) and fields & pair[0].keys()]
    problem = ''
    last_end = answers[-1][1]
    if any(match[1] in fields for match in BROKEN.finditer(text, last_end)):
        return {'unfit': 'it is not JSON: its last object is broken'}
    for answer, _ in reversed(related or answers):
        try:
            return {'output': record.model_validate(answer).model_dump(mode='json')}
        except ValidationError as error:
            problem = problem or '; '.join(
                f'{".".join(map(str, item["loc"])) or "it"}: {item["msg"]}' for item in error.errors()
            )
    return {'unfit': problem}


def _parse_answer(record: type[BaseModel], text: str, *, was_repaired: bool) -> ReplyData:
    """Parse an agent's answer; if it was asked again already, a record may be made `from_prose`."""
    result = parse_structured(record, text)
    prose = getattr(record, 'from_prose', None)
    if 'unfit' in result and prose and was_repaired and text.strip():
        try:
            return {'output': prose(text.strip()).model_dump(mode='json')}
        except ValueError:  # The text does not say what the record needs.
            return result
    return result


def _objects_in(text: str) -> list[tuple[Any, int]]:
    """Return the JSON objects in a text and their ends, without those inside others, even broken ones.

    The search goes on where an object ends or cannot be continued, so each character is read once.
    """
    objects: list[tuple[Any, int]] = []
    decode, end, broken = json.JSONDecoder().raw_decode, 0, 0
    while start := OBJECT.search(text, end):
        try:
            value, end = decode(text, start.start())
            objects.append((value, end))
        except json.JSONDecodeError as error:
            end, broken = max(error.pos, start.end()), broken + 1
        except (ValueError, RecursionError):  # Too wide a number, or too deep.
            broken = MAX_BROKEN + 1
        if broken > MAX_BROKEN:  # What follows is unknown.
            return []
    return objects


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _has_used_tools(agent: AgentState) -> bool:
    return any(message.role == 'tool' for message in agent.messages)
