"""Differences between two JSON values: their locations, and the value on each side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from engine.records.document import escape_token

MAX_DIFFERENCES = 200
"""Maximum number of differences reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonDifference:
    """One location at which two documents differ."""

    path: str
    """A JSON Pointer (RFC 6901)."""
    a: Any = None
    b: Any = None
    only: str = ''
    """`a` or `b` if the other has no value here."""


def json_differences(a: Any, b: Any, *, most: int = MAX_DIFFERENCES) -> list[JsonDifference]:
    """Return the innermost locations at which two JSON values differ, in order, at most `most` of them."""
    return list(islice(_differences(a, b, ''), most))


def _differences(a: Any, b: Any, path: str) -> Iterator[JsonDifference]:
    if a == b and type(a) is type(b):
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        yield from _inside(a, b, path)
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        yield from _inside(dict(enumerate(a)), dict(enumerate(b)), path)
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        yield JsonDifference(path=path, a=a, b=b)


def _inside(a: Mapping[Any, Any], b: Mapping[Any, Any], path: str) -> Iterator[JsonDifference]:
    for key in dict.fromkeys([*a, *b]):
        place = f'{path}/{escape_token(str(key))}'
        if key not in b:
            yield JsonDifference(path=place, a=a[key], only='a')
        elif key not in a:
            yield JsonDifference(path=place, b=b[key], only='b')
        else:
            yield from _differences(a[key], b[key], place)
