"""Carries out recorded changes (JSON Patch) on a plain JSON document, which stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.pointer import parts_of
from engine.records import Change


def patched(document: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    """A document with recorded changes carried out; it shares with the old one all that did not change.

    So a fold can be kept, gone back to and gone on from without copying what a run remembers: a change
    costs what lies on the way to it, and not what lies beside.

    Raises:
        KeyError, IndexError, ValueError, TypeError: the document is not the one the changes were recorded on.
    """
    found = dict(document)
    for change in changes:
        parts = parts_of(change.path)
        last = parts.pop()
        target: Any = found
        for part in parts:
            target = _opened(target, part)
        _write(target, last, change)
    return found


def _opened(target: Any, part: str) -> Any:
    """What stands at one part of a pointer, as a copy that may be written to."""
    key: Any = int(part) if isinstance(target, list) else part
    inner = target[key]
    if isinstance(inner, list):
        target[key] = list(inner)
    elif isinstance(inner, Mapping):
        target[key] = dict(inner)
    else:
        raise TypeError(f'{part} holds no other values')
    return target[key]


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


def fresh(value: Any) -> Any:
    """A copy of a JSON value: the recorded one, which others hold, stays as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: fresh(item) for key, item in value.items()}
    return [fresh(item) for item in value] if isinstance(value, list) else value
