"""Directory of a pattern's agents: their instructions, tools and output schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.records import StatePath
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import walk


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """A description of an agent of a pattern."""

    path: StatePath
    """The state that contains it."""
    role: str
    instructions: str
    tools: tuple[str, ...]
    answer: Mapping[str, Any] = field(default_factory=dict)
    """The JSON schema of its structured output; empty if it answers with text."""


def agents_of(pattern: type[Pattern], parameters: Mapping[str, Any] | None = None) -> tuple[AgentInfo, ...]:
    """Return a pattern's agents in the order of its states: one per role.

    Args:
        pattern: the pattern.
        parameters: those that the chart depends on; others have their defaults. Raises `InvalidInput` if one
            is wrong.
    """
    return tuple(
        AgentInfo(
            path=path,
            role=role.name,
            instructions=role.instructions,
            tools=tuple(role.tools),
            answer=state['agent'].output.model_json_schema() if state['agent'].output else {},
        )
        for path, _, state in walk(pattern.sample(parameters).chart_states())
        if 'agent' in state
        for role in state['agent'].possible_roles
    )
