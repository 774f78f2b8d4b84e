"""Tool calls as people read them: what was requested, the outcome, how long it took."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from engine.records import clip
from engine.tools import Tool
from ui.formatting.steps import duration, short_json
from ui.formatting.values import json_problem, problems

Block = dict[str, Any]
"""What `Conversation` shows: kind, title, note, text; for tools also what `call_block` adds."""

CUT = re.compile(
    r'^\[cut: ([\d,]+) more characters(?:; the whole is kept as artifact ([0-9a-f]{64}))?\]$', re.M
)
"""The note that the engine adds to a result that is too long (`engine.tools.protocol`)."""
LOGGED = re.compile(r"""(['"].*?): (ok|failed): (['"].*)""", re.DOTALL)
"""A call in a pattern's audit trail: the `repr` of its arguments, its outcome, the `repr` of its result."""
DENIED = 'A person did not allow this'
DROPPED = 'This was not run'
STATE_WORDS = {
    'asked': 'requested',
    'waiting': 'waiting for you',
    'running': 'running',
    'ok': 'done',
    'failed': 'failed',
    'denied': 'denied',
    'dropped': 'not run',
}
"""The outcome of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTime:
    """How long a batch of calls took, by journal times."""

    seconds: float
    calls: int

    def __str__(self) -> str:
        return duration(self.seconds) if self.calls == 1 else f'{duration(self.seconds)} for all {self.calls}'


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What is known about an agent's tool calls beyond its conversation."""

    stage: str = 'asked'
    """The stage of calls that have no result yet."""
    tools: Mapping[str, Tool] = field(default_factory=dict)
    durations: Mapping[str, BatchTime] = field(default_factory=dict)
    """By call id."""
    content_url: str = ''
    """The base address of the run's stored contents."""


def call_block(part: Mapping[str, Any], result: Mapping[str, Any] | None, calls: CallContext) -> Block:
    """Return a call with its result.

    Returns:
        In addition to the keys of every block: `state` (of `STATE_WORDS`), `ok`; `arguments` as pairs of name
        and value, or `raw`, their text if it is not a JSON object; `tags`; `omitted` and `full_result_url`,
        how many characters the result lacks and where the full result is.
    """
    state = calls.stage if result is None else _outcome(result)
    took = calls.durations.get(part['id'])
    pairs, raw = argument_pairs(str(part['arguments']))
    text = str(result['text']) if result else ''
    cut = CUT.search(text)
    tool = calls.tools.get(part['name'])
    return {
        'kind': 'tool',
        'title': part['name'],
        'state': state,
        'note': f'{STATE_WORDS[state]} · {took}' if result and took else STATE_WORDS[state],
        'ok': None if result is None else bool(result['ok']),
        'arguments': pairs,
        'raw': raw,
        'text': text,
        'tags': tool_tags(tool),
        'omitted': cut[1] if cut else '',
        'full_result_url': f'{calls.content_url}/{cut[2]}?name={part["name"]}.txt'
        if cut and cut[2] and calls.content_url
        else '',
    }


def argument_pairs(text: str) -> tuple[list[tuple[str, Any]], str]:
    """Return the arguments of a call as pairs, or as text if the model did not write a JSON object."""
    try:
        values = json.loads(text or '{}')
    except (ValueError, RecursionError):
        return [], text
    return (list(values.items()), '') if isinstance(values, dict) else ([], text)


def call_line(arguments: str, limit: int = 300) -> str:
    """Return the arguments of a call on one line, even if they are cut off: `title: Plan · lines: 3`."""
    try:
        parsed = from_json(arguments or '{}', allow_partial='trailing-strings')
    except ValueError:
        parsed = arguments
    if not isinstance(parsed, dict):
        return short_json(arguments, limit)
    parts = (
        f'{name.replace("_", " ")}: {clip(_argument_text(value), limit)}' for name, value in parsed.items()
    )
    return clip(' · '.join(parts), limit)


def _argument_text(value: Any) -> str:
    match value:
        case dict():
            return ', '.join(
                f'{name.replace("_", " ")}: {_argument_text(inner)}' for name, inner in value.items()
            )
        case list():
            between = '; ' if any(isinstance(inner, dict | list) for inner in value) else ', '
            return between.join(map(_argument_text, value)) or 'none'
    return short_json(value)


def result_line(result: Mapping[str, Any], limit: int = 300) -> str:
    """Return a call's result on one line of at most `limit` characters; if it failed, that comes first."""
    text = str(result.get('text', ''))
    return short_json(text if result.get('ok', True) else f'{STATE_WORDS[_outcome(result)]}: {text}', limit)


def logged_call(text: str) -> str:
    """Return a call in an audit trail in readable form; any other text unchanged."""
    match = LOGGED.fullmatch(text)
    if match is None:
        return text
    call, came = call_line(_unquote(match[1])), _unquote(match[3])
    return f'{call} → {came}' if match[2] == 'ok' else f'{call} → failed: {came}'


def _unquote(text: str) -> str:
    """Return the text of a `repr`, which may be cut off after any character."""
    cut = text.endswith('...')
    bare = text.removesuffix('...')
    for quoted in (text, f'{bare}{text[0]}', f'{bare[:-1]}{text[0]}'):
        try:
            value = ast.literal_eval(quoted)
        except (ValueError, SyntaxError):
            continue
        return f'{value}…' if cut and quoted != text else str(value)
    return text


def tool_tags(tool: Tool | None) -> list[str]:
    """Return what a person should know about a tool before using it."""
    if tool is None:
        return []
    return [
        *(['side effects'] if tool.side_effects else []),
        *(['needs approval'] if tool.approval else []),
    ]


def _outcome(result: Mapping[str, Any]) -> str:
    if result['ok']:
        return 'ok'
    text = str(result['text'])
    return 'denied' if text.startswith(DENIED) else 'dropped' if text.startswith(DROPPED) else 'failed'


def argument_problem(text: str, tool: Tool | None) -> str:
    """Return what is wrong with arguments that a person wrote for a call; '' if nothing."""
    try:
        values = json.loads(text.strip() or '{}')
    except (ValueError, RecursionError) as error:
        return json_problem(error)
    if not isinstance(values, dict):
        return 'Enter a JSON object.'
    if tool is None:
        return ''
    try:
        tool.arguments.model_validate(values)
    except ValidationError as error:
        return ' '.join(f'{name or "Arguments"}: {problem}' for name, problem in problems(error).items())
    return ''
