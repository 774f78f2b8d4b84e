"""Applies recorded changes (JSON Patch) to a plain JSON document without modifying it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.records.events import Change
from engine.records.json_pointer import split_pointer

Fresh = dict[int, Any]
"""Lists and dicts that nobody else has yet, by identity: these may be written in place."""


def apply_patch(
    document: Mapping[str, Any], changes: Iterable[Change], fresh: Fresh | None = None
) -> dict[str, Any]:
    """A document with recorded changes applied; it shares all unchanged parts with the old one.

    So a fold can be kept, rewound and continued without copying the run's whole memory: a change copies only
    the path down to it, not its siblings.

    Args:
        document: stays as it is, except for its fresh parts.
        changes: what was recorded.
        fresh: the copies made so far, and those that this call makes. Many steps in a row copy a list once,
            and not at each step, if nobody is given a document between them.

    Raises:
        KeyError, IndexError, ValueError, TypeError: not the document the changes were recorded on.
    """
    found, fresh = dict(document), {} if fresh is None else fresh
    for change in changes:
        parts = split_pointer(change.path)
        last = parts.pop()
        target: Any = found
        for part in parts:
            target = _copy_on_write(target, part, fresh)
        _write(target, last, change)
    return found


def _copy_on_write(target: Any, part: str, fresh: Fresh) -> Any:
    """The value at one part of a pointer if it is fresh, or a copy of it, stored in its parent."""
    key: Any = int(part) if isinstance(target, list) else part
    inner = target[key]
    if id(inner) in fresh:
        return inner
    copied: Any
    if isinstance(inner, list):
        copied = list(inner)
    elif isinstance(inner, Mapping):
        copied = dict(inner)
    else:
        raise TypeError(f'{part} contains no other values')
    target[key] = fresh[id(copied)] = copied
    return copied


def _write(target: Any, last: str, change: Change) -> None:
    if not isinstance(target, list):
        if change.op == 'remove':
            del target[last]
        else:
            target[last] = change.value
    elif change.op == 'remove':
        del target[int(last)]
    elif change.op == 'replace':
        target[int(last)] = change.value
    elif last == '-':
        target.append(change.value)
    else:
        target.insert(int(last), change.value)


def deep_copy(value: Any) -> Any:
    """A copy of a JSON value, so that the recorded one, which is shared, stays unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: deep_copy(item) for key, item in value.items()}
    return [deep_copy(item) for item in value] if isinstance(value, list) else value
