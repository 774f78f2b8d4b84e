"""The simulator's choices and moments in words."""

from __future__ import annotations

from engine.operations.rehearsal.simulator import Choice, Kind, Moment
from engine.records import Event, Shape, StatePath, parent_of
from ui.formatting.diagram.agents import agent_name
from ui.formatting.steps import active_text, duration, path_text
from ui.formatting.values import capitalize

ICONS = {
    Kind.REPLY: 'forum',
    Kind.CALLS: 'build',
    Kind.TOOLS: 'build',
    Kind.WORK: 'check_circle',
    Kind.FAILURE: 'error_outline',
    Kind.TIME: 'schedule',
    Kind.PERSON: 'person',
    Kind.BUDGET: 'savings',
}
ENDINGS = {'done': 'The run is done.', 'failed': 'The run has failed.'}


def choice_text(choice: Choice, shape: Shape) -> str:
    """Return what may come, in words: *Reviewer answers*."""
    who = _who(shape, choice)
    if choice.name == 'asked':
        return f'A tool of {who} asks a person'
    limit = duration(choice.limit or 0)
    return {
        Kind.REPLY: f'{who} answers',
        Kind.CALLS: f'{who} calls tools',
        Kind.TOOLS: f'Tools of {who} end',
        Kind.WORK: f'{who} ends',
        Kind.FAILURE: f'{who} fails',
        Kind.TIME: f'{who} takes longer than {limit}',
        Kind.PERSON: f'A person sends {choice.name.replace("_", " ")}',
        Kind.BUDGET: 'The budget is spent',
    }[choice.kind]


def _who(shape: Shape, choice: Choice) -> str:
    path = choice.agent or choice.at
    if is_agent(shape, path):
        return agent_name(shape, path)
    state = shape.state(path)
    if state is None or not state.caption:
        return capitalize(path_text(path))
    alike = [other for other in shape.states if other.caption == state.caption]
    return f'{state.caption} ({path_text(state.parent)})' if len(alike) > 1 else state.caption


def event_text(event: Event, shape: Shape) -> str:
    """Return what came, in words, for the list of steps."""
    if event.name == 'start':
        return 'Start'
    agent = parent_of(event.at)
    who = agent_name(shape, agent) if is_agent(shape, agent) else capitalize(path_text(event.at))
    words = {'done': 'done', 'failed': 'failed', 'expired': 'out of time', 'asked': 'asks a person'}
    return f'{who}: {words.get(str(event.name), str(event.name).replace("_", " "))}'


def moment_text(moment: Moment, shape: Shape) -> str:
    """Return where a moment is, in words."""
    return ENDINGS[moment.ending] if moment.ending else capitalize(active_text(_shown(moment, shape)))


def _shown(moment: Moment, shape: Shape) -> list[StatePath]:
    """Return the active states, with an agent instead of its state in which its model is called."""
    return [
        parent_of(path) if path.endswith('.thinking') and is_agent(shape, parent_of(path)) else path
        for path in moment.active
    ]


def is_agent(shape: Shape, path: str) -> bool:
    """Return whether the state at a path is an agent."""
    state = shape.state(path)
    return bool(state and state.role)
