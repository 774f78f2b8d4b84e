"""Carries out recorded changes (JSON Patch) on a plain JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.records import Change


def apply(document: dict[str, Any], changes: Iterable[Change]) -> None:
    """Carry out recorded changes on a plain JSON document, in place.

    Raises:
        KeyError, IndexError: the document is not the one the changes were recorded on.
    """
    for change in changes:
        target: Any = document
        _, *parts = change.path.split('/')
        if '~' in change.path:
            parts = [part.replace('~1', '/').replace('~0', '~') for part in parts]
        last = parts.pop()
        for part in parts:
            target = target[int(part)] if isinstance(target, list) else target[part]
        if not isinstance(target, list):
            if change.op == 'remove':
                del target[last]
            else:
                target[last] = fresh(change.value)
        elif change.op == 'remove':
            del target[int(last)]
        elif change.op == 'replace':
            target[int(last)] = fresh(change.value)
        elif last == '-':
            target.append(fresh(change.value))
        else:
            target.insert(int(last), fresh(change.value))


def fresh(value: Any) -> Any:
    """A copy of a JSON value: the recorded one, which others hold, stays as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: fresh(item) for key, item in value.items()}
    return [fresh(item) for item in value] if isinstance(value, list) else value
