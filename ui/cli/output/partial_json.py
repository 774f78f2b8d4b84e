"""JSON that is still being written, as readable lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json


def readable(text: str) -> str | None:
    """Return the beginning of a JSON document as text: a line for each value, after its name.

    More of the document only appends to the result. None if the text is not JSON.
    """
    try:
        return '\n'.join(_lines(from_json(text, allow_partial='trailing-strings')))
    except ValueError:
        return None


def _lines(value: Any, name: str = '') -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f'{key.replace("_", " ")}: ')
    elif isinstance(value, list):
        for inner in value:
            yield from _lines(inner, '- ')
    elif isinstance(value, bool):
        yield f'{name}{"yes" if value else "no"}'
    else:
        yield f'{name}{"none" if value is None else value}'
