"""Stages: agents, or any callables, with the contract `process(state) -> state`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.errors import EngineError
from engine.patterns.pipeline.audit_trail import note_failure, with_audit_trail
from engine.patterns.pipeline.callable_stage import (
    Process,
    Processor,
    apply_changes,
    call_stage,
    callable_of,
    check_callable,
)
from engine.patterns.pipeline.single_run import run_blocking, run_single
from engine.patterns.pipeline.task_state import TaskState, TaskStatus
from engine.records import Event, Status
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import FINAL_STATES, edge
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import listify

if TYPE_CHECKING:
    from engine.configuration.catalog import Catalog


BUILT_IN = frozenset(TaskStatus)
"""The statuses that do not come from custom stages."""


class Stage:
    """A built-in stage: an agent that reads the task's state and stores its answer there."""

    role: ClassVar[Role]
    status: ClassVar[str] = ''
    """The task's status while it works outside a pipeline; in one, its state decides."""
    output: ClassVar[type[BaseModel] | None] = None

    def prompt(self, state: TaskState) -> str:
        """The agent's task."""
        raise NotImplementedError

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Write the answer (`text`, and `output` if a record was requested) into the state."""
        raise NotImplementedError

    def begin(self, state: TaskState) -> TaskState:
        """Return the state with which it starts outside a pipeline."""
        return state

    def visit(self, state: TaskState) -> int:
        """The number of this visit, from 1; an agent called alone knows it from the state only."""
        return 1

    def process(self, state: TaskState, *, catalog: Catalog | None = None, model: str = '') -> TaskState:
        """Run this stage alone, outside any pipeline; `state` is unchanged.

        The result has this stage's status and, in a revision, its number as `iteration`. In asynchronous
        code use `aprocess`, which does not block the event loop.

        Args:
            state: what the stage reads.
            catalog: models and tools. By default those of the enclosing run; outside a run, the engine's own.
            model: the agent's model. By default that of the enclosing run; outside a run, the scripted one.

        Raises:
            EngineError: the agent failed; the message says why.
        """
        return run_blocking(self.aprocess(state, catalog=catalog, model=model))

    async def aprocess(
        self, state: TaskState, *, catalog: Catalog | None = None, model: str = ''
    ) -> TaskState:
        """`process` for asynchronous code."""
        work = self
        start = self.begin(state)

        class SingleStageRun(Pattern):
            """One stage."""

            Memory = TaskState
            initial = 'working'
            states = (
                stage('working', work, status=work.status or state.status),
                {'name': 'over', 'final': True},
            )
            transitions = (['done', 'working', 'over'],)

        models = {self.role.name: model} if model else {}
        outcome, result = await run_single(SingleStageRun, start, catalog=catalog, models=models)
        if outcome.status is not Status.DONE:
            raise EngineError(f'{self.role.title} failed: {outcome.error}')
        return result


def stage(
    name: str,
    work: Stage | Process | Processor,
    *,
    status: str = '',
    enter: str = '',
    within: float | None = None,
) -> dict[str, Any]:
    """Make a state for a stage: an agent's chart or a callable's (processing, done, failed).

    Args:
        name: the state's name.
        work: a built-in stage, any callable that follows the contract (LangGraph's nodes, Runnables and
            compiled graphs do), or an object with such a `process`.
        status: the task's status in this stage; by default the name, in capitals.
        enter: an action to run on entering the state.
        within: time limit per visit, in seconds.

    Raises:
        PatternError: the callable cannot be called with a state alone.
    """
    set_status = partial(_set_status, status or name.upper())
    if isinstance(work, Stage):
        state = agent(
            name,
            work.role,
            output=work.output,
            prompt=work.prompt,
            then=partial(_accept, work),
            within=within,
        )
        visit = state['on_enter']
        entry = [set_status, *([enter] if enter else []), visit, partial(_count_visit, work)]
        return with_audit_trail({**state, 'on_enter': entry})
    function = callable_of(work)
    check_callable(name, function)
    return {
        'name': name,
        'initial': 'processing',
        'on_enter': [set_status, *([enter] if enter else [])],
        'within': within,
        'children': [
            {'name': 'processing', 'invoke': partial(call_stage, function), 'most_calls': math.inf},
            *FINAL_STATES,
        ],
        'transitions': [
            edge('done', 'processing', 'done', after=apply_changes),
            edge('failed', 'processing', 'failed', after=note_failure),
        ],
    }


def status_of(state: Mapping[str, Any]) -> str:
    """Return the task's status in a state made by `stage`; for any other state, its name in capitals."""
    for callback in listify(state.get('on_enter')):
        if isinstance(callback, partial) and callback.func is _set_status:
            return str(callback.args[0])
    return str(state['name']).upper()


def _set_status(status: str, scope: CallbackContext, event: Event) -> None:
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    memory.status = TaskStatus(status) if status in BUILT_IN else status


def _count_visit(work: Stage, scope: CallbackContext, event: Event) -> None:
    """Continue the count of earlier calls: a new conversation begins at one."""
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    agent = scope.state.agents[scope.path]
    if agent.visits == 1 and (visit := work.visit(memory)) > 1:
        agent.visits = visit


def _accept(work: Stage, scope: CallbackContext, event: Event) -> None:
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    work.accept(memory, event.data)
