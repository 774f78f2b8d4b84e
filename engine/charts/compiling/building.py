"""Building: a chart for one set of parameters, of the parts that depend on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.agents.spec import Role
from engine.charts.compiling.scope import design_time
from engine.charts.format import MAX_NAME, NAME_RULES
from engine.charts.reading import Place
from engine.errors import PatternError
from engine.statechart.expressions.compiler import Part
from engine.statechart.expressions.expression import compute
from engine.statechart.expressions.values import EvaluationError, is_number, kind_of, require_list
from engine.statechart.pattern import Pattern

MAX_STATES = 500
"""Maximum number of states of a chart, repeated regions included, without those inside agents."""
MAX_EDGES = 5_000
"""Maximum number of edges of a chart; one with several sources counts for each."""

Variables = Mapping[str, Any]
Roles = Mapping[str, tuple[Role, ...]]
"""By name; and all roles that one of the file stands for, by its name there."""


@dataclass(frozen=True, slots=True)
class Design:
    """An expression or a template that depends on parameters only, and its place in the file."""

    part: Part
    path: Place


@dataclass
class Build:
    """A chart for one set of parameters. Problems are `PatternError`s that name the place in the file."""

    pattern: Pattern
    roles: Roles
    count: int = 0
    edges: int = 0

    def value(self, design: Design, variables: Variables) -> Any:
        """Return the value of what depends on parameters only. Raises `PatternError`."""
        try:
            return compute(design.part, design_time(self.pattern, variables))
        except EvaluationError as error:
            raise self.problem(design.path, str(error)) from None

    def number(self, design: Design, variables: Variables) -> float | None:
        """Return a number, or null. Raises `PatternError`."""
        value = self.value(design, variables)
        if value is not None and not is_number(value):
            raise self.problem(design.path, f'must be a number, not {kind_of(value)}')
        return value  # type: ignore[no-any-return]  # It is one.

    def name(self, design: Design, variables: Variables, rule: str) -> str:
        """Return the name of a state or a role, which has to obey this rule. Raises `PatternError`."""
        name = str(self.value(design, variables))
        if len(name) > MAX_NAME or not re.fullmatch(rule, name):
            raise self.problem(design.path, f'a name here has {NAME_RULES[rule]}, not {name[:80]!r}')
        return name

    def items(self, design: Design, variables: Variables) -> Sequence[Any]:
        """Return a list; null is an empty one. Raises `PatternError`."""
        value = self.value(design, variables)
        try:
            return require_list(() if value is None else value)
        except EvaluationError as error:
            raise self.problem(design.path, str(error)) from None

    def add_state(self) -> None:
        """Count a state. Raises `PatternError` if there are too many."""
        self.count += 1
        if self.count > MAX_STATES:
            raise self.problem(('states',), f'it has more than {MAX_STATES:,} states')

    def add_edges(self, count: int) -> None:
        """Count edges. Raises `PatternError` if there are too many."""
        self.edges += count
        if self.edges > MAX_EDGES:
            raise self.problem(('transitions',), f'it has more than {MAX_EDGES:,} edges')

    def problem(self, path: Place, text: str) -> PatternError:
        """Return what is wrong at a place in the file."""
        return PatternError(self.pattern.name, text, where='.'.join(map(str, path)))
