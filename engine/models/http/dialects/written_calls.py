"""Tool calls that a model writes as text, in the forms of local models, as names and arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.models.answer_text import WrittenCall
from engine.models.http.dialects.dialect import as_list, as_mapping, as_word
from engine.models.protocol import ToolSpec

FUNCTION = re.compile(r'<function=([\w.:-]+)>(.*?)(?:</function>|\Z)', re.DOTALL)
PARAMETER = re.compile(r'<parameter=([^<>]+)>(.*?)(?:</parameter>|(?=<parameter=)|\Z)', re.DOTALL)
"""Arguments as Qwen's coders write them."""
KEY = re.compile(r'<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>', re.DOTALL)
"""Arguments as GLM writes them, after the name."""
NAMED = re.compile(r'([\w.:-]+)\s*(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*(?=\{)')
"""A name before its arguments, as newer models of Mistral write it."""
NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
ARGUMENTS = ('arguments', 'parameters', 'args', 'input')
ABOUT = frozenset({'name', 'type', 'id', *ARGUMENTS})


def read_written_call(call: WrittenCall, tools: Sequence[ToolSpec]) -> Iterator[tuple[str, str]]:
    """Yield the name and the arguments of each call in a text, as JSON.

    What cannot be read keeps its text as the arguments, and '' as the name if it has none: running the call
    then tells the model what is wrong.
    """
    body = call.body.strip()
    if match := FUNCTION.match(call.opening):
        yield match[1], _arguments(match[1], body, tools)
    elif body.startswith('<function='):
        for match in FUNCTION.finditer(body):
            yield match[1], _arguments(match[1], match[2].strip(), tools)
    elif body[:1] in ('{', '['):
        yield from _read_json(body)
    elif NAMED.match(body):
        yield from _read_named(body)
    elif pairs := KEY.findall(body):
        name = body.partition('<')[0].strip()
        yield name, _typed(name, pairs, tools)
    else:
        yield '', body


def _read_json(body: str) -> Iterator[tuple[str, str]]:
    """Yield the calls of JSON values: objects, or lists of objects, one after another."""
    at, decode = 0, json.JSONDecoder().raw_decode
    while at < len(body):
        try:
            value, at = decode(body, at)
        except (ValueError, RecursionError):
            name = NAME.search(body, at)
            yield name[1] if name else '', body[at:]
            return
        for item in value if isinstance(value, list) else [value]:
            yield _read_object(as_mapping(item))
        while at < len(body) and body[at] in ' \t\r\n,;':
            at += 1


def _read_object(item: Mapping[str, Any]) -> tuple[str, str]:
    function = as_mapping(item.get('function')) or item
    name = as_word(function.get('name')) or as_word(function.get('function'))
    given = [function[field] for field in ARGUMENTS if function.get(field) is not None]
    arguments = given[0] if given else {key: item[key] for key in function if key not in ABOUT}
    return name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _read_named(body: str) -> Iterator[tuple[str, str]]:
    at, decode = 0, json.JSONDecoder().raw_decode
    while match := NAMED.search(body, at):
        try:
            _, at = decode(body, match.end())
        except (ValueError, RecursionError):
            at = len(body)
        yield match[1], body[match.end() : at].strip()


def _arguments(name: str, body: str, tools: Sequence[ToolSpec]) -> str:
    pairs = PARAMETER.findall(body)
    return _typed(name, pairs, tools) if pairs else body


def _typed(name: str, pairs: Sequence[tuple[str, str]], tools: Sequence[ToolSpec]) -> str:
    """Return arguments as JSON; values that cannot be text by the tool's schema are JSON already."""
    schema = next((tool.schema for tool in tools if tool.name == name), {})
    properties = as_mapping(schema.get('properties'))
    arguments: dict[str, Any] = {}
    for key, text in pairs:
        value: Any = text.removeprefix('\n').removesuffix('\n')
        if not _accepts_text(as_mapping(properties.get(key.strip()))):
            with suppress(ValueError, RecursionError):  # The tool says what is wrong with it.
                value = json.loads(value)
        arguments[key.strip()] = value
    return json.dumps(arguments, ensure_ascii=False)


def _accepts_text(schema: Mapping[str, Any]) -> bool:
    types = [as_mapping(part).get('type') for part in (schema, *as_list(schema.get('anyOf')))]
    return not any(types) or any(kind == 'string' or 'string' in as_list(kind) for kind in types)
