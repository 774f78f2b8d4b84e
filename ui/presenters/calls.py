"""Tool calls as people read them: what was asked for, what became of it, how long it took."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from engine import Tool
from ui.forms.problems import problems
from ui.presenters.reading import span

Block = dict[str, Any]
"""What `Conversation` shows: kind, title, note, text; for tools what `call_block` says besides."""

CUT = re.compile(
    r'^\[cut: ([\d,]+) more characters(?:; the whole is kept as artifact ([0-9a-f]{64}))?\]$', re.M
)
"""The note that the engine puts into a result that is too long (`engine.tool`)."""
DENIED = 'A person did not allow this'
DROPPED = 'This was not run'
WORDS = {
    'asked': 'asked for',
    'waiting': 'waits for you',
    'running': 'running',
    'ok': 'done',
    'failed': 'failed',
    'denied': 'not allowed',
    'dropped': 'not run',
}
"""What became of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """How long a batch of calls took, by the journal's times."""

    seconds: float
    calls: int

    def __str__(self) -> str:
        return span(self.seconds) if self.calls == 1 else f'{span(self.seconds)} for all {self.calls}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What is known of an agent's tool calls beside its conversation."""

    stage: str = 'asked'
    """What becomes of the calls that have no result yet."""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    took: Mapping[str, Took] = field(default_factory=dict)
    """By the call's id."""
    kept: str = ''
    """The address under which the run's kept contents are."""


def call_block(part: Mapping[str, Any], result: Mapping[str, Any] | None, calls: Calls) -> Block:
    """A call with its result.

    Returns:
        Beside what every block has: `state` (of `WORDS`), `ok`; `arguments` as pairs of a name and a value,
        or `raw`, their text where it is no JSON object; `tags`; `cut` and `kept`, how many characters the
        result lacks and where all of it is.
    """
    state = calls.stage if result is None else _ending(result)
    took = calls.took.get(part['id'])
    pairs, raw = read_arguments(str(part['arguments']))
    text = str(result['text']) if result else ''
    cut = CUT.search(text)
    known = calls.tools.get(part['name'])
    return {
        'kind': 'tool',
        'title': part['name'],
        'state': state,
        'note': f'{WORDS[state]} · {took}' if result and took else WORDS[state],
        'ok': None if result is None else bool(result['ok']),
        'arguments': pairs,
        'raw': raw,
        'text': text,
        'tags': tags(known),
        'cut': cut[1] if cut else '',
        'kept': f'{calls.kept}/{cut[2]}?name={part["name"]}.txt' if cut and cut[2] and calls.kept else '',
    }


def read_arguments(text: str) -> tuple[list[tuple[str, Any]], str]:
    """The arguments of a call as pairs; or their text, where a model wrote something else than an object."""
    try:
        values = json.loads(text or '{}')
    except (ValueError, RecursionError):
        return [], text
    return (list(values.items()), '') if isinstance(values, dict) else ([], text)


def tags(tool: Tool | None) -> list[str]:
    """What is to be known of a tool before it is used."""
    if tool is None:
        return []
    return [
        *(['changes things'] if tool.side_effects else []),
        *(['asks first'] if tool.approval else []),
    ]


def _ending(result: Mapping[str, Any]) -> str:
    if result['ok']:
        return 'ok'
    text = str(result['text'])
    return 'denied' if text.startswith(DENIED) else 'dropped' if text.startswith(DROPPED) else 'failed'


def problem_of(text: str, tool: Tool | None) -> str:
    """What is wrong with the arguments that a person wrote for a call; '' where nothing is."""
    try:
        values = json.loads(text.strip() or '{}')
    except RecursionError:
        return 'It is nested too deeply.'
    except ValueError as error:
        return f'It is not JSON: {error}.'
    if not isinstance(values, dict):
        return 'It must be a JSON object: names and values in braces.'
    if tool is None:
        return ''
    try:
        tool.arguments.model_validate(values)
    except ValidationError as error:
        return ' '.join(f'{name or "All of it"}: {said}' for name, said in problems(error).items())
    return ''
