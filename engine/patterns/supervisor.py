"""Supervisor: one agent plans, workers with roles carry the tasks out, one puts the results together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from engine.agent import Role, agent
from engine.agents.team import SUPERVISOR, SYNTHESIZER, WORKERS, role_of
from engine.fields import Form, task_field
from engine.pattern import Pattern
from engine.records import Event
from engine.teams.collaboration import CollaborationState, SupervisorPlan, in_order
from engine.teams.worker import worker

ONE, MANY = 'one after another', 'side by side'


class Supervisor(Pattern):
    """A supervisor divides an objective, workers carry the tasks out, and their results become one answer."""

    roles: ClassVar[tuple[Role, ...]] = WORKERS
    """The workers' roles; a pattern of your own may have others."""

    class Parameters(Form):
        """What the launch form asks for."""

        objective: str = task_field(
            'Objective',
            'What the team is to bring about, in a sentence or a page',
            'Should our bakery deliver by cargo bike? Give us a note that we can decide on.',
        )
        max_tasks: int = Field(
            4,
            ge=1,
            le=20,
            title='Tasks at most',
            description='What the supervisor plans beyond that is left out',
        )
        execution: Literal['one after another', 'side by side'] = Field(
            'one after another',
            title='Workers',
            description='One task at a time; or all that wait for no other, each with a worker of its own',
        )
        workers: int = Field(
            3, ge=1, le=6, title='Workers at most', description='How many tasks are carried out side by side'
        )
        more_roles: list[str] = Field(
            [],
            max_length=8,
            title='Further roles',
            description='One a line: a name, a colon, and what such a worker does',
            examples=[['translator: You translate into plain French.']],
        )

        @field_validator('more_roles')
        @classmethod
        def _are_roles(cls, lines: list[str]) -> list[str]:
            names = [role_of(line).name for line in lines]
            for name in names:
                if names.count(name) > 1 or name in {
                    role.name for role in (*WORKERS, SUPERVISOR, SYNTHESIZER)
                }:
                    raise ValueError(f'there is a role {name!r} already')
            return lines

    Memory = CollaborationState
    family = 'In turn'
    initial = 'planning'
    answer = 'final_output'
    plan = 'steps'
    messages = 'messages'

    def states(self) -> list[dict[str, Any]]:
        """One worker whose state is entered for each task; or one region for each of several workers."""
        if self.parameters.execution == MANY:
            workers = [
                {'name': name, **worker(name, self.team, again=True)}
                for name in (f'worker_{number}' for number in range(1, self.parameters.workers + 1))
            ]
            executing: dict[str, Any] = {'parallel': workers}
        else:
            executing = worker('worker', self.team, again=False)
        return [
            agent('planning', SUPERVISOR, output=SupervisorPlan, then='delegate'),
            {'name': 'executing', **executing},
            agent('synthesizing', SYNTHESIZER, then='deliver'),
            {'name': 'complete', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'give_up'},
        ]

    def transitions(self) -> list[Any]:
        """Where workers are side by side, each takes the next task within its region."""
        again = ['done', 'executing', 'executing', 'has_pending_tasks']
        return [
            ['done', 'planning', 'executing', 'has_pending_tasks'],
            {'trigger': 'done', 'source': 'planning', 'dest': 'complete', 'unless': 'has_pending_tasks'},
            *([again] if self.parameters.execution == ONE else []),
            {'trigger': 'done', 'source': 'executing', 'dest': 'synthesizing', 'unless': 'has_pending_tasks'},
            ['done', 'synthesizing', 'complete'],
            ['failed', '*', 'failed'],
            ['expired', '*', 'failed'],
        ]

    @property
    def team(self) -> tuple[Role, ...]:
        """The workers' roles, with those that the form adds."""
        return (*self.roles, *map(role_of, self.parameters.more_roles))

    def _is_known(self, role: str) -> bool:
        return any(known.name == role for known in self.team)

    def has_pending_tasks(self, memory: CollaborationState, event: Event) -> bool:
        """A task has not ended."""
        return bool(memory.pending_tasks)

    def next_task_is_ready(self, memory: CollaborationState, event: Event) -> bool:
        """The next task can begin, and there is a role for it."""
        task = memory.ready_task
        return task is not None and self._is_known(task.assigned_to)

    def next_role_is_unknown(self, memory: CollaborationState, event: Event) -> bool:
        """The next task can begin, and there is no role for it."""
        task = memory.ready_task
        return task is not None and not self._is_known(task.assigned_to)

    def nothing_is_left(self, memory: CollaborationState, event: Event) -> bool:
        """Every task has been taken."""
        return not memory.free_tasks

    def facts(self, memory: CollaborationState) -> Mapping[str, Any]:
        """What workers may read: the results so far."""
        return {'results': memory.completed_results}

    def prompt_planning(self, memory: CollaborationState) -> str:
        """The objective, the roles, and how many tasks there may be."""
        roles = '\n'.join(f'- {role.name}: {role.instructions}' for role in self.team)
        return (
            f'Objective:\n{memory.objective}\n\nThe roles of the team:\n{roles}\n\n'
            f'Divide the objective into at most {memory.max_tasks} tasks.'
        )

    def delegate(self, memory: CollaborationState, event: Event) -> None:
        """Take the plan over, as far as it is allowed."""
        plan = SupervisorPlan.model_validate(event.data['output'])
        tasks, most = in_order(plan.tasks), memory.max_tasks
        memory.plan = plan
        listed = '\n'.join(f'{task.task_id}: {task.assigned_to}: {task.description}' for task in tasks)
        memory.note('supervisor', 'team', 'plan', '\n'.join(filter(None, [plan.approach, listed])))
        if len(tasks) > most:
            cut = ', '.join(task.task_id for task in tasks[most:])
            memory.note('supervisor', 'user', 'limit', f'{len(tasks)} tasks were planned and {most} are '
                        f'allowed; left out: {cut}')  # fmt: skip
        memory.delegate(tasks[:most])

    def prompt_synthesizing(self, memory: CollaborationState) -> str:
        """The objective and every result."""
        good = [result for result in memory.completed_results if result.success]
        bad = [result for result in memory.completed_results if not result.success]
        parts = [f'Objective:\n{memory.objective}']
        parts += [f'Task {result.task_id}, by the {result.agent_role}:\n{result.output}' for result in good]
        parts += [f'Task {result.task_id} failed: {result.output}' for result in bad]
        return '\n\n'.join([*parts, 'Put this together to one answer.'])

    def deliver(self, memory: CollaborationState, event: Event) -> None:
        """The answer is there."""
        memory.final_output = event.data['text']
        memory.note('synthesizer', 'user', 'answer', memory.final_output)

    def give_up(self, memory: CollaborationState, event: Event) -> None:
        """There is no answer; say why."""
        why = event.data.get('error') or event.data.get('unfit') or f'{event.at} {event.name}'
        memory.note('supervisor', 'user', 'error', str(why))
