"""Supervisor: one agent plans, workers with roles do the tasks, another combines the results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.errors import EngineError
from engine.patterns.form_fields import task_field
from engine.patterns.supervisor.collaboration import CollaborationState, SupervisorPlan, order_tasks
from engine.patterns.supervisor.planner_seat import INPUTS, PLANNER_SEAT
from engine.patterns.supervisor.roles import SUPERVISOR, SYNTHESIZER, WORKERS, parse_role
from engine.patterns.supervisor.worker import worker_chart
from engine.records import Event
from engine.records.frozen import Form
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge
from engine.statechart.pattern import Pattern

ONE_AFTER_ANOTHER, SIDE_BY_SIDE = 'one after another', 'side by side'


async def _synthesize(
    think: Callable[[CallbackContext, Activity], Awaitable[dict[str, Any]]],
    scope: CallbackContext,
    activity: Activity,
) -> dict[str, Any]:
    """Combine the results. Raises `EngineError` if there are none."""
    memory = scope.state.memory
    assert isinstance(memory, CollaborationState)
    results = memory.completed_results
    if results and not any(result.success for result in results):
        listed = '; '.join(f'{result.task_id}: {result.output}' for result in results)
        which = f'all {len(results)} tasks' if len(results) > 1 else 'the task'
        raise EngineError(f'{which} failed: {listed}')
    return await think(scope, activity)


class Supervisor(Pattern):
    """A supervisor divides an objective, workers carry out the tasks, and their results become one answer."""

    roles: ClassVar[tuple[Role, ...]] = WORKERS
    """The workers' roles; subclasses may define others."""

    class Parameters(Form):
        """Launch form parameters."""

        objective: str = task_field(
            'Objective',
            'What the team should achieve, in a sentence or a page',
            'Should our bakery deliver by cargo bike? Give us a note that we can decide on.',
        )
        max_tasks: int = Field(
            4,
            ge=1,
            le=20,
            title='Task limit',
            description='Tasks planned beyond this are dropped',
        )
        execution: Literal['one after another', 'side by side'] = Field(
            'one after another',
            title='Workers',
            description='One task at a time, or all independent tasks at once, each with its own worker',
            json_schema_extra={'labels': {'one after another': 'Sequential', 'side by side': 'In parallel'}},
        )
        workers: int = Field(
            3,
            ge=1,
            le=6,
            title='Worker limit',
            description='How many tasks run in parallel',
            json_schema_extra={'when': {'execution': ['side by side']}},
        )
        more_roles: list[str] = Field(
            [],
            max_length=8,
            title='Additional roles',
            description='One per line: name: what this worker does',
            examples=[['translator: You translate into plain French.']],
        )

        @field_validator('more_roles')
        @classmethod
        def _are_roles(cls, lines: list[str]) -> list[str]:
            names = [parse_role(line).name for line in lines]
            for name in names:
                if names.count(name) > 1 or name in {
                    role.name for role in (*WORKERS, SUPERVISOR, SYNTHESIZER)
                }:
                    raise ValueError(f'there is already a role {name!r}')
            return lines

    Memory = CollaborationState
    inputs = INPUTS
    family = 'Sequential'
    suits = (
        'plan',
        'prepare',
        'organize',
        'coordinate',
        'project',
        'event',
        'launch',
        'divide',
        'tasks',
        'budget',
        'schedule',
        'deliver',
    )
    initial = 'planning'
    answer = 'final_output'
    caveat = 'caveat'
    words = {
        'next_task_is_ready': 'next task',
        'next_role_is_unknown': 'unknown role',
    }
    wait_texts = {'plan': 'your plan'}
    panels = {'result': {'shares': 'completed_results'}, 'plan': 'steps', 'messages': 'messages'}

    def states(self) -> list[dict[str, Any]]:
        """One worker state entered once per task, or one region per worker if there are several."""
        if self.parameters.execution == SIDE_BY_SIDE:
            workers = [
                {'name': name, **worker_chart(name, self.team, repeats=True, most=self.parameters.max_tasks)}
                for name in (f'worker_{number}' for number in range(1, self.parameters.workers + 1))
            ]
            executing: dict[str, Any] = {'parallel': workers}
        else:
            executing = worker_chart('worker', self.team, repeats=False)
        return [
            PLANNER_SEAT.add_to(agent('planning', SUPERVISOR, output=SupervisorPlan, then='delegate')),
            {'name': 'executing', 'most_visits': self.parameters.max_tasks, **executing},
            self._synthesizing(),
            {'name': 'complete', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'record_failure'},
        ]

    @staticmethod
    def _synthesizing() -> dict[str, Any]:
        """Return the synthesizing agent, which fails if no task succeeded."""
        state = agent('synthesizing', SYNTHESIZER, then='deliver')
        thinking = state['children'][0]
        thinking['invoke'] = partial(_synthesize, thinking['invoke'])
        return state

    def transitions(self) -> list[Any]:
        """With parallel workers, each takes the next task within its own region."""
        repeat_edge = ['done', 'executing', 'executing', 'has_pending_tasks']
        return [
            ['done', 'planning', 'executing', 'has_pending_tasks'],
            edge('done', 'planning', 'complete', unless='has_pending_tasks'),
            *([repeat_edge] if self.parameters.execution == ONE_AFTER_ANOTHER else []),
            edge('done', 'executing', 'synthesizing', unless='has_pending_tasks'),
            ['done', 'synthesizing', 'complete'],
            ['failed', '*', 'failed'],
            ['expired', '*', 'failed'],
        ]

    @property
    def team(self) -> tuple[Role, ...]:
        """The workers' roles, including those added in the form."""
        return (*self.roles, *map(parse_role, self.parameters.more_roles))

    def _is_known(self, role: str) -> bool:
        return any(member.name == role for member in self.team)

    def names_known_roles(self, memory: CollaborationState, event: Event) -> bool:
        """Every task begins with a role of the team and a colon."""
        role_names = {role.name for role in self.team}
        return {parse_role(line).name for line in event.data['tasks']} <= role_names

    def has_pending_tasks(self, memory: CollaborationState, event: Event) -> bool:
        """At least one task has not ended."""
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
        """Facts for the workers: the results so far."""
        return {'results': memory.completed_results}

    def prompt_planning(self, memory: CollaborationState) -> str:
        """The objective, the roles, and the maximum number of tasks."""
        roles = '\n'.join(f'- {role.name}: {role.instructions}' for role in self.team)
        return (
            f'Objective:\n{memory.objective}\n\nRoles in the team:\n{roles}\n\n'
            f'Divide the objective into at most {memory.max_tasks} tasks.'
        )

    def delegate(self, memory: CollaborationState, event: Event) -> None:
        """Adopt the plan, up to the maximum number of tasks."""
        plan = SupervisorPlan.model_validate(event.data['output'])
        tasks, most = order_tasks(plan.tasks), memory.max_tasks
        memory.plan = plan
        listed = '\n'.join(f'{task.task_id}: {task.assigned_to}: {task.description}' for task in tasks)
        memory.note('supervisor', 'team', 'plan', '\n'.join(filter(None, [plan.approach, listed])))
        if len(tasks) > most:
            cut = ', '.join(task.task_id for task in tasks[most:])
            memory.note('supervisor', 'user', 'limit', f'{len(tasks)} tasks were planned, at most {most} are '
                        f'allowed; dropped: {cut}')  # fmt: skip
        memory.delegate(tasks[:most])

    def prompt_synthesizing(self, memory: CollaborationState) -> str:
        """The objective and every result."""
        good = [result for result in memory.completed_results if result.success]
        bad = [result for result in memory.completed_results if not result.success]
        parts = [f'Objective:\n{memory.objective}']
        parts += [f'Task {result.task_id}, by the {result.agent_role}:\n{result.output}' for result in good]
        parts += [f'Task {result.task_id} failed: {result.output}' for result in bad]
        return '\n\n'.join([*parts, 'Combine this into one answer.'])

    def deliver(self, memory: CollaborationState, event: Event) -> None:
        """Store the synthesizer's text as the answer; failed tasks become its caveat."""
        memory.final_output = event.data['text']
        failed = [result for result in memory.completed_results if not result.success]
        if failed:
            memory.caveat = f'{len(failed)} of {len(memory.completed_results)} tasks failed'
        memory.note('synthesizer', 'user', 'answer', memory.final_output)

    def record_failure(self, memory: CollaborationState, event: Event) -> None:
        """Record why there is no answer."""
        why = event.data.get('error') or event.data.get('unfit') or f'{event.at} {event.name}'
        memory.note('supervisor', 'user', 'error', str(why))
