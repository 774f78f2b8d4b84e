"""Summary of a parallel state that has ended: what its agents did, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records import Usage, View
from ui.formatting.steps import duration
from ui.formatting.usage import usage_summary
from ui.formatting.values import count
from ui.pages.run.agents.stages import Stage
from ui.replay.history import History, latest


def join_summary(stage: Stage, view: View, history: History) -> str:
    """Summarize what the agents of a stage did up to this step; '' if none has started."""
    agents = {path: view.agents[path] for path in stage.agents if path in view.agents}
    if not agents:
        return ''
    failed = sum(bool(agent.get('problem')) for agent in agents.values())
    tools = sum(
        part['kind'] == 'call'
        for agent in agents.values()
        for message in agent.get('messages', ())
        for part in message['parts']
    )
    spent = sum((view.spending[path].total for path in agents if path in view.spending), Usage())
    stay = latest(history.stays, stage.key, view.seq)
    facts = [
        f'joined at step {stay.seq}' if stay else '',
        f'{sum(map(_has_answered, agents.values()))} of {len(agents)} answered',
        f'{failed} failed' if failed else '',
        count(tools, 'tool call') if tools else '',
        usage_summary(spent),
        duration(stay.until - stay.since) if stay else '',
    ]
    return ' · '.join(filter(None, facts))


def _has_answered(agent: Mapping[str, Any]) -> bool:
    """Return whether its last message is an answer rather than a call or a task."""
    last = (agent.get('messages') or [{'role': '', 'parts': ()}])[-1]
    asks = any(part['kind'] == 'call' for part in last['parts'])
    return not agent.get('problem') and last['role'] == 'assistant' and not asks
