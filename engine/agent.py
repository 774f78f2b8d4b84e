"""The agent's own chart, nested in a workflow's: thinking, using tools, approving, done, failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from engine import converse
from engine.activity import Retry
from engine.course import Scope
from engine.dynamic import criteria
from engine.dynamic.criteria import Criteria
from engine.edge import ENDS, edge
from engine.message import Message, ToolCall
from engine.records import Event
from engine.state import AgentState
from engine.taking import keep_reply, keep_results
from engine.teams.cast import Part, begin, unanswered


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Who an agent is: its name, its standing instructions and its tools."""

    name: str
    title: str
    instructions: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSpec:
    """What the states of one agent know of it."""

    role: str
    instructions: str
    tools: tuple[str, ...]
    output: type[BaseModel] | None
    prompt: str | Callable[[Any], str]
    """What gives the agent its task from memory: a method of the pattern, or a function."""
    turns: int
    folder: str
    """The name of its folder; where it is '', its path."""
    roles: tuple[Role, ...] = ()
    """Whom it may play, where `cast` says so when its state is entered; `role` is then the state's name."""
    cast: str | Callable[[Any], Part] = ''
    until: Criteria | None = None
    """When its work is complete; where None, when it stops calling tools."""

    @property
    def cast_list(self) -> tuple[Role, ...]:
        """Everybody it may be."""
        alone = Role(name=self.role, title=self.role, instructions=self.instructions, tools=self.tools)
        return self.roles or (alone,)

    def role_named(self, name: str) -> Role | None:
        """One of those that it may play."""
        return next((role for role in self.roles if role.name == name), None)


def agent(  # noqa: PLR0913  (all but the name have defaults)
    name: str,
    role: Role | str | Sequence[Role] = '',
    *,
    cast: str | Callable[[Any], Part] = '',
    output: type[BaseModel] | None = None,
    prompt: str | Callable[[Any], str] = '',
    then: str | Callable[[Scope, Event], None] = '',
    enter: str = '',
    tools: tuple[str, ...] | None = None,
    turns: int = 12,
    folder: str = '',
    until: Criteria | None = None,
    within: float | str | None = None,
    retry: Retry | None = None,
) -> dict[str, Any]:
    """Make a state that holds an agent.

    Args:
        name: the state's name.
        role: who it is; a plain name makes a role without instructions of its own; several are those that it
            may play, one a visit.
        cast: with several roles, the method (or a function of memory) that picks one, as a `Part`, when the
            state is entered. Each visit is then a conversation of its own.
        output: the record its answer must fit; asked for once more when it does not, then the agent fails.
        prompt: the method that gives it its task; `prompt_<name>` by default.
        then: the action that takes its answer; `event.data` has `text` and, with `output`, `output`.
        enter: an action for when the state is entered, before the agent gets its task.
        tools: names of its tools, if not the role's; `mcp:<server>` is all of an MCP server's, and
            `mcp:<server>/<tool>` one of them.
        turns: model replies per visit before it is stopped.
        folder: the name of its folder; agents that name the same one share it (and may not work in it at the
            same time). One of its own by default.
        until: when its work is complete. An agent that stops before is told what is missing, and goes on; its
            turns are those of the criteria.
        within: seconds for the whole visit, or the method that gives them; then the state gets `expired`.
        retry: how model calls are tried again.

    It ends in `done` or `failed`, addressed to the state.
    """
    several = () if isinstance(role, (Role, str)) else tuple(role)
    if bool(several) != bool(cast):
        raise TypeError(f'agent {name!r}: several roles need a cast, and a cast needs several roles')
    who = role if isinstance(role, Role) else _plain(role if isinstance(role, str) and role else name)
    own = tuple(dict.fromkeys(tool for one in several or (who,) for tool in one.tools))
    spec = AgentSpec(
        role=who.name,
        instructions=who.instructions,
        tools=own if tools is None else tools,
        output=output,
        prompt=prompt or f'prompt_{name}',
        turns=until.turns if until else turns,
        folder=folder,
        until=until,
        roles=several,
        cast=cast,
    )
    reply = [keep_reply, partial(criteria.take_words, spec)] if until else [keep_reply]
    answered = [*reply, then] if then else reply
    given_up = partial(criteria.give_up, spec) if until else give_up
    results = [partial(criteria.note, spec)] if until else []
    spent = partial(out_of_turns, spec)
    complete = criteria.guards(spec) if until else None
    unfinished = [
        edge('done', 'thinking', 'thinking', partial(criteria.may_remind, spec), [calls_tools, spent],
             after=[*reply, partial(criteria.remind, spec)]),
        edge('done', 'thinking', 'failed', unless=calls_tools, after=[*reply, given_up]),
    ] if until else []  # fmt: skip
    return {
        'name': name,
        'agent': spec,
        'initial': 'thinking',
        'on_enter': [enter, partial(begin, spec)] if enter else partial(begin, spec),
        'within': within,
        'children': [
            {'name': 'thinking', 'invoke': partial(converse.think, spec), 'retry': retry or Retry()},
            {'name': 'using_tools', 'invoke': partial(converse.use_tools, spec)},
            {'name': 'approving', 'waits': 'approval'},
            *ENDS,
        ],
        'transitions': [
            edge('done', 'thinking', 'done', complete, [calls_tools, is_unfit], after=answered),
            edge('done', 'thinking', 'thinking', [is_unfit, may_repair], after=[keep_reply, ask_again]),
            edge('done', 'thinking', 'failed', is_unfit, after=[keep_reply, give_up]),
            *unfinished,
            edge('done', 'thinking', 'failed', spent, after=[*reply, given_up]),
            edge('done', 'thinking', 'approving', needs_approval, after=keep_reply),
            edge('done', 'thinking', 'using_tools', after=keep_reply),
            edge('done', 'using_tools', 'thinking', after=[keep_results, *results]),
            edge('approve', 'approving', 'using_tools', names_calls, after=keep_permission),
            edge('deny', 'approving', 'thinking', after=keep_denial),
            edge('failed', ['thinking', 'using_tools'], 'failed', after=give_up),
        ],
    }


def _plain(name: str) -> Role:
    return Role(name=name, title=name, instructions='')


def calls_tools(scope: Scope, event: Event) -> bool:
    """The reply asks for tools."""
    return any(part['kind'] == 'call' for part in event.data['message']['parts'])


def needs_approval(scope: Scope, event: Event) -> bool:
    """One of the tools asked for must be allowed by a person first."""
    return bool(set(event.data.get('approval', ())) - set(_agent(scope).allowed))


def out_of_turns(spec: AgentSpec, scope: Scope, event: Event) -> bool:
    """The agent has had all its turns."""
    return _agent(scope).turns + 1 >= spec.turns


def is_unfit(scope: Scope, event: Event) -> bool:
    """The answer does not fit the record that was asked for."""
    return bool(event.data.get('unfit'))


def may_repair(scope: Scope, event: Event) -> bool:
    """The agent has not been asked to mend its answer yet."""
    return _agent(scope).repairs == 0


def names_calls(scope: Scope, event: Event) -> bool:
    """The arguments a person changed belong to calls that wait."""
    edited = event.data.get('arguments') or {}
    known = {call.id for call in _agent(scope).messages[-1].calls}
    return isinstance(edited, Mapping) and known.issuperset(edited)


def keep_permission(scope: Scope, event: Event) -> None:
    """Take over the arguments that a person changed; remember tools allowed for the rest of the run."""
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


def keep_denial(scope: Scope, event: Event) -> None:
    """Tell the agent that a person said no, and why."""
    agent = _agent(scope)
    reason = event.data.get('reason') or 'no reason was given'
    agent.messages.append(unanswered(agent, f'A person did not allow this: {reason}'))
    scope.state.tell(scope.path)


def ask_again(scope: Scope, event: Event) -> None:
    """Ask once more, with what was wrong."""
    agent = _agent(scope)
    agent.repairs += 1
    agent.messages.append(
        Message.of(
            'user', f'Your answer does not fit: {event.data["unfit"]}\nAnswer again, as JSON that fits.'
        )
    )
    scope.state.tell(scope.path)


def give_up(scope: Scope, event: Event) -> None:
    """Write down why the agent failed."""
    agent = scope.state.agents.get(scope.path)
    problem = event.data.get('error') or event.data.get('unfit') or 'it used all its turns without an answer'
    if agent is not None:
        agent.problem = str(problem)


def _json_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _agent(scope: Scope) -> AgentState:
    return scope.state.agents[scope.path]


def message_of(data: Mapping[str, Any]) -> Message:
    """Read a message as it stands in an event or in a view's data."""
    return converse.MESSAGE.validate_python(data)
