"""Pipeline: research, analyze, review; the reviewer sends work back until it approves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field

from engine.agents.spec import Role
from engine.patterns.form_fields import task_field
from engine.patterns.pipeline.callable_stage import Process, Processor
from engine.patterns.pipeline.stage import Stage, stage
from engine.patterns.pipeline.task_state import Draft, Review, TaskState, TaskStatus
from engine.records import Event
from engine.records.frozen import Form, FrozenModel
from engine.statechart.edges import edge
from engine.statechart.pattern import Pattern
from engine.tools.artifacts import bullet


class Findings(FrozenModel):
    """The findings of the research."""

    findings: tuple[str, ...] = Field(min_length=1, description='One fact per item, most important first')
    sources: tuple[str, ...] = Field(default=(), description='The source of each fact')
    open_questions: tuple[str, ...] = Field(default=(), description='Questions that remain open')


def shared_state(state: TaskState) -> str:
    """Return all that the agents share, for a prompt: one that works outside a run remembers nothing."""
    parts = [f'Task:\n{state.task}']
    if state.research:
        parts.append(f'Findings:\n{state.research}')
    if state.sources:
        parts.append('Sources:\n' + '\n'.join(map(bullet, state.sources)))
    if state.analysis:
        parts.append(f'{latest_draft(state).capitalize()}:\n{state.analysis}')
    for number, review in enumerate(state.reviews, start=1):
        comments = ''.join(f'\n{place}. {text}' for place, text in enumerate(review.comments, start=1))
        verdict = 'approved' if review.approved else 'sent back'
        parts.append(f'Review {number} ({verdict}, {review.score}/100): {review.summary}{comments}')
    return '\n\n'.join(parts)


def latest_draft(state: TaskState) -> str:
    """Return what to call the latest draft: those of a custom stage may have no numbers."""
    return f'draft {len(state.drafts)}' if state.drafts else 'the draft'


class ResearchAgent(Stage):
    """Collects facts about the task."""

    status = TaskStatus.RESEARCHING

    role = Role(
        name='researcher',
        title='Researcher',
        instructions=(
            'You research a task for an analyst. Collect facts, name the source of each, and list what you '
            'could not find out. Keep notes as you work, and use the calculator for every number you derive.'
        ),
        tools=('notes', 'calculator'),
    )
    output = Findings

    def prompt(self, state: TaskState) -> str:
        """The task, with what is already known about it."""
        return f'{shared_state(state)}\n\nResearch the task.'

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Store the findings as the research."""
        findings = Findings.model_validate(answer['output'])
        lines = [f'- {fact}' for fact in findings.findings]
        if findings.open_questions:
            lines += ['', 'Open questions:', *(f'- {question}' for question in findings.open_questions)]
        state.research = '\n'.join(lines)
        state.sources = findings.sources
        state.note('researcher', 'analyzer', 'findings', state.research)


class AnalyzerAgent(Stage):
    """The second stage; the reviewer sends work back to it."""

    status = TaskStatus.ANALYZING

    role = Role(
        name='analyzer',
        title='Analyzer',
        instructions=(
            "You write an analysis in Markdown from a researcher's findings. Answer the task, weigh the "
            'findings, and reach a conclusion. When a reviewer sends a draft back, address every comment in '
            'the next one.'
        ),
        tools=('notes', 'calculator'),
    )

    def prompt(self, state: TaskState) -> str:
        """The task with the findings and, in a revision, the latest draft and every review."""
        request = f'Revise {latest_draft(state)}.' if state.review else 'Write the analysis.'
        return f'{shared_state(state)}\n\n{request}'

    def begin(self, state: TaskState) -> TaskState:
        """Count the revision, which nobody else does outside a pipeline."""
        start = state.detached_copy()
        if start.review:
            start.iteration = max(start.iteration, len(start.drafts), 1)
        return start

    def visit(self, state: TaskState) -> int:
        """One for each draft."""
        return len(state.drafts) + 1

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Store the draft as the next version."""
        state.analysis = str(answer['text'])
        answers = state.review.comments if state.review else ()
        state.drafts.append(Draft(version=len(state.drafts) + 1, text=state.analysis, answers=answers))
        state.note('analyzer', 'reviewer', 'draft', state.analysis)


class ReviewerAgent(Stage):
    """Approves the draft or demands changes."""

    status = TaskStatus.REVIEWING

    role = Role(
        name='reviewer',
        title='Reviewer',
        instructions=(
            'You review an analysis for correctness, completeness and clarity, against the research it is '
            'based on. Approve it only if it can be delivered as it is. Otherwise say what must change, one '
            'request per comment.'
        ),
        tools=('notes',),
    )
    output = Review

    def prompt(self, state: TaskState) -> str:
        """The draft, with the task, the findings and the earlier reviews."""
        return f'{shared_state(state)}\n\nReview {latest_draft(state)}.'

    def visit(self, state: TaskState) -> int:
        """One for each review."""
        return len(state.reviews) + 1

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Store the verdict."""
        review = Review.model_validate(answer['output'])
        state.reviews.append(review)
        state.approved = review.approved
        demands = ''.join(f'\n- {comment}' for comment in review.comments)
        recipient = 'orchestrator' if review.approved else 'analyzer'
        state.note('reviewer', recipient, 'verdict', f'{review.summary} ({review.score}/100){demands}')


def pipeline_states(
    researching: Stage | Process | Processor,
    analyzing: Stage | Process | Processor,
    reviewing: Stage | Process | Processor,
) -> tuple[dict[str, Any], ...]:
    """Return the states of a pipeline with these stages."""
    return (
        {'name': 'pending'},
        stage('researching', researching),
        stage('analyzing', analyzing),
        stage('reviewing', reviewing),
        {'name': 'complete', 'final': True, 'on_enter': 'deliver'},
        {'name': 'failed', 'final': True, 'outcome': 'failed', 'on_enter': 'record_failure'},
    )


class Pipeline(Pattern):
    """A researcher, an analyzer and a reviewer in turn; the reviewer can send the draft back."""

    class Parameters(Form):
        """Launch form parameters."""

        task: str = task_field(
            'Task',
            'What the agents should work out, in a sentence or a page',
            'Should a small team adopt event sourcing for its order system?',
        )
        max_iterations: int = Field(
            3,
            ge=0,
            le=10,
            title='Revision limit',
            description='How often the reviewer may send the draft back',
        )

    Memory = TaskState
    family = 'Sequential'
    suits = (
        'research',
        'explain',
        'analyze',
        'compare',
        'summarize',
        'recommend',
        'choose',
        'adopt',
        'briefing',
        'memo',
        'essay',
        'forecast',
    )
    initial = 'pending'
    answer = 'analysis'
    words = {'is_spent': 'no revisions left'}
    caveat = 'caveat'
    panels = {
        'result': {'revisions': 'drafts'},
        'messages': 'messages',
        'drafts': {'': 'drafts', 'reviews': 'reviews', 'limit': 'max_iterations'},
    }
    states = pipeline_states(ResearchAgent(), AnalyzerAgent(), ReviewerAgent())
    transitions = (
        ['always', 'pending', 'researching'],
        ['done', 'researching', 'analyzing'],
        ['done', 'analyzing', 'reviewing'],
        ['done', 'reviewing', 'complete', 'is_approved'],
        ['done', 'reviewing', 'complete', 'is_spent'],
        edge('done', 'reviewing', 'analyzing', before='count_revision'),
        ['failed', '*', 'failed'],
        ['expired', '*', 'failed'],
    )

    @classmethod
    def with_stages(
        cls,
        name: str,
        *,
        researching: Stage | Process | Processor | None = None,
        analyzing: Stage | Process | Processor | None = None,
        reviewing: Stage | Process | Processor | None = None,
    ) -> type[Self]:
        """Return a named pipeline in which other callables replace built-in agents."""
        states = pipeline_states(
            researching or ResearchAgent(), analyzing or AnalyzerAgent(), reviewing or ReviewerAgent()
        )
        return type('StagedPipeline', (cls,), {'name': name, 'title': name.title(), 'states': states})

    def is_approved(self, memory: TaskState, event: Event) -> bool:
        """The reviewer approves the draft."""
        return memory.approved

    def is_spent(self, memory: TaskState, event: Event) -> bool:
        """The revision limit is reached."""
        return memory.iteration >= memory.max_iterations

    def count_revision(self, memory: TaskState, event: Event) -> None:
        """Move on to the next revision."""
        memory.iteration += 1

    def deliver(self, memory: TaskState, event: Event) -> None:
        """Complete the task, approved or not."""
        memory.status = TaskStatus.COMPLETE
        if shortfall := _shortfall(memory):
            memory.caveat = shortfall
        verdict = shortfall or 'approved'
        memory.note('orchestrator', 'user', 'result', f'Delivered {latest_draft(memory)}: {verdict}.')

    def on_retry(self, memory: TaskState, event: Event) -> None:
        """Record that an agent's attempt failed and is retried."""
        attempt = f'attempt {event.attempt - 1} failed, retrying in {event.data["delay"]:g} s'
        memory.note(self._agent(event.at), 'orchestrator', 'retry', f'{attempt}: {event.data["error"]}')

    def record_failure(self, memory: TaskState, event: Event) -> None:
        """Record which agent failed, and why."""
        memory.status = TaskStatus.FAILED
        problem = event.data.get('error') or event.data.get('unfit') or f'{event.at} {event.name}'
        memory.error = memory.caveat = f'{self._agent(event.at)}: {problem}'
        memory.note('orchestrator', 'user', 'error', memory.error)

    def _agent(self, path: str) -> str:
        """Return who works in a state: an agent's role, or the stage's name."""
        top = path.partition('.')[0]
        specs = (state.get('agent') for state in self.chart_states() if state['name'] == top)
        return next((str(spec.role) for spec in specs if spec), top)


def _shortfall(memory: TaskState) -> str:
    """Return how a delivered result falls short of the task, or ''."""
    if not memory.analysis.strip():
        return 'the analysis is empty'
    if not memory.approved:
        revisions = 'revision' if memory.iteration == 1 else 'revisions'
        return f'not approved after {memory.iteration} {revisions}'
    if memory.review is not None and memory.review.score == 0:
        return 'approved with a score of 0'
    return ''
