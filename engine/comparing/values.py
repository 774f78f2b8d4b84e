"""What differs between two JSON values: the places, and what stands there on either side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from engine.pointer import escape

MOST = 200
"""Places that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """One place at which two documents differ."""

    path: str
    """A JSON Pointer (RFC 6901)."""
    a: Any = None
    b: Any = None
    only: str = ''
    """`a` or `b` where the other has nothing at this place."""


def unlike(a: Any, b: Any, *, most: int = MOST) -> list[Unlike]:
    """The innermost places at which two JSON values differ, in order, at most `most` of them."""
    return list(islice(_unlike(a, b, ''), most))


def _unlike(a: Any, b: Any, path: str) -> Iterator[Unlike]:
    if a == b and type(a) is type(b):
        return
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        yield from _inside(a, b, path)
    elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
        yield from _inside(dict(enumerate(a)), dict(enumerate(b)), path)
    elif a != b or isinstance(a, bool) != isinstance(b, bool):
        yield Unlike(path=path, a=a, b=b)


def _inside(a: Mapping[Any, Any], b: Mapping[Any, Any], path: str) -> Iterator[Unlike]:
    for key in dict.fromkeys([*a, *b]):
        place = f'{path}/{escape(str(key))}'
        if key not in b:
            yield Unlike(path=place, a=a[key], only='a')
        elif key not in a:
            yield Unlike(path=place, b=b[key], only='b')
        else:
            yield from _unlike(a[key], b[key], place)
