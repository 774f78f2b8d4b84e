"""Statistics of one run for a comparison: states, edges, tools and incidents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.history.comparison.region_path import edge_name
from engine.history.comparison.step_diff import results_of
from engine.records import RunInfo, Shape, Transition, View

ERROR_EVENTS = ('failed', 'expired', 'abort')


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStats:
    """A run's current state and statistics."""

    info: RunInfo
    shape: Shape
    view: View
    visits: Mapping[str, int] = field(default_factory=dict)
    """Number of entries per state."""
    walked: Mapping[str, int] = field(default_factory=dict)
    """Number of times each edge (`source>dest`) was taken."""
    tools: Mapping[str, int] = field(default_factory=dict)
    """Number of calls per tool."""
    errors: int = 0
    """Failures and timeouts of states, and failed tool calls."""
    retries: int = 0
    people: int = 0
    """Number of actions by people: approvals, pauses, edits and the like."""

    @property
    def answer(self) -> Any:
        """The run's result, if its pattern names a field for it."""
        return self.view.memory.get(self.shape.answer) if self.shape.answer else None

    @property
    def loops(self) -> int:
        """Number of times workflow states were re-entered."""
        tops = {state.path for state in self.shape.states if not state.parent}
        return sum(count - 1 for path, count in self.visits.items() if path in tops)

    @property
    def models(self) -> dict[str, str]:
        """The models that answered, by agent."""
        return {path: ', '.join(spent.models) for path, spent in self.view.spending.items() if spent.models}

    @property
    def prompts(self) -> dict[str, str]:
        """The instructions of each agent."""
        return {path: str(agent.get('instructions', '')) for path, agent in self.view.agents.items()}


PERSON_EVENTS = frozenset(
    {'pause', 'resume', 'step', 'cancel', 'edit', 'approve', 'deny', 'answer', 'extend'}
)


def count_run(info: RunInfo, shape: Shape, view: View, steps: Iterable[Transition]) -> RunStats:
    """Compute the statistics of a run."""
    visits: Counter[str] = Counter()
    walked: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    errors = retries = people = 0
    for step in steps:
        visits.update(step.entered)
        walked.update(edge_name(edge.source, edge.dest) for edge in step.edges)
        if step.raised:
            continue
        results = results_of(step)
        tools.update(str(result.get('name')) for result in results)
        errors += sum(not result.get('ok', True) for result in results) + (step.event.name in ERROR_EVENTS)
        retries += step.event.name == 'retry'
        # Pauses that name breakpoints are made by the engine.
        people += step.event.name in PERSON_EVENTS and 'breakpoints' not in step.event.data
    return RunStats(
        info=info,
        shape=shape,
        view=view,
        visits=visits,
        walked=walked,
        tools=tools,
        errors=errors,
        retries=retries,
        people=people,
    )
