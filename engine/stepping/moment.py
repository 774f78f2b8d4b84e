"""Moment: one step of a run, as the conditions of breakpoints see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.outline import Shape
from engine.path import parent_of
from engine.stepping.values import is_number, reach

if TYPE_CHECKING:
    from engine.records import Transition
    from engine.state import RunState
    from engine.view import Ledger

USING_TOOLS = 'using_tools'
"""The state of an agent in which a batch of tools runs."""


class StepMoment:
    """Looks up names at one step, and only those that are asked for.

    Args:
        step: the step.
        shape: the run's chart.
        ledger: what follows from all steps up to the end of its turn.
        state: the run's data then.
        place: the state whose visits `loops` counts; '' is the outermost one that was entered.
    """

    def __init__(
        self, step: Transition, shape: Shape, ledger: Ledger, state: RunState, place: str = ''
    ) -> None:
        self.step, self.shape, self.ledger, self.state, self.place = step, shape, ledger, state, place

    def value(self, name: str) -> Any:
        """What the name is; None where there is nothing."""
        return READERS[name](self)

    @property
    def agent(self) -> str | None:
        """The agent that the event is of; else the one whose state was entered."""
        for path in (self.step.event.at, *self.step.entered):
            around: str = path
            while around and around not in self.state.agents:
                around = parent_of(around)
            if around:
                return around
        return None

    def of_agent(self, name: str) -> str | None:
        """A field of that agent's record."""
        agent = self.agent
        return getattr(self.state.agents[agent], name) or None if agent else None

    @property
    def loops(self) -> int | None:
        """How often the state was entered."""
        place = self.place or next(iter((*self.step.entered, *self.step.left)), '')
        return self.ledger.halts.visits.get(place)

    @property
    def text(self) -> str | None:
        """What was said, or what tools gave."""
        data = self.step.event.data
        if isinstance(data.get('text'), str):
            return str(data['text'])
        results = data.get('results')
        if not isinstance(results, list):
            return None
        texts = (reach(result, 'text') for result in results)
        return '\n'.join(text for text in texts if isinstance(text, str))

    @property
    def tools(self) -> list[str] | None:
        """Names of the tools that are about to run."""
        for path in self.step.entered:
            agent = self.state.agents.get(parent_of(path))
            if agent is not None and path.endswith(f'.{USING_TOOLS}'):
                asked = next((message.calls for message in reversed(agent.messages) if message.calls), ())
                return [call.name for call in asked]
        return None

    @property
    def score(self) -> float | None:
        """The score in the answer, or in what an activity gives."""
        data = self.step.event.data
        found = reach(data.get('output'), 'score')
        found = data.get('score') if found is None else found
        return found if is_number(found) else None

    @property
    def disagree(self) -> bool | None:
        """Whether the latest positions in the debate that is held, or was held last, differ."""
        said = reach(self.value('memory'), self.shape.debate) if self.shape.debate else None
        if not said or not isinstance(said, list | tuple):
            return None
        last, positions = reach(said[-1], 'debate'), dict[str, Any]()
        for item in reversed(said):
            if reach(item, 'debate') != last:
                break
            if reach(item, 'position') is not None and not reach(item, 'synthesized'):
                positions.setdefault(str(reach(item, 'speaker')), reach(item, 'position'))
        verdicts = {reach(position, 'verdict') for position in positions.values()}
        # Who wants all of them revised does not care which is the best.
        bests = {reach(position, 'best') for position in positions.values()} - {'', None}
        return len(verdicts) > 1 or (len(bests) > 1 and verdicts != {'REVISE_ALL'})


def _error(moment: StepMoment) -> str | None:
    return str(moment.step.event.data.get('error') or '') or None


def _memory(moment: StepMoment) -> Any:
    return moment.state.memory


READERS: Mapping[str, Callable[[StepMoment], Any]] = {
    'cost': lambda moment: moment.ledger.usage.dollars,
    'tokens': lambda moment: moment.ledger.usage.total,
    'seconds': lambda moment: moment.ledger.meter.running,
    'step': lambda moment: moment.step.seq,
    'disagree': lambda moment: moment.disagree,
    'memory': _memory,
    'state': lambda moment: moment.step.entered[-1] if moment.step.entered else None,
    'entered': lambda moment: list(moment.step.entered),
    'left': lambda moment: list(moment.step.left),
    'event': lambda moment: moment.step.event.name,
    'attempt': lambda moment: moment.step.event.attempt,
    'loops': lambda moment: moment.loops,
    'text': lambda moment: moment.text,
    'tools': lambda moment: moment.tools,
    'agent': lambda moment: moment.agent,
    'role': lambda moment: moment.of_agent('role'),
    'model': lambda moment: moment.step.event.data.get('model') or moment.of_agent('model'),
    'error': _error,
    'score': lambda moment: moment.score,
    'data': lambda moment: moment.step.event.data,
}
