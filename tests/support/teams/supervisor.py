"""A team for tests: a fake model that plans, works and synthesizes, and shorthands for its tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import Conductor, LocalConductor
from engine.journal import Journal, MemoryJournal
from engine.models.protocol import ModelRequest
from engine.patterns import DelegatedTask
from engine.patterns.supervisor.pattern import Supervisor
from engine.records import RunId
from engine.tools import Tool
from engine.tools.builtin.research.get_previous import get_previous
from tests.support.harness import FakeModel, HastyClock, catalog

Planned = dict[str, Any]


def plan_task(task_id: str, role: str = 'researcher', *after: str, priority: int = 3) -> Planned:
    """A task as a model writes it into a plan."""
    return {
        'task_id': task_id,
        'assigned_to': role,
        'description': f'do {task_id}',
        'depends_on': list(after),
        'priority': priority,
    }


def delegate(task_id: str, role: str = 'researcher', *after: str) -> DelegatedTask:
    return DelegatedTask.model_validate(plan_task(task_id, role, *after))


def task_in(request: ModelRequest) -> str:
    """The id of a worker's task."""
    return request.messages[1].text.partition('Your task (')[2].partition(')')[0]


def succeed(request: ModelRequest) -> Any:
    """A worker's answer: it succeeds."""
    return {'success': True, 'output': f'{task_in(request)} by {request.hints.role}'}


def team_reply(
    tasks: Sequence[Planned], work: Callable[[ModelRequest], Any] = succeed
) -> Callable[[ModelRequest], Any]:
    """The supervisor plans `tasks`, workers answer with `work`, the synthesizer lists the results."""

    def reply(request: ModelRequest) -> Any:
        if request.hints.role == 'supervisor':
            return {'approach': 'so', 'tasks': list(tasks)}
        return 'all in all' if request.hints.role == 'synthesizer' else work(request)

    return reply


def team(
    model: FakeModel, *, journal: Journal | None = None, tools: tuple[Tool, ...] = (), **options: Any
) -> Conductor:
    """A conductor that has the supervisor and this model."""
    own_catalog = catalog(model, Supervisor, tools=(get_previous, *tools))
    return LocalConductor(journal or MemoryJournal(), catalog=own_catalog, clock=HastyClock(), **options)


async def begin(conductor: Conductor, pattern: str = 'supervisor', **parameters: Any) -> RunId:
    return (await conductor.start(pattern, {'objective': 'a bridge', **parameters})).id
