"""Usage as it is journaled with a reply, or with an attempt that failed."""

from __future__ import annotations

from typing import Any

from engine.records import SOURCES, Usage


def counted(usage: Usage | None, calls: int = 1) -> dict[str, Any]:
    """What calls have used; what is not there, or goes without saying, is left out."""
    if usage is None:
        return {'input': 0, 'output': 0, 'calls': calls, 'source': SOURCES[-1]}
    parts = {name: getattr(usage, name) for name in ('cached', 'written', 'reasoning')}
    source = {} if usage.source == SOURCES[0] else {'source': usage.source}
    kept = {name: value for name, value in parts.items() if value}
    return {'input': usage.input, 'output': usage.output, 'calls': calls, **kept, **source}
