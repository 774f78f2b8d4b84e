"""AnalyzerAgent: turns research into a draft, and revises it after a review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.agents.spec import Role
from engine.patterns.pipeline.stage import Stage
from engine.patterns.pipeline.task_state import Draft, TaskState


class AnalyzerAgent(Stage):
    """The second stage; the reviewer sends work back to it."""

    role = Role(
        name='analyzer',
        title='Analyzer',
        instructions=(
            "You write an analysis in Markdown from a researcher's findings. Answer the task, weigh the "
            'findings, and come to a conclusion. When a reviewer sends a draft back, answer every comment '
            'in the next one.'
        ),
        tools=('notes', 'calculator'),
    )

    def prompt(self, state: TaskState) -> str:
        """The task with the findings and, in a revision, the reviewer's comments."""
        review = state.review
        if review is None:
            return f'Task:\n{state.task}\n\nFindings:\n{state.research}\n\nWrite the analysis.'
        comments = '\n'.join(
            f'{number}. {comment}' for number, comment in enumerate(review.comments, start=1)
        )
        return (
            f'The reviewer sent draft {len(state.drafts)} back: {review.summary}\n\n{comments}\n\nRevise it.'
        )

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Store the draft as the next version."""
        state.analysis = str(answer['text'])
        answers = state.review.comments if state.review else ()
        state.drafts.append(Draft(version=len(state.drafts) + 1, text=state.analysis, answers=answers))
        state.note('analyzer', 'reviewer', 'draft', state.analysis)
