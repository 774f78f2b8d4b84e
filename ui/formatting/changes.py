"""Values and changes of a run's data in words: no raw JSON, no numbers of 15 digits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, TypeGuard

from engine.records import clip
from ui.formatting.steps import path_text, short_json
from ui.formatting.tool_calls import call_line, logged_call
from ui.formatting.values import count

MAX_TEXT = 400
MAX_DEPTH = 3
"""Maximum depth written out; deeper entries are only counted."""
MAX_ENTRIES = 12
"""Maximum entries written out of one list or mapping."""
CONSTANT = re.compile(r'[A-Z]+(_[A-Z]+)+')
"""A value that can only be a constant, such as NEEDS_REVIEW."""
KIND_FIELDS = re.compile(
    r'(^|[_ ])(kind|type|status|state|phase|stage|ending|verdict|outcome|decision|strategy|level|severity'
    r'|priority)$'
)
"""Names of fields with one of a few values: there, PENDING is no acronym, and in_progress not a tool."""
SNAKE = re.compile(r'[a-z]+(_[a-z]+)+')
TITLES = {'system': 'Instructions', 'user': 'Task', 'assistant': 'Reply', 'tool': 'Results'}


def format_number(value: float) -> str:
    """Return a number as people read it: at most six significant digits."""
    return f'{value:,.0f}' if abs(value) >= 100_000 or value == int(value) else f'{value:.6g}'


def change_title(pointer: str) -> str:
    """Return the place of a change (a JSON pointer) in words; additions to a list are marked."""
    parts = pointer.strip('/').split('/')
    added = parts[-1:] == ['-']
    names = [part.replace('~1', '/').replace('~0', '~') for part in parts[: -1 if added else None]]
    return path_text('.'.join(names)) + (' · added' if added else '')


def value_text(value: Any, name: str = '') -> str:
    """Return a value of the run's data as lines of text; `name` is its field's name."""
    if _is_message(value):
        return _format_message(value)
    return clip('\n'.join(_format_lines(_parse(value), 0, name)), MAX_TEXT)


def value_html(value: Any, name: str = '') -> str:
    """Return the same lines as HTML, each with its depth, so that wrapped text aligns with its line."""
    value_lines = value_text(value, name).split('\n')
    lines = ((len(line) - len(line.lstrip()), escape(line.lstrip())) for line in value_lines)
    return ''.join(f'<div style="--depth: {min(depth, 12)}">{text}</div>' for depth, text in lines)


def wordings(value: Any, name: str = '') -> dict[str, str]:
    """Return the constants in a JSON value, each in words; `name` is its field's name."""
    if isinstance(value, str):
        return {value: text} if (text := constant_text(value, name)) != value else {}
    listed = [(name, item) for item in value] if isinstance(value, list | tuple) else ()
    items = value.items() if isinstance(value, Mapping) else listed
    return {constant: text for key, item in items for constant, text in wordings(item, str(key)).items()}


def _is_message(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping) and 'role' in value and isinstance(value.get('parts'), Sequence)


def _format_message(message: Mapping[str, Any]) -> str:
    parts = [TITLES.get(str(message['role']), str(message['role']))]
    for part in message['parts']:
        match part.get('kind'):
            case 'call':
                arguments = call_line(str(part.get('arguments') or ''), 240)
                parts.append(f'Calls {part.get("name")}' + (f' ({arguments})' if arguments else ''))
            case 'result':
                parts.append(f'{part.get("name")}: {_shorten(part.get("text"))}')
            case 'text' | 'reasoning':
                text = part.get('text')
                parts.append(_shorten(text) if (answer := _parse(text)) is text else value_text(answer))
    return '\n'.join(parts)


def _shorten(text: Any) -> str:
    return short_json(str(text or ''), 240)


def _parse(value: Any) -> Any:
    """Parse a text that is JSON, such as an answer or a call's arguments; return others unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ('{', '['):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _format_lines(value: Any, depth: int, name: str = '') -> list[str]:
    items: list[tuple[str, Any]]
    if isinstance(value, Mapping):
        # Unset values are omitted.
        items = [(str(key).replace('_', ' '), item) for key, item in value.items() if item not in ('', None)]
        if value and not items:
            return ['empty']
    elif isinstance(value, (list, tuple)):
        items = [('•', _pair(item)) for item in value]
    else:
        return [describe_value(value, name)]
    if not items:
        return ['none']
    if depth >= MAX_DEPTH:
        return [count(len(items), 'entry', 'entries')]
    lines = []
    for key, raw in items[:MAX_ENTRIES]:
        item = _parse(raw)
        lead, mark = '  ' * depth, '' if key == '•' else ':'
        if isinstance(item, (Mapping, list, tuple)) and item:
            inner = (
                [': '.join(_format_message(item).split('\n'))]
                if _is_message(item)
                else _format_lines(item, depth + 1)
            )
            if not mark:  # the first line of an entry follows its bullet
                lines.append(f'{lead}{key} {inner.pop(0).strip()}')
            elif depth + 1 >= MAX_DEPTH:  # it is counted
                lines.append(f'{lead}{key}: {inner.pop()}')
            else:
                lines.append(f'{lead}{key}:')
            lines += inner
        else:
            lines.append(f'{lead}{key}{mark} {describe_value(item, key)}')
    return lines + ([f'… and {len(items) - MAX_ENTRIES} more'] if len(items) > MAX_ENTRIES else [])


def _pair(value: Any) -> Any:
    """Return a name and its value on one line; any other entry of a list unchanged."""
    match value:
        case [str() as name, bool() | int() | float() | None as score]:
            return f'{name}: {describe_value(score, name)}'
    return value


def describe_value(value: Any, name: str = '') -> str:
    """Return a single value in words; `name` is its field's name."""
    match value:
        case None:
            return 'none'
        case bool():
            return 'yes' if value else 'no'
        case float():
            return format_number(value)
        case dict() | list() | tuple():
            return 'none'
    return constant_text(logged_call(str(value)), name) or 'empty'


def constant_text(text: str, name: str) -> str:
    """Return a constant in words; any other text unchanged. `name` is its field's name."""
    is_kind = KIND_FIELDS.search(name) and ((text.isalpha() and text.isupper()) or SNAKE.fullmatch(text))
    return text.replace('_', ' ').lower() if is_kind or CONSTANT.fullmatch(text) else text
