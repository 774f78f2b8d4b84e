"""What one run did, counted: states, edges, tools, mishaps; one side of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.comparing.facets import results_of
from engine.comparing.tracks import edge_name
from engine.records import RunInfo, Shape, Transition, View

MISHAPS = ('failed', 'expired', 'abort')


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """A run as it is now, and what it did until then."""

    info: RunInfo
    shape: Shape
    view: View
    visits: Mapping[str, int] = field(default_factory=dict)
    """Per state: how often it was entered."""
    walked: Mapping[str, int] = field(default_factory=dict)
    """Per edge (`source>dest`): how often it was taken."""
    tools: Mapping[str, int] = field(default_factory=dict)
    """Per tool: how often it was called."""
    errors: int = 0
    """Failures and time-outs of states, and tools that refused."""
    retries: int = 0
    people: int = 0
    """Deeds of a person: approvals, pauses, edits and the like."""

    @property
    def answer(self) -> Any:
        """What came of it, where its pattern names a field for that."""
        return self.view.memory.get(self.shape.answer) if self.shape.answer else None

    @property
    def loops(self) -> int:
        """How often a state of the workflow was entered again."""
        tops = {state.path for state in self.shape.states if not state.parent}
        return sum(count - 1 for path, count in self.visits.items() if path in tops)

    @property
    def models(self) -> dict[str, str]:
        """Per agent: the models that answered it."""
        return {path: ', '.join(spent.models) for path, spent in self.view.spending.items() if spent.models}

    @property
    def prompts(self) -> dict[str, str]:
        """Per agent: its instructions."""
        return {path: str(agent.get('instructions', '')) for path, agent in self.view.agents.items()}


BY_PEOPLE = frozenset({'pause', 'resume', 'step', 'cancel', 'edit', 'approve', 'deny', 'extend'})


def tally(info: RunInfo, shape: Shape, view: View, steps: Iterable[Transition]) -> Tally:
    """Count what a run did."""
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
        errors += sum(not result.get('ok', True) for result in results) + (step.event.name in MISHAPS)
        retries += step.event.name == 'retry'
        # A pause that names breakpoints is the engine's own.
        people += step.event.name in BY_PEOPLE and 'breakpoints' not in step.event.data
    return Tally(
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
