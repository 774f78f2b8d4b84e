"""Candidates for tools: the versions of each, from the memory that a pattern exposes."""

from __future__ import annotations

from engine.errors import ToolError
from engine.tools.protocol import ToolContext


def candidate_versions(context: ToolContext, candidate: str) -> list[str]:
    """Return the snapshots of a candidate's versions, oldest first.

    Raises:
        ToolError: there are no candidates here, or none of that name.
    """
    known = context.facts.get('candidates')
    if known is None:
        raise ToolError('there are no candidates here: this tool is for reviewers')
    if not known.get(candidate):
        raise ToolError(f'there is no candidate {candidate!r}; available: {", ".join(known) or "none"}')
    return [str(snapshot) for snapshot in known[candidate]]
