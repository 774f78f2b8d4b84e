"""Staff: the agents of a pattern, with what they are told, their tools, and what they answer with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.pattern import Pattern
from engine.records import StatePath
from engine.shape import walk


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """An agent of a pattern, as a reader needs it."""

    path: StatePath
    """The state that holds it."""
    role: str
    instructions: str
    tools: tuple[str, ...]
    answer: Mapping[str, Any] = field(default_factory=dict)
    """The JSON schema of the record it answers with; empty where it answers with text."""


def agents_of(pattern: type[Pattern]) -> tuple[AgentInfo, ...]:
    """The agents of a pattern with its default parameters, in the order of its states: one for each role."""
    return tuple(
        AgentInfo(
            path=path,
            role=role.name,
            instructions=role.instructions,
            tools=tuple(role.tools),
            answer=state['agent'].output.model_json_schema() if state['agent'].output else {},
        )
        for path, _, state in walk(pattern.sample().chart_states())
        if 'agent' in state
        for role in state['agent'].cast_list
    )
