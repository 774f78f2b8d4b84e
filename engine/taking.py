"""Taking: a reply, or the results of tools, become part of an agent's state."""

from __future__ import annotations

from engine import converse
from engine.course import Scope
from engine.dynamic import criteria
from engine.dynamic.artifacts import Artifact
from engine.message import Message, ToolResult
from engine.records import Event
from engine.state import AgentState


def keep_reply(scope: Scope, event: Event) -> None:
    """Add the reply to the conversation."""
    agent = scope.state.agents[scope.path]
    agent.messages.append(converse.MESSAGE.validate_python(event.data['message']))
    agent.turns += 1
    model = str(event.data.get('model', ''))
    if model != agent.model:
        agent.model = model
    usage = event.data.get('usage', {})
    agent.input_tokens += int(usage.get('input', 0))
    agent.output_tokens += int(usage.get('output', 0))
    _count(agent, event)


def keep_results(scope: Scope, event: Event) -> None:
    """Add the tools' results to the conversation."""
    agent = scope.state.agents[scope.path]
    results = tuple(ToolResult(**{**item, 'kind': 'result'}) for item in event.data['results'])
    agent.messages.append(Message(role='tool', parts=results))
    if event.data['store'] != agent.store:
        agent.store = dict(event.data['store'])
    if made := event.data.get('artifacts'):
        dropped = [name for name, item in made.items() if item is None and name in agent.artifacts]
        for name in dropped:
            del agent.artifacts[name]
        criteria.put(agent, {name: Artifact.model_validate(item) for name, item in made.items() if item})
    if usage := event.data.get('usage'):
        agent.input_tokens += int(usage.get('input', 0))
        agent.output_tokens += int(usage.get('output', 0))
    _count(agent, event)
    scope.state.tell(scope.path)


def _count(agent: AgentState, event: Event) -> None:
    """Add up the time and the money that a reply or a batch of tools took, where they were measured."""
    if seconds := event.data.get('seconds'):
        agent.seconds = round(agent.seconds + float(seconds), 3)
    usage = event.data.get('usage') or {}
    if dollars := usage.get('dollars'):
        agent.cost += float(dollars)
    if unpriced := usage.get('unpriced'):
        agent.unpriced += int(unpriced)
