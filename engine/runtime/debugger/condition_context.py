"""ConditionContext: one step of a run, as the conditions of breakpoints see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.records.shape import ancestry, parent_of
from engine.statechart.expressions.values import get_item, is_number

if TYPE_CHECKING:
    from engine.journal.projection import RunProjection
    from engine.records import Transition
    from engine.statechart.run_state import RunState

USING_TOOLS = 'using_tools'
"""The agent state in which a batch of tools runs."""


class ConditionContext:
    """Looks up names at one step, computing only those asked for.

    Args:
        step: the step.
        projection: the run's derived state at the end of the step's turn.
        state: the run's data at that time.
        place: the state whose visits `loops` counts; '' is the outermost one entered.
    """

    def __init__(self, step: Transition, projection: RunProjection, state: RunState, place: str = '') -> None:
        self.step, self.projection, self.state, self.place = step, projection, state, place

    def value(self, name: str) -> Any:
        """Return the name's value; None if there is none."""
        return READERS[name](self)

    @property
    def agent(self) -> str | None:
        """The agent the event belongs to; otherwise the one whose state was entered."""
        for path in (self.step.event.at, *self.step.entered):
            if agent := next((around for around in ancestry(path) if around in self.state.agents), None):
                return agent
        return None

    def of_agent(self, name: str) -> str | None:
        """Return a field of that agent's record."""
        agent = self.agent
        return getattr(self.state.agents[agent], name) or None if agent else None

    @property
    def loops(self) -> int | None:
        """How often the state was entered."""
        place = self.place or next(iter((*self.step.entered, *self.step.left)), '')
        return self.projection.pauses.visits.get(place)

    @property
    def text(self) -> str | None:
        """The text of the reply, or of the tools' results."""
        data = self.step.event.data
        if isinstance(data.get('text'), str):
            return str(data['text'])
        results = data.get('results')
        if not isinstance(results, list):
            return None
        texts = (get_item(result, 'text') for result in results)
        return '\n'.join(text for text in texts if isinstance(text, str))

    @property
    def tools(self) -> list[str] | None:
        """Names of the tools about to run."""
        for path in self.step.entered:
            agent = self.state.agents.get(parent_of(path))
            if agent is not None and path.endswith(f'.{USING_TOOLS}'):
                calls = next((message.calls for message in reversed(agent.messages) if message.calls), ())
                return [call.name for call in calls]
        return None

    @property
    def score(self) -> float | None:
        """The score in the answer, or in an activity's result."""
        data = self.step.event.data
        score = get_item(data.get('output'), 'score')
        score = data.get('score') if score is None else score
        return score if is_number(score) else None

    @property
    def disagree(self) -> bool | None:
        """Whether the agents' latest positions differ."""
        return self.state.memory.positions_differ()


READERS: Mapping[str, Callable[[ConditionContext], Any]] = {
    'cost': lambda context: context.projection.usage.dollars,
    'tokens': lambda context: context.projection.usage.total,
    'seconds': lambda context: context.projection.meter.running,
    'step': lambda context: context.step.seq,
    'disagree': lambda context: context.disagree,
    'memory': lambda context: context.state.memory,
    'state': lambda context: context.step.entered[-1] if context.step.entered else None,
    'entered': lambda context: list(context.step.entered),
    'left': lambda context: list(context.step.left),
    'event': lambda context: context.step.event.name,
    'attempt': lambda context: context.step.event.attempt,
    'loops': lambda context: context.loops,
    'text': lambda context: context.text,
    'tools': lambda context: context.tools,
    'agent': lambda context: context.agent,
    'role': lambda context: context.of_agent('role'),
    'model': lambda context: context.step.event.data.get('model') or context.of_agent('model'),
    'error': lambda context: str(context.step.event.data.get('error') or '') or None,
    'score': lambda context: context.score,
    'data': lambda context: context.step.event.data,
}
