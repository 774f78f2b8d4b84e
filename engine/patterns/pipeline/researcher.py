"""ResearchAgent: gathers facts about a task, with sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from engine.agents.spec import Role
from engine.patterns.pipeline.stage import Stage
from engine.patterns.pipeline.task_state import TaskState
from engine.records.frozen import FrozenModel


class Findings(FrozenModel):
    """The findings of the research."""

    findings: tuple[str, ...] = Field(min_length=1, description='One fact per item, most important first')
    sources: tuple[str, ...] = Field(default=(), description='The source of each fact')
    open_questions: tuple[str, ...] = Field(default=(), description='Questions that remain open')


class ResearchAgent(Stage):
    """The first stage."""

    role = Role(
        name='researcher',
        title='Researcher',
        instructions=(
            'You research a task for an analyst. Collect facts, say where each comes from, and say what you '
            'could not find out. Keep notes while you work; use the calculator for every number you derive.'
        ),
        tools=('notes', 'calculator'),
    )
    output = Findings

    def prompt(self, state: TaskState) -> str:
        """The task itself."""
        return f'Research this task:\n\n{state.task}'

    def accept(self, state: TaskState, answer: Mapping[str, Any]) -> None:
        """Store the findings as the research."""
        found = Findings.model_validate(answer['output'])
        lines = [f'- {fact}' for fact in found.findings]
        if found.open_questions:
            lines += ['', 'Open questions:', *(f'- {question}' for question in found.open_questions)]
        state.research = '\n'.join(lines)
        state.sources = found.sources
        state.note('researcher', 'analyzer', 'findings', state.research)
