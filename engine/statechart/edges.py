"""Edges and final states, as mappings for `transitions`."""

from __future__ import annotations

from typing import Any

FINAL_STATES: tuple[dict[str, Any], ...] = (
    {'name': 'done', 'final': True},
    {'name': 'failed', 'final': True, 'outcome': 'failed'},
)
"""The final states of a state that contains work."""


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
    """Return an edge, without the keys not given; one without a `dest` is internal."""
    more = {'conditions': conditions, 'unless': unless, 'before': before, 'after': after}
    return {
        'trigger': trigger,
        'source': source,
        'dest': dest,
        **{key: value for key, value in more.items() if value},
    }


def failure_edges(
    source: str | list[str], dest: str, *, before: Any = None, after: Any = None
) -> list[dict[str, Any]]:
    """Return the edges for work that failed and for work that timed out."""
    return [edge(trigger, source, dest, before=before, after=after) for trigger in ('failed', 'expired')]
