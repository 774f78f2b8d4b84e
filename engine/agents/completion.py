"""Guards and actions that enforce an agent's completion criteria; one guard per criterion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.agents.criteria import Check, Evidence, strip_signal
from engine.agents.spec import AgentSpec
from engine.records import Event
from engine.records.message import Message
from engine.records.products import Artifact, Criterion
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.run_state import AgentState
from engine.tools.artifacts import as_text

MAX_LAST_TEXT = 500
"""Maximum number of characters of an agent's last reply quoted in the reason for its failure."""


def criteria_guards(spec: AgentSpec) -> list[Callable[[CallbackContext, Event], bool]]:
    """Return a guard for each criterion, named after it."""
    assert spec.until is not None
    return [_guard(spec, check) for check in spec.until.all]


def may_remind(spec: AgentSpec, scope: CallbackContext, event: Event) -> bool:
    """The agent has not been reminded too often of what is missing."""
    assert spec.until is not None
    return scope.state.agents[scope.path].reminders < spec.until.reminders


def store_final_text(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Store the agent's text as the artifact made from its final text."""
    agent = scope.state.agents[scope.path]
    artifact = _text_artifact(spec, scope, event)
    if artifact is not None:
        store_artifacts(agent, artifact)
    record_criteria(spec, scope, event)


def store_text_with_calls(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Store the text alongside the agent's tool calls, if its text is the work itself."""
    if _stores_text_with_calls(spec):
        store_final_text(spec, scope, event)


def record_criteria(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Record which criteria are met."""
    assert spec.until is not None
    agent = scope.state.agents[scope.path]
    criteria = _evaluate_criteria(spec, scope, event)
    turns_left = max(0, spec.turns - agent.turns)
    has_turns = Criterion(
        name='turns_left', holds=turns_left > 0, missing='' if turns_left else 'it has had all its turns'
    )
    if (*criteria, has_turns) != agent.criteria:
        agent.criteria = (*criteria, has_turns)


def remind(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Tell the agent what is missing."""
    agent = scope.state.agents[scope.path]
    agent.reminders += 1
    listed = ''.join(f'\n- {item}' for item in list_missing(agent))
    agent.messages.append(Message.of('user', f'This is not complete yet. Still missing:{listed}\nContinue.'))


def give_up(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Record what was missing when an agent stopped or ran out of turns."""
    agent = scope.state.agents[scope.path]
    stopped = f'it stopped {agent.reminders + 1} times' if agent.reminders else 'it stopped'
    if event.data['message'] and any(part['kind'] == 'call' for part in event.data['message']['parts']):
        stopped = f'it used all its {spec.turns} turns'
    evidence = _evidence(spec, scope, event)
    reasons = {check.missing: check.reason(evidence) for check in spec.until.all} if spec.until else {}
    missing = [
        f'{item} ({reason})' if (reason := reasons.get(item)) else item for item in list_missing(agent)
    ]
    agent.problem = f'{stopped}; still missing: {"; ".join(missing) or "nothing"}'
    reason = strip_signal(spec.until.signal, str(event.data.get('text', ''))) if spec.until else ''
    if reason:
        agent.problem += f'. It said last: {reason[:MAX_LAST_TEXT]}'


def list_missing(agent: AgentState) -> list[str]:
    """Return what is missing, one text per criterion."""
    return [item.missing for item in agent.criteria if not item.holds and item.name != 'turns_left']


def store_artifacts(agent: AgentState, artifacts: Mapping[str, Artifact]) -> None:
    """Add artifacts to an agent's state, replacing those of the same names."""
    if artifacts and not agent.artifacts:  # The journal omits this field in states without artifacts.
        agent.artifacts = dict(artifacts)
        return
    for name, item in artifacts.items():
        agent.artifacts[name] = item


def _guard(spec: AgentSpec, check: Check) -> Callable[[CallbackContext, Event], bool]:
    def passes(scope: CallbackContext, event: Event) -> bool:
        criteria = _evaluate_criteria(spec, scope, event)
        return any(item.name == check.name and (item.holds or not item.missing) for item in criteria)

    passes.__name__ = check.name
    passes.__doc__ = f'The criterion “{check.name.replace("_", " ")}” is met, or is not needed.'
    return passes


def _evaluate_criteria(spec: AgentSpec, scope: CallbackContext, event: Event) -> tuple[Criterion, ...]:
    """Return for each criterion whether it is met, and what is missing: nothing if it is not needed."""
    assert spec.until is not None
    evidence = _evidence(spec, scope, event)
    results = {check.name: bool(check.holds(evidence)) for check in spec.until.all}
    signal = spec.until.signal_name
    others = [holds for name, holds in results.items() if name != signal]
    enough = spec.until.rule == 'either' and (
        (bool(signal) and results[signal]) or (bool(others) and all(others))
    )
    return tuple(
        Criterion(
            name=check.name,
            holds=results[check.name],
            missing='' if results[check.name] or enough else check.missing,
        )
        for check in spec.until.all
    )


def _stores_text_with_calls(spec: AgentSpec) -> bool:
    """Whether text alongside tool calls counts as content: if it is required, and not just a summary."""
    until = spec.until
    return until is not None and until.words in until.artifacts


def _evidence(spec: AgentSpec, scope: CallbackContext, event: Event) -> Evidence:
    """Return the agent's evidence as it is or, for a reply, as it will be with that."""
    reply = event.data.get('message') or {'parts': ()}
    text = ''.join(part['text'] for part in reply['parts'] if part['kind'] == 'text')
    agent = scope.state.agents[scope.path]
    artifacts = {name: artifact.value for name, artifact in agent.artifacts.items()}
    if 'message' in event.data:  # Artifacts that prove an external agent's work.
        for name, artifact in (event.data.get('artifacts') or {}).items():
            artifacts.pop(name, None)
            if artifact is not None:
                artifacts[name] = artifact['value']
    words = _text_artifact(spec, scope, event) or {}
    return Evidence(
        artifacts=artifacts | {name: artifact.value for name, artifact in words.items()}, text=text
    )


def _text_artifact(spec: AgentSpec, scope: CallbackContext, event: Event) -> dict[str, Artifact] | None:
    """Return the artifact made from this reply, if any."""
    until, reply = spec.until, event.data.get('message')
    if until is None or not until.words or not reply or event.data.get('unfit'):
        return None
    calls = any(part['kind'] == 'call' for part in reply['parts'])
    if calls and not _stores_text_with_calls(spec):
        return None
    value: Any = event.data.get('output')
    previous = scope.state.agents[scope.path].artifacts.get(until.words)
    if value is None:
        value = strip_signal(until.signal, str(event.data.get('text', '')))
        # A closing remark is not a new version of a page written earlier.
        if not value or (previous and (previous.by or len(value) < previous.size / 2)):
            return None
    return {until.words: Artifact(value=value, size=len(as_text(value)))}
