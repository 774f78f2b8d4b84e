"""How charts say their edges and their ends: as mappings that `transitions` takes."""

from __future__ import annotations

from typing import Any

ENDS: tuple[dict[str, Any], ...] = (
    {'name': 'done', 'final': True},
    {'name': 'failed', 'final': True, 'outcome': 'failed'},
)
"""What a state ends in that has work inside."""


def edge(  # noqa: PLR0913  (all but three have defaults)
    trigger: str,
    source: str | list[str],
    dest: str | None,
    conditions: Any = None,
    unless: Any = None,
    *,
    before: Any = None,
    after: Any = None,
) -> dict[str, Any]:
    """An edge, without what is not said; one with no `dest` leaves no state."""
    more = {'conditions': conditions, 'unless': unless, 'before': before, 'after': after}
    return {
        'trigger': trigger,
        'source': source,
        'dest': dest,
        **{key: value for key, value in more.items() if value},
    }


def lost(
    source: str | list[str], dest: str, *, before: Any = None, after: Any = None
) -> list[dict[str, Any]]:
    """The edges of work that failed, and of work that was too slow."""
    return [edge(trigger, source, dest, before=before, after=after) for trigger in ('failed', 'expired')]
