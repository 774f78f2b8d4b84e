"""ReviewerAgent: approves a draft, or sends it back with comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.agents.spec import Role
from engine.patterns.pipeline.stage import Stage
from engine.patterns.pipeline.task_state import Review, TaskState


class ReviewerAgent(Stage):
    """The last stage."""

    role = Role(
        name='reviewer',
        title='Reviewer',
        instructions=(
            'You review an analysis for correctness, completeness and clarity against the research it rests '
            'on. Approve it only when it can be delivered as it is. Otherwise say what must change, one '
            'demand a comment.'
        ),
        tools=('notes',),
    )
    output = Review

    def prompt(self, state: TaskState) -> str:
        """The draft, with the task and the findings it must address."""
        return (
            f'Task:\n{state.task}\n\nFindings:\n{state.research}\n\n'
            f'Draft {len(state.drafts)}:\n{state.analysis}\n\nReview it.'
        )

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Store the verdict."""
        review = Review.model_validate(answer['output'])
        state.reviews.append(review)
        state.approved = review.approved
        demands = ''.join(f'\n- {comment}' for comment in review.comments)
        recipient = 'orchestrator' if review.approved else 'analyzer'
        state.note('reviewer', recipient, 'verdict', f'{review.summary} ({review.score}/100){demands}')
