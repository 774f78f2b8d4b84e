"""StreamedArguments: a call's arguments, which Gemini streams value by value, each with its path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.models.http.dialects.dialect import as_mapping, as_text

STEP = re.compile(r"""\.([^.\[\]'"]+)|\[(\d{1,9})\]|\['([^']*)'\]|\["([^"]*)"\]""")
VALUES = ('stringValue', 'numberValue', 'boolValue')
MAX_PATH = 50
"""Maximum steps of a path; deeper values could not be journaled."""


class StreamedArguments:
    """The arguments of one call, as received so far.

    Args:
        whole: the arguments that came with the call, if any.
    """

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._values: dict[tuple[str | int, ...], list[Any]] = {}
        """By path; the pieces of a text, or one other value."""
        self._unread: list[Any] = []

    def add(self, parts: Sequence[Any]) -> None:
        """Add values, or further pieces of texts."""
        for part in map(as_mapping, parts):
            path, names = _path(part.get('jsonPath')), [name for name in VALUES if name in part]
            if not path or not (names or 'nullValue' in part):
                self._unread.append(dict(part))
            elif names and isinstance(text := part[names[0]], str):
                self._values.setdefault(path, []).append(text)
            else:
                self._values[path] = [part[names[0]] if names else None]

    @property
    def text(self) -> str:
        """The arguments as JSON; if a value cannot be placed, a list of all, which no tool accepts."""
        root: dict[str, Any] = dict(self._whole) if isinstance(self._whole, dict) else {}
        unread = list(self._unread)
        for path, pieces in self._values.items():
            value = ''.join(map(str, pieces)) if isinstance(pieces[0], str) else pieces[0]
            if not _place(root, path, value):
                unread.append({'path': path, 'value': value})
        if unread:
            return as_text([root, *unread])
        return as_text(root) if self._values else as_text(self._whole)


def _path(text: Any) -> tuple[str | int, ...]:
    """Return the steps of a path such as `$.places[0].name`; none if it cannot be read."""
    steps, at = list[str | int](), 1
    if not isinstance(text, str) or not text.startswith('$'):
        return ()
    while at < len(text) and len(steps) < MAX_PATH and (match := STEP.match(text, at)):
        steps.append(
            int(match[2]) if match[2] else next(name for name in match.group(1, 3, 4) if name is not None)
        )
        at = match.end()
    return tuple(steps) if at == len(text) else ()


def _place(root: Any, path: tuple[str | int, ...], value: Any) -> bool:
    """Put a value at its path; returns whether it has a place: lists grow one by one."""
    for step, after in zip(path, (*path[1:], None), strict=True):
        fresh: Any = value if after is None else [] if isinstance(after, int) else {}
        if isinstance(step, int) and isinstance(root, list) and step <= len(root):
            if step == len(root):
                root.append(fresh)
            elif after is None:
                root[step] = value
        elif isinstance(step, str) and isinstance(root, dict):
            root[step] = value if after is None else root.get(step, fresh)
        else:
            return False
        root = root[step]
    return True
