"""Actions that record a model's reply or tool results in an agent's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.agents import completion
from engine.records import Event
from engine.records.message import Image, Message, ToolResult, message_of
from engine.records.payloads import BatchData, ReplyData, payload
from engine.records.products import Artifact, PlanEntry
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.run_state import AgentState


def record_reply(scope: CallbackContext, event: Event) -> None:
    """Add the reply to the conversation."""
    agent, reply = scope.state.agents[scope.path], payload(ReplyData, event)
    agent.messages.append(message_of(reply['message']))
    if not is_mid_external_turn(event):
        agent.turns += 1
    model = reply.get('model', '')
    if model != agent.model:
        agent.model = model
    _count_tokens(agent, reply)
    if 'session' in reply:
        agent.session = dict(reply['session'])
    if 'plan' in reply:
        agent.plan = tuple(PlanEntry.model_validate(item) for item in reply['plan'])
    if artifacts := reply.get('artifacts'):
        _update_artifacts(agent, artifacts)
    _count(agent, reply)


def is_mid_external_turn(event: Event) -> bool:
    """Whether an external agent is in the middle of its turn: its tool calls do not count as turns."""
    parts = event.data['message']['parts']
    return bool(event.data.get('external')) and any(part['kind'] == 'call' for part in parts)


def record_results(scope: CallbackContext, event: Event) -> None:
    """Add the results of tools to the conversation."""
    agent, batch = scope.state.agents[scope.path], payload(BatchData, event)
    results = tuple(
        ToolResult(id=item['id'], name=item['name'], text=item['text'], ok=item['ok'])
        for item in batch['results']
    )
    images = tuple(Image(**item) for item in batch.get('images', ()))
    agent.messages.append(Message(role='tool', parts=(*results, *images)))
    if agent.batch:
        agent.batch = None
    count_batch(agent, event)
    scope.state.deliver_notices(scope.path)


def count_batch(agent: AgentState, event: Event) -> None:
    """Record the notes, artifacts and usage of a batch of tools."""
    batch = payload(BatchData, event)
    if batch['store'] != agent.store:
        agent.store = dict(batch['store'])
    if artifacts := batch.get('artifacts'):
        _update_artifacts(agent, artifacts)
    _count_tokens(agent, batch)
    _count(agent, batch)


def _update_artifacts(agent: AgentState, artifacts: Mapping[str, Any]) -> None:
    for name in [name for name, item in artifacts.items() if item is None and name in agent.artifacts]:
        del agent.artifacts[name]
    completion.store_artifacts(
        agent, {name: Artifact.model_validate(item) for name, item in artifacts.items() if item}
    )


def _count_tokens(agent: AgentState, data: ReplyData | BatchData) -> None:
    if usage := data.get('usage'):
        agent.input_tokens += int(usage.get('input', 0))
        agent.output_tokens += int(usage.get('output', 0))


def _count(agent: AgentState, data: ReplyData | BatchData) -> None:
    """Add the duration and cost of a reply or a batch of tools, where they were measured."""
    if seconds := data.get('seconds'):
        agent.seconds = round(agent.seconds + float(seconds), 3)
    usage = data.get('usage', {})
    if dollars := usage.get('dollars'):
        agent.cost += float(dollars)
    if unpriced := usage.get('unpriced'):
        agent.unpriced += int(unpriced)
