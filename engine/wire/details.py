"""Reasoning details in fragments (OpenRouter), put together so that they can go back unchanged."""

from __future__ import annotations

from typing import Any

GROWING = ('text', 'summary', 'data')


class Details:
    """Fragments of the same index and type make up one detail."""

    def __init__(self) -> None:
        self._whole: list[dict[str, Any]] = []

    def __bool__(self) -> bool:
        return bool(self._whole)

    def add(self, fragments: list[Any]) -> None:
        """Take fragments in."""
        for fragment in fragments:
            if not isinstance(fragment, dict):
                continue
            last = self._whole[-1] if self._whole else {}
            if last and all(last.get(name) == fragment.get(name) for name in ('index', 'type')):
                for name, value in fragment.items():
                    if name in GROWING and isinstance(value, str) and isinstance(last.get(name), str):
                        last[name] += value
                    elif value is not None:
                        last[name] = value
            else:
                self._whole.append(dict(fragment))

    def whole(self) -> list[dict[str, Any]]:
        """The details."""
        return self._whole
