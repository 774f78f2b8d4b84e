"""JSON pointers (RFC 6901): where a value stands in a JSON document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_core import to_jsonable_python


def escape(key: Any) -> str:
    """A dictionary's key as one part of a pointer."""
    text = key if isinstance(key, str) else next(iter(to_jsonable_python({key: None})))
    return str(text).replace('~', '~0').replace('/', '~1')


def parts_of(pointer: str) -> list[str]:
    """The parts of a pointer as the keys that they stand for; none for the whole document."""
    parts = pointer.split('/')[1:]
    return [part.replace('~1', '/').replace('~0', '~') for part in parts] if '~' in pointer else parts


def lookup(document: Any, parts: Iterable[str], missing: Any = None) -> Any:
    """The value at a pointer's parts, or `missing` where there is none."""
    for part in parts:
        try:
            document = document[int(part)] if isinstance(document, list) else document[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return missing
    return document
