"""Stages: agents, or any callables, with the contract `process(state) -> state`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from engine.activity import Activity
from engine.agent import Role, agent
from engine.course import Scope
from engine.edge import ENDS
from engine.errors import EngineError
from engine.records import Event
from engine.task import TaskState

if TYPE_CHECKING:
    from engine.catalog import Catalog

Process = Callable[[TaskState], TaskState | Mapping[str, Any] | Awaitable[TaskState | Mapping[str, Any]]]
"""Takes the state and returns it, or (as a LangGraph node) a mapping of the fields it changes; sync or
async."""


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

    async def process(self, state: TaskState, *, catalog: Catalog | None = None) -> TaskState:
        """Run this stage alone, outside any pipeline; `state` stays as it is.

        Args:
            state: what the stage reads.
            catalog: models and tools; what the engine brings by default.

        Raises:
            EngineError: the agent failed; the message says why.
        """
        from engine.alone import run_alone

        return await run_alone(self, state, catalog)


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
            *ENDS,
        ],
        'transitions': [
            {'trigger': 'done', 'source': 'processing', 'dest': 'done', 'after': take_state},
            {'trigger': 'failed', 'source': 'processing', 'dest': 'failed'},
        ],
    }


def take_state(scope: Scope, event: Event) -> None:
    """Write the fields that a callable changed into the run's memory."""
    memory = scope.state.memory
    given = type(memory).model_validate({**to_jsonable_python(memory), **event.data['changes']})
    for name in event.data['changes']:
        setattr(memory, name, getattr(given, name))


def _accept(work: Stage, scope: Scope, event: Event) -> None:
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    work.accept(memory, event.data)


async def _process(work: Process, scope: Scope, activity: Activity) -> dict[str, Any]:
    state = scope.state.detached()
    assert isinstance(state, TaskState)
    before = state.to_dict()
    # A callable that is not async may block: it gets a thread of its own.
    result = work(state) if _is_async(work) else await asyncio.to_thread(_called, work, state)
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, TaskState):
        after = result.to_dict()
    elif isinstance(result, Mapping):
        after = type(state).from_dict({**before, **result}).to_dict()
    else:
        raise EngineError(f'a stage must return the state or a mapping, not {type(result).__name__}')
    # What the orchestrator alone decides on is not the stage's to change.
    return {
        'changes': {name: after[name] for name in after if after[name] != before[name] and name not in KEPT}
    }


def _called(work: Process, state: TaskState) -> Any:
    try:
        return work(state)
    except StopIteration as error:  # A future cannot carry it: whoever waits would wait for ever.
        raise RuntimeError(f'StopIteration: {error}') from error


KEPT = frozenset({'task', 'status', 'iteration', 'max_iterations', 'error'})
"""Fields that no callable may change."""


def _is_async(work: Process) -> bool:
    return inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, '__call__', None))  # noqa: B004
