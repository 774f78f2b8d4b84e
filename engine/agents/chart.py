"""The agent's own chart, nested in a workflow's: thinking, using tools, approving, done, failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from engine.agents import activities, completion
from engine.agents.actions import count_batch, is_mid_external_turn, record_reply, record_results
from engine.agents.criteria import Criteria
from engine.agents.role_assignment import begin_visit, cancelled_results
from engine.agents.spec import AgentSpec, Role, RoleAssignment
from engine.records import ANSWER, Event
from engine.records.message import Message, ToolCall
from engine.records.question import OpenBatch
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import FINAL_STATES, edge
from engine.statechart.retry import Retry
from engine.statechart.run_state import AgentState
from engine.tools.acp.agents import AGENT_PREFIX

GUARD_PHRASES = {
    'is_unfit': 'answer invalid',
    'out_of_turns': 'no turns left',
    'may_repair': 'correction not asked for yet',
    'may_remind': 'reminder possible',
    'names_calls': 'changed arguments fit',
    'turns_left': 'turns remaining',
}
"""The guards of this chart and the criterion of turns in a few words; a pattern names its own by `words`."""


def agent(  # noqa: PLR0913  (all but the name have defaults)
    name: str,
    role: Role | str | Sequence[Role] = '',
    *,
    cast: str | Callable[..., RoleAssignment] = '',
    output: type[BaseModel] | None = None,
    prompt: str | Callable[..., str] = '',
    then: str | Callable[[CallbackContext, Event], None] = '',
    enter: str | Callable[..., None] = '',
    tools: tuple[str, ...] | None = None,
    turns: int = 12,
    folder: str = '',
    until: Criteria | None = None,
    may_be_silent: bool = False,
    within: float | str | Callable[..., float | None] | None = None,
    retry: Retry | None = None,
) -> dict[str, Any]:
    """Build a state that contains an agent.

    Args:
        name: the state's name.
        role: its role; a plain name makes a role without instructions; if there are several, it plays one
            per visit.
        cast: with several roles, the method (or a function of memory) that picks one, as a `RoleAssignment`,
            when the state is entered. Each visit then starts a new conversation.
        output: the record its answer must match; if it does not, the agent is asked again once, then fails.
        prompt: the method (or a function) that returns its task; `prompt_<name>` by default.
        then: the action that handles its answer; `event.data` has `text` and, with `output`, `output`.
        enter: an action for when the state is entered, before the agent gets its task.
        tools: names of its tools, if not the role's; `mcp:<server>` means all tools of an MCP server, and
            `mcp:<server>/<tool>` one of them.
        turns: maximum number of model replies per visit.
        folder: the name of its folder, by default its own; agents that name the same one share it (and may
            not work in it at the same time).
        until: when its work is complete. An agent that stops earlier is reminded of what is missing and
            continues; the maximum number of turns is then that of the criteria.
        may_be_silent: whether its answer may be empty once it has used tools, because its work is in its
            files. Otherwise an agent without `until` that answers nothing is asked again once, then fails.
        within: seconds for the whole visit, or the method (or a function) that returns them; then the state
            gets `expired`.
        retry: how model calls are retried.

    Returns:
        The state. It ends with `done` or `failed`, addressed to it.
    """
    several = () if isinstance(role, (Role, str)) else tuple(role)
    if bool(several) != bool(cast):
        raise TypeError(f'agent {name!r}: several roles need a cast, and a cast needs several roles')
    who = role if isinstance(role, Role) else _bare_role(role if isinstance(role, str) and role else name)
    role_tools = tuple(dict.fromkeys(tool for item in several or (who,) for tool in item.tools))
    spec = AgentSpec(
        role=who.name,
        instructions=who.instructions,
        tools=role_tools if tools is None else tools,
        output=output,
        prompt=prompt or f'prompt_{name}',
        turns=until.turns if until else turns,
        folder=folder,
        until=until,
        may_be_silent=may_be_silent,
        roles=several,
        cast=cast,
    )
    on_reply = [record_reply, partial(completion.store_final_text, spec)] if until else [record_reply]
    on_answer = [*on_reply, then] if then else on_reply
    on_calls = [record_reply, partial(completion.store_text_with_calls, spec)] if until else record_reply
    on_give_up = partial(completion.give_up, spec) if until else give_up
    on_results = [partial(completion.record_criteria, spec)] if until else []
    no_turns_left = partial(out_of_turns, spec)
    complete = completion.criteria_guards(spec) if until else None
    unfinished = [
        edge('done', 'thinking', 'thinking', partial(completion.may_remind, spec),
             [calls_tools, no_turns_left], after=[*on_reply, partial(completion.remind, spec)]),
        edge('done', 'thinking', 'failed', unless=calls_tools, after=[*on_reply, on_give_up]),
    ] if until else []  # fmt: skip
    return {
        'name': name,
        'agent': spec,
        'initial': 'thinking',
        'on_enter': [enter, partial(begin_visit, spec)] if enter else partial(begin_visit, spec),
        'within': within,
        'children': [
            {'name': 'thinking', 'invoke': partial(activities.call_model, spec), 'retry': retry or Retry()},
            {'name': 'using_tools', 'invoke': partial(activities.call_tools, spec)},
            {'name': 'approving', 'waits': 'approval'},
            {'name': 'asking', 'waits': 'answer'},
            *FINAL_STATES,
        ],
        'transitions': [
            edge('done', 'thinking', 'done', complete, [calls_tools, is_unfit], after=on_answer),
            edge('done', 'thinking', 'thinking', [is_unfit, may_repair], after=[record_reply, ask_again]),
            edge('done', 'thinking', 'failed', is_unfit, after=[record_reply, give_up]),
            *unfinished,
            edge('done', 'thinking', 'failed', no_turns_left, after=[*on_reply, on_give_up]),
            edge('done', 'thinking', 'approving', needs_approval, after=on_calls),
            edge('done', 'thinking', 'using_tools', after=on_calls),
            edge('done', 'using_tools', 'thinking', after=[record_results, *on_results]),
            edge('asked', 'using_tools', 'asking', after=store_question),
            edge(ANSWER, 'asking', 'using_tools', after=store_answer),
            edge('approve', 'approving', 'using_tools', names_calls, after=apply_permission),
            edge('deny', 'approving', 'thinking', after=record_denial),
            edge('failed', ['thinking', 'using_tools'], 'failed', after=give_up),
        ],
    }


def _bare_role(name: str) -> Role:
    return Role(name=name, title=name, instructions='')


def calls_tools(scope: CallbackContext, event: Event) -> bool:
    """The reply requests tools."""
    return any(part['kind'] == 'call' for part in event.data['message']['parts'])


def needs_approval(scope: CallbackContext, event: Event) -> bool:
    """One of the requested tools needs approval."""
    return bool(set(event.data.get('approval', ())) - set(_agent(scope).allowed))


def out_of_turns(spec: AgentSpec, scope: CallbackContext, event: Event) -> bool:
    """The agent has used all its turns."""
    return not is_mid_external_turn(event) and _agent(scope).turns + 1 >= spec.turns


def is_unfit(scope: CallbackContext, event: Event) -> bool:
    """The answer does not have the required form, was cut off, or is empty."""
    return bool(event.data.get('unfit'))


def may_repair(scope: CallbackContext, event: Event) -> bool:
    """The agent has not been asked to correct its answer yet."""
    return _agent(scope).repairs == 0


def names_calls(scope: CallbackContext, event: Event) -> bool:
    """The arguments a person changed belong to calls that wait, and can be changed."""
    edited = event.data.get('arguments') or {}
    if edited and _agent(scope).model.startswith(AGENT_PREFIX):
        return False  # The call of an external agent can only be allowed or denied as it is.
    call_ids = {call.id for call in _agent(scope).messages[-1].calls}
    return isinstance(edited, Mapping) and call_ids.issuperset(edited)


def apply_permission(scope: CallbackContext, event: Event) -> None:
    """Apply the arguments a person changed, and remember tools allowed for the rest of the run."""
    agent = _agent(scope)
    reply = agent.messages[-1]
    edited = event.data.get('arguments') or {}
    if edited:
        parts = [
            replace(part, arguments=_json_text(edited[part.id]))
            if isinstance(part, ToolCall) and part.id in edited
            else part
            for part in reply.parts
        ]
        agent.messages[-1] = replace(reply, parts=tuple(parts))
    if event.data.get('always'):
        agent.allowed = tuple(sorted({*agent.allowed, *(call.name for call in reply.calls)}))


def record_denial(scope: CallbackContext, event: Event) -> None:
    """Add results saying that a person denied the agent's calls, and why."""
    agent = _agent(scope)
    reason = event.data.get('reason') or 'no reason was given'
    agent.messages.append(cancelled_results(agent, f'A person did not allow this: {reason}'))
    scope.state.deliver_notices(scope.path)


def store_question(scope: CallbackContext, event: Event) -> None:
    """Store a tool server's question to a person, and the results of the calls that have ended."""
    agent = _agent(scope)
    count_batch(agent, event)
    agent.batch = (agent.batch or OpenBatch()).with_question(event.data)


def store_answer(scope: CallbackContext, event: Event) -> None:
    """Store a person's answer for the call that is waiting for it."""
    agent = _agent(scope)
    if agent.batch and agent.batch.question:
        agent.batch = agent.batch.with_answer(event.data)


def ask_again(scope: CallbackContext, event: Event) -> None:
    """Ask for another answer, with the problem of this one."""
    agent = _agent(scope)
    agent.repairs += 1
    request = event.data.get('again', 'Answer again, as JSON that fits.')
    agent.messages.append(Message.of('user', f'Your answer does not fit: {event.data["unfit"]}\n{request}'))
    scope.state.deliver_notices(scope.path)


def give_up(scope: CallbackContext, event: Event) -> None:
    """Record why the agent failed."""
    agent = scope.state.agents.get(scope.path)
    problem = event.data.get('error') or event.data.get('unfit') or 'it used all its turns without an answer'
    if agent is not None:
        agent.problem = str(problem)


def _json_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _agent(scope: CallbackContext) -> AgentState:
    return scope.state.agents[scope.path]
