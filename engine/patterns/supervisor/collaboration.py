"""The records of a collaboration: plan, tasks, results, messages and state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from engine.patterns.pipeline.task_state import AgentMessage
from engine.records import FILLER, Event, Origin
from engine.records.frozen import FrozenModel
from engine.records.products import PlanItem, StepState
from engine.statechart.memory import Memory

MAX_RESULT = 1_000
"""Maximum characters of a result in the checklist; the full text is among the results."""


def _normalize_name(text: str) -> str:
    return text.strip().lower()


class _Record(FrozenModel):
    # Models may number their tasks instead of naming them.
    model_config = ConfigDict(coerce_numbers_to_str=True)


class DelegatedTask(_Record):
    """One part of the objective, for one worker."""

    task_id: str = Field(min_length=1, max_length=80, description='A short name, unique within the plan')
    assigned_to: Annotated[str, AfterValidator(_normalize_name)] = Field(
        min_length=1, description='The role that does it, one of those listed'
    )
    description: str = Field(min_length=1, description='What to do, understandable on its own')
    depends_on: tuple[str, ...] = Field(
        default=(), description='The task_ids whose results it needs; empty if it can start immediately'
    )
    priority: int = Field(default=3, ge=1, le=5, description='From 1 (most urgent) to 5 (can wait)')


class SupervisorPlan(_Record):
    """The tasks that make up an objective. Ids are unique, and dependencies name tasks and form no cycle."""

    approach: str = Field(default='', description='Why it is divided this way, in a sentence or two')
    tasks: tuple[DelegatedTask, ...] = Field(
        default=(), description='The tasks; none if there is nothing to do'
    )

    @model_validator(mode='after')
    def _can_be_carried_out(self) -> Self:
        order_tasks(self.tasks)
        return self


class WorkerAnswer(_Record):
    """The answer of a worker."""

    @classmethod
    def from_prose(cls, text: str) -> Self:
        """Use prose as the answer if the worker, asked again, still gives no record."""
        return cls(success=True, output=text)

    success: bool = Field(description='Whether the task is done')
    output: str = Field(description='The complete result, in Markdown; if it failed, what prevented success')


class TaskResult(_Record):
    """What a worker delivered for a task, or why it failed."""

    task_id: str
    agent_role: str
    success: bool
    output: str


class CollaborationResult(_Record):
    """The outcome of a collaboration: all results, and the answer made of them."""

    objective: str
    success: bool
    """Whether every task succeeded; also true if there were none."""
    task_results: tuple[TaskResult, ...] = ()
    """In the order they ended."""
    final_output: str = ''
    messages_exchanged: int = 0
    origins: tuple[Origin, ...] = ()
    """Where the models' replies came from: `live`, `simulated`, `stubbed` or `replayed`."""

    @property
    def simulated(self) -> bool:
        """Whether no model wrote some part of it: it may be filler."""
        return not FILLER.isdisjoint(self.origins)


def order_tasks(tasks: Iterable[DelegatedTask], ended: Collection[str] = ()) -> list[DelegatedTask]:
    """Order tasks after their dependencies, most urgent first among those ready.

    Args:
        tasks: the tasks as planned.
        ended: ids of finished tasks, which count as satisfied dependencies.

    Raises:
        ValueError: duplicate ids, unknown dependencies, or a dependency cycle.
    """
    remaining = list(tasks)
    ids = [task.task_id for task in remaining]
    for task in remaining:
        if ids.count(task.task_id) > 1:
            raise ValueError(f'two tasks have the task_id {task.task_id!r}')
        for needed in task.depends_on:
            if needed not in ids and needed not in ended:
                raise ValueError(f'task {task.task_id!r} depends on {needed!r}, and there is no such task')
    ordered: list[DelegatedTask] = []
    while remaining:
        free = [
            task
            for task in remaining
            if not {other.task_id for other in remaining}.intersection(task.depends_on)
        ]
        if not free:
            cycle = ', '.join(repr(task.task_id) for task in remaining)
            raise ValueError(f'these tasks form a dependency cycle: {cycle}')
        ordered.append(min(free, key=lambda task: task.priority))
        remaining.remove(ordered[-1])
    return ordered


class CollaborationState(Memory):
    """The plan, its tasks and their results."""

    objective: str = ''
    max_tasks: int = 4
    plan: SupervisorPlan | None = None
    pending_tasks: list[DelegatedTask] = Field(default_factory=list)
    """Unfinished tasks, in the order in which they are assigned."""
    under_way: dict[str, str] = Field(default_factory=dict)
    """By worker, the id of its current task."""
    completed_results: list[TaskResult] = Field(default_factory=list)
    messages: list[AgentMessage] = Field(default_factory=list)
    steps: list[PlanItem] = Field(default_factory=list)
    """The tasks as a checklist."""
    final_output: str = ''
    caveat: str = ''
    """How the answer falls short: failed tasks."""
    seats: tuple[str, ...] = ()
    """The agents in whose place a person acts."""
    origins: tuple[Origin, ...] = ()
    """Where the models' replies came from; filled in by calls that return a state."""

    @property
    def current_task(self) -> DelegatedTask | None:
        """The first unfinished task."""
        return self.pending_tasks[0] if self.pending_tasks else None

    @property
    def free_tasks(self) -> list[DelegatedTask]:
        """The tasks that nobody has taken."""
        taken = set(self.under_way.values())
        return [task for task in self.pending_tasks if task.task_id not in taken]

    @property
    def ready_task(self) -> DelegatedTask | None:
        """The first untaken task that waits for no other."""
        waiting = {task.task_id for task in self.pending_tasks}
        return next((task for task in self.free_tasks if not waiting.intersection(task.depends_on)), None)

    @property
    def result(self) -> CollaborationResult:
        """The result so far."""
        return CollaborationResult(
            objective=self.objective,
            success=not self.pending_tasks and all(result.success for result in self.completed_results),
            task_results=tuple(self.completed_results),
            final_output=self.final_output,
            messages_exchanged=len(self.messages),
            origins=self.origins,
        )

    def task_of(self, worker: str) -> DelegatedTask:
        """Return a worker's current task. Raises `LookupError`."""
        task_id = self.under_way[worker]
        for task in self.pending_tasks:
            if task.task_id == task_id:
                return task
        raise LookupError(f'{worker} works on {task_id!r}, which is not a pending task')

    def delegate(self, tasks: Sequence[DelegatedTask]) -> None:
        """Start with these tasks."""
        self.pending_tasks = list(tasks)
        self.steps = [
            PlanItem(id=task.task_id, title=task.description, role=task.assigned_to, after=task.depends_on)
            for task in tasks
        ]
        self._update_checklist()

    def assign_next(self, worker: str) -> DelegatedTask:
        """Give a worker the next task. Raises `LookupError` if none is ready."""
        task = self.ready_task
        if task is None:
            raise LookupError(f'there is no task ready for {worker}')
        self.under_way[worker] = task.task_id
        self._update_checklist()
        return task

    def complete_task(self, result: TaskResult) -> None:
        """Store a result; its task is no longer pending or assigned."""
        completed = next((task for task in self.pending_tasks if task.task_id == result.task_id), None)
        if completed is not None:
            self.pending_tasks.remove(completed)
        for worker in [worker for worker, task in self.under_way.items() if task == result.task_id]:
            del self.under_way[worker]
        self.completed_results.append(result)
        self._update_checklist()

    def note(self, sender: str, recipient: str, kind: str, content: str) -> None:
        """Add a message to the history."""
        self.messages.append(AgentMessage(sender=sender, recipient=recipient, kind=kind, content=content))

    def note_seat(self, seat: str, event: Event) -> None:
        """Tell the team that a person has taken a seat or handed it back."""
        taken, back = f"A person took the {seat}'s seat.", f'A person handed the seat back to the {seat}.'
        self.note('person', 'team', 'seat', taken if seat in self.seats else back)

    def _update_checklist(self) -> None:
        results = {result.task_id: result for result in self.completed_results}
        pending = {task.task_id for task in self.pending_tasks}
        taken = set(self.under_way.values())
        for place, step in enumerate(self.steps):
            result = results.get(step.id)
            state: StepState
            if result is not None:
                state = 'completed' if result.success else 'failed'
            elif step.id in taken:
                state = 'in progress'
            else:
                state = 'blocked' if pending.intersection(step.after) else 'pending'
            output = result.output[:MAX_RESULT] if result else ''
            if (state, output) != (step.state, step.result):
                self.steps[place] = step.model_copy(update={'state': state, 'result': output})
