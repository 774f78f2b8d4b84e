"""Stages: agents, or any callables, with the contract `process(state) -> state`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from pydantic import BaseModel

from engine.activity import Activity
from engine.agent import Role, agent
from engine.course import Scope
from engine.errors import EngineError
from engine.records import Event
from engine.task import TaskState

Process = Callable[[TaskState], TaskState | Mapping[str, Any] | Awaitable[TaskState | Mapping[str, Any]]]
"""Takes the state and returns it, or a mapping of the fields it changes (as a LangGraph node does); sync or async."""


class Stage:
    """A built-in stage: an agent that reads the task's state, and a way to put its answer into it."""

    role: ClassVar[Role]
    output: ClassVar[type[BaseModel] | None] = None

    def prompt(self, state: TaskState) -> str:
        """The agent's task."""
        raise NotImplementedError

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Write the answer (`text`, and `output` where a record was asked for) into the state."""
        raise NotImplementedError

    async def process(self, state: TaskState) -> TaskState:
        """Run this stage alone, outside any pipeline.

        Raises:
            EngineError: the agent failed; the message says why.
        """
        from engine.alone import run_alone

        return await run_alone(self, state)


def stage(
    name: str, work: Stage | Process, *, enter: str = '', within: float | None = None
) -> dict[str, Any]:
    """Make a state of a stage: an agent's chart, or a callable's (processing, done, failed).

    Args:
        name: the state's name.
        work: a built-in stage, or any callable of the contract.
        enter: an action for when the state is entered.
        within: seconds for a visit.
    """
    if isinstance(work, Stage):
        accept = partial(_accept, work)
        return agent(
            name, work.role, output=work.output, prompt=work.prompt, then=accept, enter=enter, within=within
        )
    return {
        'name': name,
        'initial': 'processing',
        'on_enter': enter or None,
        'within': within,
        'children': [
            {'name': 'processing', 'invoke': partial(_process, work)},
            {'name': 'done', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            {'trigger': 'done', 'source': 'processing', 'dest': 'done', 'after': take_state},
            {'trigger': 'failed', 'source': 'processing', 'dest': 'failed'},
        ],
    }


def take_state(scope: Scope, event: Event) -> None:
    """Write the fields that a callable changed into the run's memory."""
    memory = scope.state.memory
    for name in event.data['changed']:
        setattr(memory, name, getattr(type(memory).model_validate(event.data['state']), name))


def _accept(work: Stage, scope: Scope, event: Event) -> None:
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    work.accept(memory, event.data)


async def _process(work: Process, scope: Scope, activity: Activity) -> dict[str, Any]:
    state = scope.state.detached()
    assert isinstance(state, TaskState)
    before = state.to_dict()
    # A callable that is not async may block: it gets a thread of its own.
    result = work(state) if _is_async(work) else await asyncio.to_thread(work, state)
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, TaskState):
        after = result.to_dict()
    elif isinstance(result, Mapping):
        after = TaskState.from_dict({**before, **result}).to_dict()
    else:
        raise EngineError(f'a stage must return the state or a mapping, not {type(result).__name__}')
    return {'state': after, 'changed': [name for name in after if after[name] != before[name]]}


def _is_async(work: Process) -> bool:
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, '__call__', None))  # noqa: B004
