"""Role assignment: starts an agent's visit by assigning its role and its task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.agents.spec import AgentSpec, RoleAssignment
from engine.errors import PatternError
from engine.records import Event
from engine.records.message import Message, ToolResult
from engine.statechart.decision_cache import CallbackContext, call_with_context
from engine.statechart.run_state import AgentState
from engine.statechart.validation import accepts_arguments

T = TypeVar('T')


def begin_visit(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Give the agent its task; later visits continue its conversation unless it gets a new role."""
    if spec.cast:
        _assign_role(spec, scope, event)
    else:
        _visit(spec, scope, event)
    scope.state.deliver_notices(scope.path, restarted=bool(spec.cast))


def _visit(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    task = Message.of('user', _evaluate(spec.prompt, 'prompt', str, scope, event))
    state = scope.state.agents.get(scope.path)
    if state is not None:
        if state.messages[-1].calls:
            # It was stopped before they ran, but providers expect a result for each call.
            state.messages.append(cancelled_results(state, 'This was not run: the work was stopped.'))
        state.messages.append(task)
        state.visits += 1
        state.turns = state.repairs = 0
        if state.reminders:
            state.reminders = 0
        if state.problem:
            state.problem = ''
        return
    instructions = scope.pattern.instruction_overrides.get(spec.role, spec.instructions)
    scope.state.agents[scope.path] = AgentState(
        role=spec.role, instructions=instructions, messages=_first_messages(instructions, task)
    )


def cancelled_results(agent: AgentState, text: str) -> Message:
    """Return results for the calls of the last reply, none of which ran."""
    calls = agent.messages[-1].calls
    return Message(
        role='tool',
        parts=tuple(ToolResult(id=call.id, name=call.name, text=text, ok=False) for call in calls),
    )


def _assign_role(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    assignment = _evaluate(spec.cast, 'cast', RoleAssignment, scope, event)
    role = spec.find_role(assignment.role)
    if role is None:
        known_roles = ', '.join(role.name for role in spec.roles)
        problem = f'there is no role {assignment.role!r} to play; available: {known_roles}'
        raise PatternError(scope.pattern.name, problem, where=f'state {scope.path!r}')
    previous = scope.state.agents.get(scope.path)
    task = Message.of('user', _evaluate(spec.prompt, 'prompt', str, scope, event))
    instructions = scope.pattern.instruction_overrides.get(role.name, role.instructions)
    scope.state.agents[scope.path] = AgentState(
        role=role.name,
        instructions=instructions,
        messages=_first_messages(instructions, task),
        visits=assignment.visit,
        allowed=previous.allowed if previous else (),
    )


def _first_messages(instructions: str, task: Message) -> list[Message]:
    return [*([Message.of('system', instructions)] if instructions else []), task]


def _evaluate(
    callback: str | Callable[..., T], what: str, kind: type[T], scope: CallbackContext, event: Event
) -> T:
    """Call a method of the pattern, or a function, with memory and, if it requires it, the event."""
    pattern, memory = scope.pattern, scope.state.memory
    name = callback if isinstance(callback, str) else f'{what} of {scope.path}'
    where = f'state {scope.path!r}'
    try:
        with scope.state.reading():
            function = getattr(pattern, callback) if isinstance(callback, str) else callback
            if accepts_arguments(function, 1):
                answer = function(memory)
            else:
                answer = call_with_context(function, scope.state, scope.path, event)
    except Exception as error:
        problem = f'{name!r} raised {type(error).__name__}: {error}'
        raise PatternError(pattern.name, problem, where=where) from error
    if not isinstance(answer, kind):
        needed = 'a string' if kind is str else f'a {kind.__name__}'
        problem = f'{name!r} must return {needed}, not {type(answer).__name__}'
        raise PatternError(pattern.name, problem, where=where)
    return answer
