"""JSON Pointers (RFC 6901): the location of a value in a JSON document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_core import to_jsonable_python


def escape_token(key: Any) -> str:
    """Escape a dictionary key for use as one token of a pointer."""
    text = key if isinstance(key, str) else next(iter(to_jsonable_python({key: None})))
    return str(text).replace('~', '~0').replace('/', '~1')


def split_pointer(pointer: str) -> list[str]:
    """Return the pointer's tokens, unescaped; none for the whole document."""
    parts = pointer.split('/')[1:]
    return [part.replace('~1', '/').replace('~0', '~') for part in parts] if '~' in pointer else parts


def resolve_pointer(document: Any, parts: Iterable[str], missing: Any = None) -> Any:
    """Return the value at the pointer's tokens, or `missing` if there is none."""
    for part in parts:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return missing
    return document
