"""Makes values plain: JSON and nothing else, so that what is journaled is what was decided on."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json, to_jsonable_python

from engine.errors import EngineError


def plain(value: Any) -> Any:
    """A copy of `value` in JSON values; what JSON lacks (NaN, infinity) becomes None, half a character '?'.

    Raises:
        ValueError: it holds something that has no form in JSON.
    """
    try:
        return from_json(to_json(value, inf_nan_mode='null'))
    except PydanticSerializationError:
        return from_json(to_json(_whole(value), inf_nan_mode='null'))


def said(error: BaseException) -> str:
    """What went wrong, in one short text; never fails."""
    try:
        text = str(error)
    except Exception:
        text = ''
    name = type(error).__name__
    text = text if text and isinstance(error, EngineError) else f'{name}: {text}' if text else name
    return text if len(text) <= MOST_SAID else f'{text[:MOST_SAID]}…'


def short(value: object) -> str:
    """A value as Python writes it, 200 characters at most."""
    text = repr(value)
    return text if len(text) <= 200 else f'{text[:200]}...'


MOST_SAID = 2_000
"""Characters of an error's text that are kept."""


def _whole(value: Any) -> Any:
    """Texts without lone surrogates, which no database takes; providers cut emoji in two."""
    if isinstance(value, str):
        return value.encode('utf-8', 'replace').decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return (
        value if value is None or isinstance(value, (bool, int, float)) else _whole(to_jsonable_python(value))
    )
