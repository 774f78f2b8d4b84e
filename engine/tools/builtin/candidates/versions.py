"""Candidates for tools: the versions of each, from the memory that a pattern exposes."""

from __future__ import annotations

from engine.errors import ToolError
from engine.tools.protocol import ToolContext


def candidate_versions(context: ToolContext, candidate: str) -> list[str]:
    """Return the snapshots of a candidate's versions, oldest first.

    Raises:
        ToolError: there are no candidates here, or none of that name.
    """
    candidates = context.facts.get('candidates')
    if candidates is None:
        raise ToolError('there are no candidates here: this tool is for reviewers')
    if not candidates.get(candidate):
        raise ToolError(f'there is no candidate {candidate!r}; available: {", ".join(candidates) or "none"}')
    return [str(snapshot) for snapshot in candidates[candidate]]
