"""JSON conversion: makes values pure JSON, so that the journal holds what decisions were based on."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import (
    PydanticSerializationError,
    ValidationError,
    from_json,
    to_json,
    to_jsonable_python,
)

from engine.errors import EngineError, InvalidInput


def to_jsonable(value: Any) -> Any:
    """Return a copy of `value` as JSON; NaN and infinity become None, a lone surrogate becomes '?'.

    Raises:
        ValueError: it holds something JSON cannot represent.
    """
    try:
        return from_json(to_json(value, inf_nan_mode='null'))
    except PydanticSerializationError:
        return from_json(to_json(_whole(value), inf_nan_mode='null'))


def to_plain(value: object) -> object:
    """Convert mappings that JSON writers do not know, such as `MappingProxyType`."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f'{type(value).__name__} is not a JSON type')


def describe_error(error: BaseException) -> str:
    """Return a short description of an error; never fails."""
    if isinstance(error, ValidationError):  # Its own text has several lines, the value and an address.
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = '.'.join(map(str, first['loc']))
        problem = first['msg'].partition(' or instance of ')[0]
        return clip(f'{place}: {problem}' if place else problem, MAX_ERROR)
    try:
        text = str(error)
    except Exception:
        text = ''
    name = type(error).__name__
    text = text if text and isinstance(error, EngineError) else f'{name}: {text}' if text else name
    return clip(text, MAX_ERROR)


def unwrap_error(error: BaseException) -> BaseException:
    """Unwrap exception groups; return the innermost error, or the first of several."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def clip(text: str, most: int) -> str:
    """Return the text, cut to at most `most` characters; a cut text ends in '…'."""
    return text if len(text) <= most else f'{text[: cut_place(text, most - 1)].rstrip()}…'


def cut_place(text: str, most: int) -> int:
    """Return the last place, at most at `most`, that is not inside a character as people see it.

    An emoji may be several characters; one of more than `MAX_PARTS` is cut.
    """
    at = most
    while 0 < at < len(text) and most - at < MAX_PARTS and _belong_together(text, at):
        at -= 1
    return at if at > 0 and most - at < MAX_PARTS else most


def _belong_together(text: str, at: int) -> bool:
    """Whether a character continues the one before: an accent, a skin tone, a joined emoji, a flag's end."""
    after, before = text[at], text[at - 1]
    if JOINER in (after, before) or unicodedata.category(after).startswith('M') or CONTINUES.match(after):
        return True
    flags = FLAG_LETTERS.search(text[max(0, at - 2 * MAX_PARTS) : at])
    return bool(flags and FLAG_LETTERS.match(after) and len(flags[0]) % 2)


def shorten(value: object) -> str:
    """Return the value's repr, cut to about 200 characters."""
    text = repr(value)
    return text if len(text) <= 200 else f'{text[: cut_place(text, 200)]}...'


def refuse_nul(values: Mapping[str, object]) -> None:
    """Refuse text with NUL from people: no file name, command or PostgreSQL search takes it.

    Args:
        values: by the field that is named in the error.

    Raises:
        InvalidInput
    """
    if wrong := [name for name, value in values.items() if _has_nul(value) or '\0' in str(name)]:
        raise InvalidInput(dict.fromkeys(wrong, 'has a NUL character, which is no text'))


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return '\0' in value
    if isinstance(value, Mapping):
        return any(_has_nul(name) or _has_nul(item) for name, item in value.items())
    return isinstance(value, list | tuple) and any(map(_has_nul, value))


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with all its strings changed, names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(name)): map_texts(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(item, change) for item in value]
    return value


JOINER = '\u200d'
CONTINUES = re.compile('[\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]')
"""Skin tones, and the letters of flags of regions."""
FLAG_LETTERS = re.compile('[\U0001f1e6-\U0001f1ff]+$')
"""Two of them make a country's flag."""
MAX_PARTS = 32
MAX_ERROR = 2_000
"""Maximum number of characters in an error's description."""


def _whole(value: Any) -> Any:
    """Replace lone surrogates, which databases reject; providers sometimes split an emoji in two."""
    if isinstance(value, str):
        return value.encode('utf-8', 'replace').decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return (
        value if value is None or isinstance(value, (bool, int, float)) else _whole(to_jsonable_python(value))
    )
