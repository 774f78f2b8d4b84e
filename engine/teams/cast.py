"""How an agent begins a visit: whom it plays, and the task that it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from engine.course import Scope
from engine.errors import PatternError
from engine.message import Message, ToolResult
from engine.records import Event
from engine.state import AgentState

if TYPE_CHECKING:
    from engine.agent import AgentSpec

T = TypeVar('T')


class Part(NamedTuple):
    """Whom an agent plays during one visit, where that is decided when its state is entered."""

    role: str
    visit: int = 1
    """The how-manieth of this role in the run it is: models that play a scenario go by it."""


def begin(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """Give the agent its task; a second visit goes on with the same conversation, unless it is cast anew."""
    if spec.cast:
        _recast(spec, scope)
    else:
        _visit(spec, scope)
    scope.state.tell(scope.path, anew=bool(spec.cast))


def _visit(spec: AgentSpec, scope: Scope) -> None:
    task = Message.of('user', _told(spec.prompt, 'prompt', str, scope))
    known = scope.state.agents.get(scope.path)
    if known is not None:
        if known.messages[-1].calls:
            # It was stopped before they were run; a provider wants an answer to each.
            known.messages.append(unanswered(known, 'This was not run: the work was stopped.'))
        known.messages.append(task)
        known.visits += 1
        known.turns = known.repairs = 0
        if known.reminders:
            known.reminders = 0
        if known.problem:
            known.problem = ''
        return
    instructions = scope.pattern.instructed.get(spec.role, spec.instructions)
    scope.state.agents[scope.path] = AgentState(
        role=spec.role, instructions=instructions, messages=_opening(instructions, task)
    )


def unanswered(agent: AgentState, text: str) -> Message:
    """Results for the calls of the last reply, none of which was run."""
    calls = agent.messages[-1].calls
    return Message(
        role='tool',
        parts=tuple(ToolResult(id=call.id, name=call.name, text=text, ok=False) for call in calls),
    )


def _recast(spec: AgentSpec, scope: Scope) -> None:
    part = _told(spec.cast, 'cast', Part, scope)
    role = spec.role_named(part.role)
    if role is None:
        known_roles = ', '.join(role.name for role in spec.roles)
        problem = f'there is no role {part.role!r} to play; there are: {known_roles}'
        raise PatternError(scope.pattern.name, problem, where=f'state {scope.path!r}')
    before = scope.state.agents.get(scope.path)
    task = Message.of('user', _told(spec.prompt, 'prompt', str, scope))
    instructions = scope.pattern.instructed.get(role.name, role.instructions)
    scope.state.agents[scope.path] = AgentState(
        role=role.name,
        instructions=instructions,
        messages=_opening(instructions, task),
        visits=part.visit,
        allowed=before.allowed if before else (),
    )


def _opening(instructions: str, task: Message) -> list[Message]:
    return [*([Message.of('system', instructions)] if instructions else []), task]


def _told(asked: str | Callable[[Any], T], what: str, kind: type[T], scope: Scope) -> T:
    """What the pattern says of memory: by a method of its, or by a function."""
    pattern, memory = scope.pattern, scope.state.memory
    name = asked if isinstance(asked, str) else f'{what} of {scope.path}'
    where = f'state {scope.path!r}'
    try:
        with scope.state.reading():
            answer = getattr(pattern, asked)(memory) if isinstance(asked, str) else asked(memory)
    except Exception as error:
        problem = f'{name!r} raised {type(error).__name__}: {error}'
        raise PatternError(pattern.name, problem, where=where) from error
    if not isinstance(answer, kind):
        needed = 'a text' if kind is str else f'a {kind.__name__}'
        problem = f'{name!r} must return {needed}, not {type(answer).__name__}'
        raise PatternError(pattern.name, problem, where=where)
    return answer
