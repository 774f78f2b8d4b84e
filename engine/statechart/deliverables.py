"""Deliverables: what can be merged from a run, and how it is tested, as its pattern says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

TEST_SECONDS = 120.0
"""The time limit of the tests, unless a parameter sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    """The work of one agent, in its folder."""

    snapshot: str = ''
    """Its newest version; '' is the folder as the agent left it."""
    summary: str = ''
    """The agent's own summary."""
    tests: str = ''
    """The results of its required tests, such as `40 passed, 2 failed`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliverables:
    """The work of a run, where it belongs, and how it is tested."""

    project: str = ''
    """The project that the work was begun from, and goes back to; '' for none."""
    tests: str = ''
    """A project with the tests that the work must pass; '' for those in the work itself."""
    command: str = ''
    """The command that runs them instead of pytest."""
    seconds: float = TEST_SECONDS
    """Their time limit."""
    works: Mapping[str, AgentWork] = field(default_factory=dict)
    """The work that can be merged, by folder. If empty, it is whatever agents have changed."""
    best: str = ''
    """The folder with the run's result, if one was picked."""

    @classmethod
    def of(
        cls, parameters: Mapping[str, Any], works: Mapping[str, AgentWork] | None = None, best: str = ''
    ) -> Self:
        """Describe work, taking its project and tests from parameters with the conventional names.

        Args:
            parameters: a run's parameters, of which it reads `project`, `tests`, `command` or
                `test_command`, and `test_seconds`, if present.
            works: the work, by folder.
            best: the folder that was picked.
        """
        return cls(
            project=str(parameters.get('project') or ''),
            tests=str(parameters.get('tests') or ''),
            command=str(parameters.get('command') or parameters.get('test_command') or ''),
            seconds=float(parameters.get('test_seconds') or TEST_SECONDS),
            works=works or {},
            best=best,
        )
