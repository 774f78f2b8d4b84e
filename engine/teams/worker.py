"""A worker's chart: it takes the next task of a team, plays its role, and says what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from engine.agent import Role, agent
from engine.course import Scope
from engine.edge import edge, lost
from engine.records import Event
from engine.teams.cast import Part
from engine.teams.collaboration import CollaborationState, Delivery, TaskResult


def worker(name: str, roles: Sequence[Role], *, again: bool) -> dict[str, Any]:
    """What is inside the state of a worker.

    Args:
        name: tells workers apart in memory.
        roles: those that it may play, one a task.
        again: whether it takes the next task when one has ended, until all are taken; else it has finished.

    The pattern has the guards: `next_task_is_ready`, `next_role_is_unknown`, `nothing_is_left`.
    """
    then = 'taking' if again else 'finished'
    leave = ['always', 'taking', 'finished', 'nothing_is_left']
    return {
        'initial': 'taking',
        'children': [
            {'name': 'taking'},
            agent(
                'working',
                roles,
                cast=partial(cast, name),
                prompt=partial(brief, name),
                output=Delivery,
                then=partial(keep, name),
            ),
            {'name': 'finished', 'final': True},
        ],
        'transitions': [
            edge('always', 'taking', 'working', 'next_task_is_ready', before=partial(take, name)),
            edge('always', 'taking', then, 'next_role_is_unknown', before=partial(refuse, name)),
            *([leave] if again else []),
            ['done', 'working', then],
            *lost('working', then, before=partial(lose, name)),
        ],
    }


def cast(worker: str, memory: CollaborationState) -> Part:
    """Whom a worker plays: the role of its task, and the how-manieth of that role it is in the plan."""
    task = memory.task_of(worker)
    same = [step.id for step in memory.steps if step.role == task.assigned_to]
    return Part(task.assigned_to, same.index(task.task_id) + 1 if task.task_id in same else 1)


def brief(worker: str, memory: CollaborationState) -> str:
    """A worker's task, and what there is to build on."""
    task = memory.task_of(worker)
    found = '\n'.join(
        f'- {result.agent_role} (task {result.task_id}{"" if result.success else ", failed"})'
        for result in memory.completed_results
    )
    known = f'\n\nResults so far, to be read with get_previous:\n{found}' if found else ''
    return (
        f'The objective of the team:\n{memory.objective}\n\n'
        f'Your task ({task.task_id}):\n{task.description}{known}'
    )


def take(worker: str, scope: Scope, event: Event) -> None:
    """Take the next task."""
    memory = _state(scope)
    task = memory.take(worker)
    memory.note('supervisor', task.assigned_to, 'task', task.description)


def refuse(worker: str, scope: Scope, event: Event) -> None:
    """There is nobody to do the next task."""
    memory = _state(scope)
    task = memory.take(worker)
    _end(memory, worker, success=False, output=f'No worker has the role {task.assigned_to!r}')


def keep(worker: str, scope: Scope, event: Event) -> None:
    """The task has ended, with a result."""
    delivery = Delivery.model_validate(event.data['output'])
    _end(_state(scope), worker, success=delivery.success, output=delivery.output)


def lose(worker: str, scope: Scope, event: Event) -> None:
    """The worker failed, or took too long."""
    why = str(event.data.get('error') or f'the worker {event.name}')
    _end(_state(scope), worker, success=False, output=why)


def _state(scope: Scope) -> CollaborationState:
    memory = scope.state.memory
    assert isinstance(memory, CollaborationState)
    return memory


def _end(memory: CollaborationState, worker: str, *, success: bool, output: str) -> None:
    task = memory.task_of(worker)
    memory.complete_task(
        TaskResult(task_id=task.task_id, agent_role=task.assigned_to, success=success, output=output)
    )
    memory.note(task.assigned_to, 'supervisor', 'result' if success else 'failure', output)
