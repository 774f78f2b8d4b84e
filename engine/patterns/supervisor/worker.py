"""A worker's chart: takes a team's next task, plays its role and reports the result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from engine.agents.chart import agent
from engine.agents.spec import Role, RoleAssignment
from engine.patterns.supervisor.collaboration import CollaborationState, TaskResult, WorkerAnswer
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge, failure_edges


def worker_chart(name: str, roles: Sequence[Role], *, repeats: bool, most: int = 1) -> dict[str, Any]:
    """The substates of a worker.

    Args:
        name: distinguishes workers in memory.
        roles: roles it may play, one per task.
        repeats: whether it keeps taking tasks until all are taken, or finishes after one.
        most: maximum number of tasks it takes.

    The pattern must define the guards `next_task_is_ready`, `next_role_is_unknown` and `nothing_is_left`.
    """
    next_state = 'taking' if repeats else 'finished'
    finish_edge = ['always', 'taking', 'finished', 'nothing_is_left']
    return {
        'initial': 'taking',
        'children': [
            {'name': 'taking'},
            {
                **agent(
                    'working',
                    roles,
                    cast=partial(assign_role, name),
                    prompt=partial(task_prompt, name),
                    output=WorkerAnswer,
                    then=partial(record_result, name),
                ),
                'most_visits': most,
            },
            {'name': 'finished', 'final': True},
        ],
        'transitions': [
            edge('always', 'taking', 'working', 'next_task_is_ready', before=partial(take_task, name)),
            edge('always', 'taking', next_state, 'next_role_is_unknown', before=partial(reject_task, name)),
            *([finish_edge] if repeats else []),
            ['done', 'working', next_state],
            *failure_edges('working', next_state, before=partial(record_failure, name)),
        ],
    }


def assign_role(worker: str, memory: CollaborationState) -> RoleAssignment:
    """Return the role for a worker's task, and the task's number among those with that role."""
    task = memory.task_of(worker)
    same = [step.id for step in memory.steps if step.role == task.assigned_to]
    return RoleAssignment(task.assigned_to, same.index(task.task_id) + 1 if task.task_id in same else 1)


def task_prompt(worker: str, memory: CollaborationState) -> str:
    """Return a worker's task, with the results it can build on."""
    task = memory.task_of(worker)
    results = '\n'.join(
        f'- {result.agent_role} (task {result.task_id}{"" if result.success else ", failed"})'
        for result in memory.completed_results
    )
    results_section = f'\n\nResults so far (read them with get_previous):\n{results}' if results else ''
    return (
        f"The team's objective:\n{memory.objective}\n\n"
        f'Your task ({task.task_id}):\n{task.description}{results_section}'
    )


def take_task(worker: str, scope: CallbackContext, event: Event) -> None:
    """Assign the next ready task to `worker`."""
    memory = _state(scope)
    task = memory.assign_next(worker)
    memory.note('supervisor', task.assigned_to, 'task', task.description)


def reject_task(worker: str, scope: CallbackContext, event: Event) -> None:
    """Reject the next task: no worker has its role."""
    memory = _state(scope)
    task = memory.assign_next(worker)
    _end_task(memory, worker, success=False, output=f'No worker has the role {task.assigned_to!r}')


def record_result(worker: str, scope: CallbackContext, event: Event) -> None:
    """Record the task's result."""
    delivery = WorkerAnswer.model_validate(event.data['output'])
    _end_task(_state(scope), worker, success=delivery.success, output=delivery.output)


def record_failure(worker: str, scope: CallbackContext, event: Event) -> None:
    """Record that the worker failed or timed out."""
    why = str(event.data.get('error') or 'the worker timed out')
    _end_task(_state(scope), worker, success=False, output=why)


def _state(scope: CallbackContext) -> CollaborationState:
    memory = scope.state.memory
    assert isinstance(memory, CollaborationState)
    return memory


def _end_task(memory: CollaborationState, worker: str, *, success: bool, output: str) -> None:
    task = memory.task_of(worker)
    memory.complete_task(
        TaskResult(task_id=task.task_id, agent_role=task.assigned_to, success=success, output=output)
    )
    memory.note(task.assigned_to, 'supervisor', 'result' if success else 'failure', output)
