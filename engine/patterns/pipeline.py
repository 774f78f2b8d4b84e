"""Pipeline: research, analyze, review; the reviewer sends work back until it approves."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from engine.agents.analyzer import AnalyzerAgent
from engine.agents.researcher import ResearchAgent
from engine.agents.reviewer import ReviewerAgent
from engine.fields import Form, task_field
from engine.pattern import Pattern
from engine.records import Event
from engine.stage import Process, Stage, stage
from engine.task import TaskState, TaskStatus


def chart(
    researching: Stage | Process, analyzing: Stage | Process, reviewing: Stage | Process
) -> tuple[dict[str, Any], ...]:
    """The states of a pipeline with these stages."""
    return (
        {'name': 'pending'},
        stage('researching', researching, enter='start_research'),
        stage('analyzing', analyzing, enter='start_analysis'),
        stage('reviewing', reviewing, enter='start_review'),
        {'name': 'complete', 'final': True, 'on_enter': 'deliver'},
        {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'give_up'},
    )


class Pipeline(Pattern):
    """A researcher, an analyzer and a reviewer in turn; the reviewer can send the draft back."""

    class Parameters(Form):
        """What the launch form asks for."""

        task: str = task_field(
            'Task',
            'What the three agents are to work out, in a sentence or a page',
            'Should a small team adopt event sourcing for its order system?',
        )
        max_iterations: int = Field(
            3,
            ge=0,
            le=10,
            title='Revisions at most',
            description='How often the reviewer may send the draft back',
        )

    Memory = TaskState
    family = 'In turn'
    initial = 'pending'
    answer = 'analysis'
    messages = 'messages'
    states = chart(ResearchAgent(), AnalyzerAgent(), ReviewerAgent())
    transitions = (
        ['always', 'pending', 'researching'],
        ['done', 'researching', 'analyzing'],
        ['done', 'analyzing', 'reviewing'],
        ['done', 'reviewing', 'complete', 'is_approved'],
        ['done', 'reviewing', 'complete', 'is_spent'],
        {'trigger': 'done', 'source': 'reviewing', 'dest': 'analyzing', 'before': 'send_back'},
        ['failed', '*', 'failed'],
        ['expired', '*', 'failed'],
    )

    @classmethod
    def with_stages(
        cls,
        name: str,
        *,
        researching: Stage | Process | None = None,
        analyzing: Stage | Process | None = None,
        reviewing: Stage | Process | None = None,
    ) -> type[Self]:
        """A pipeline of that name in which other callables stand in for built-in agents."""
        states = chart(
            researching or ResearchAgent(), analyzing or AnalyzerAgent(), reviewing or ReviewerAgent()
        )
        return type('StagedPipeline', (cls,), {'name': name, 'title': name.title(), 'states': states})

    def is_approved(self, memory: TaskState, event: Event) -> bool:
        """The reviewer approves the draft."""
        return memory.approved

    def is_spent(self, memory: TaskState, event: Event) -> bool:
        """The draft has been sent back as often as is allowed."""
        return memory.iteration >= memory.max_iterations

    def start_research(self, memory: TaskState, event: Event) -> None:
        """The researcher is active."""
        memory.status = TaskStatus.RESEARCHING

    def start_analysis(self, memory: TaskState, event: Event) -> None:
        """The analyzer is active."""
        memory.status = TaskStatus.ANALYZING

    def start_review(self, memory: TaskState, event: Event) -> None:
        """The reviewer is active."""
        memory.status = TaskStatus.REVIEWING

    def send_back(self, memory: TaskState, event: Event) -> None:
        """Count the revision."""
        memory.iteration += 1

    def deliver(self, memory: TaskState, event: Event) -> None:
        """The work is over, approved or not."""
        memory.status = TaskStatus.COMPLETE
        verdict = 'approved' if memory.approved else f'not approved within {memory.max_iterations} revisions'
        memory.note('orchestrator', 'user', 'result', f'Draft {len(memory.drafts)} is delivered: {verdict}.')

    def give_up(self, memory: TaskState, event: Event) -> None:
        """The work failed."""
        memory.status = TaskStatus.FAILED
        memory.error = str(event.data.get('error') or event.data.get('unfit') or f'{event.at} {event.name}')
        memory.note('orchestrator', 'user', 'error', memory.error)
