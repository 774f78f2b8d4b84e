"""Describes how a request differs from the nearest recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MAX_SHOWN = 5
"""Maximum number of differences shown."""
MAX_TEXT = 80
"""Maximum characters shown of each side."""


def describe_nearest(asked: Mapping[str, Any], recorded: list[dict[str, Any]]) -> str:
    """Describe how a request differs from the nearest recorded one."""
    if not recorded:
        return 'all recorded answers have been used'
    wanted = {name: asked[name] for name in ('method', 'url', 'body')}
    found = min(
        (list(_differences({name: other[name] for name in wanted}, wanted, '')) for other in recorded),
        key=lambda differences: sum(weight for _, weight in differences),
    )
    if not found:
        return 'it is the same as one that was asked before'
    more = f'; and {len(found) - MAX_SHOWN} more' if len(found) > MAX_SHOWN else ''
    return 'the nearest differs: ' + '; '.join(difference for difference, _ in found[:MAX_SHOWN]) + more


def _differences(old: Any, new: Any, at: str) -> Iterator[tuple[str, int]]:
    """Yield each difference as text, with its approximate size in characters."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(name), new.get(name), f'{at}.{name}' if at else name)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            rest = old[len(new) :] or new[len(old) :]
            yield f'{at}: {len(old)} recorded, {len(new)} asked', len(repr(rest))
        for place, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _differences(one, other, f'{at}[{place}]')
    elif old != new:
        same = _same(old, new) if isinstance(old, str) and isinstance(new, str) else 0
        shown = f'{at}: recorded {_excerpt(old, same)}, asked {_excerpt(new, same)}'
        yield shown, len(repr(old)) + len(repr(new)) - 2 * same


def _same(one: str, other: str) -> int:
    """Length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _excerpt(value: Any, same: int) -> str:
    """Return a value as text; for a long string, the part around the first difference."""
    if not isinstance(value, str) or len(value) <= MAX_TEXT:
        return repr(value)[:MAX_TEXT]
    start = max(0, same - MAX_TEXT // 2)
    return f'…{value[start : start + MAX_TEXT]!r}…'
