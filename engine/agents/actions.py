"""Actions that record a model's reply or tool results in an agent's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.agents import completion
from engine.records import Event
from engine.records.message import Image, Message, ToolResult, message_of
from engine.records.products import Artifact, PlanEntry
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.run_state import AgentState


def record_reply(scope: CallbackContext, event: Event) -> None:
    """Add the reply to the conversation."""
    agent = scope.state.agents[scope.path]
    agent.messages.append(message_of(event.data['message']))
    if not is_mid_external_turn(event):
        agent.turns += 1
    model = str(event.data.get('model', ''))
    if model != agent.model:
        agent.model = model
    usage = event.data.get('usage', {})
    agent.input_tokens += int(usage.get('input', 0))
    agent.output_tokens += int(usage.get('output', 0))
    if 'session' in event.data:
        agent.session = dict(event.data['session'])
    if 'plan' in event.data:
        agent.plan = tuple(PlanEntry.model_validate(item) for item in event.data['plan'])
    if artifacts := event.data.get('artifacts'):
        _update_artifacts(agent, artifacts)
    _count(agent, event)


def is_mid_external_turn(event: Event) -> bool:
    """Whether an external agent is in the middle of its turn: its tool calls do not count as turns."""
    parts = event.data['message']['parts']
    return bool(event.data.get('external')) and any(part['kind'] == 'call' for part in parts)


def record_results(scope: CallbackContext, event: Event) -> None:
    """Add the results of tools to the conversation."""
    agent = scope.state.agents[scope.path]
    results = tuple(ToolResult(**{**item, 'kind': 'result'}) for item in event.data['results'])
    images = tuple(Image(**item) for item in event.data.get('images', ()))
    agent.messages.append(Message(role='tool', parts=(*results, *images)))
    if agent.batch:
        agent.batch = None
    count_batch(agent, event)
    scope.state.deliver_notices(scope.path)


def count_batch(agent: AgentState, event: Event) -> None:
    """Record the notes, artifacts and usage of a batch of tools."""
    if event.data['store'] != agent.store:
        agent.store = dict(event.data['store'])
    if artifacts := event.data.get('artifacts'):
        _update_artifacts(agent, artifacts)
    if usage := event.data.get('usage'):
        agent.input_tokens += int(usage.get('input', 0))
        agent.output_tokens += int(usage.get('output', 0))
    _count(agent, event)


def _update_artifacts(agent: AgentState, artifacts: Mapping[str, Any]) -> None:
    for name in [name for name, item in artifacts.items() if item is None and name in agent.artifacts]:
        del agent.artifacts[name]
    completion.store_artifacts(
        agent, {name: Artifact.model_validate(item) for name, item in artifacts.items() if item}
    )


def _count(agent: AgentState, event: Event) -> None:
    """Add the duration and cost of a reply or a batch of tools, where they were measured."""
    if seconds := event.data.get('seconds'):
        agent.seconds = round(agent.seconds + float(seconds), 3)
    usage = event.data.get('usage') or {}
    if dollars := usage.get('dollars'):
        agent.cost += float(dollars)
    if unpriced := usage.get('unpriced'):
        agent.unpriced += int(unpriced)
