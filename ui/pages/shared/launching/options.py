"""Options of a run of any pattern: title, tags, approvals, budget."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from engine import Budget
from engine.records import MAX_TAGS, MAX_TITLE

FOLD = 'Budget'


class RunOptions(BaseModel):
    """Options of every run."""

    title: str = Field(
        '',
        max_length=MAX_TITLE,
        title='Title',
        description='Name shown in lists; derived from the input if empty',
        json_schema_extra={'group': 'Options'},
    )
    tags: list[str] = Field(
        [],
        max_length=MAX_TAGS,
        title='Tags',
        description='For finding the run later',
        json_schema_extra={'group': 'Options', 'inline': True},
    )
    approvals: Literal['marked', 'all', 'none'] = Field(
        'marked',
        title='Tool approval',
        description='The run pauses until you answer',
        json_schema_extra={
            'group': 'Options',
            'labels': {
                'marked': 'When the tool requires it',
                'all': 'For every tool call',
                'none': 'Never',
            },
        },
    )
    record: bool = Field(
        False,
        title='Record model replies',
        description='Lets you replay the run later, offline and for free',
        json_schema_extra={'group': 'Options'},
    )

    seed: int = Field(
        0,
        ge=0,
        le=2**31 - 1,
        title='Seed',
        description='A simulated run repeats exactly with the same seed and input',
        json_schema_extra={'group': 'Options'},
    )


class TeamRunOptions(RunOptions):
    """Options of every run on a server with accounts."""

    private: bool = Field(
        False,
        title='Private',
        description='Only you and administrators can see it',
        json_schema_extra={'group': 'Options'},
    )


class BudgetLimits(BaseModel):
    """The limits of a run; empty means unlimited."""

    tokens: int | None = Field(
        None,
        ge=1,
        title='Token limit',
        description='Input and output of all agents together; empty means no limit',
        json_schema_extra={'group': FOLD},
    )
    cost: float | None = Field(
        None,
        gt=0,
        title='Cost limit ($)',
        description='For models with a known price; simulated ones are free',
        json_schema_extra={'group': FOLD},
    )
    seconds: float | None = Field(
        None,
        gt=0,
        title='Time limit (s)',
        description='Running time; pauses and waiting for you do not count',
        json_schema_extra={'group': FOLD},
    )
    warn: int = Field(
        80,
        ge=1,
        le=100,
        title='Warn at',
        description='Percentage of a limit at which agents are asked to wrap up',
        json_schema_extra={'group': FOLD},
    )

    @property
    def budget(self) -> Budget | None:
        """The budget; None if nothing is limited."""
        limits: dict[str, Any] = {'tokens': self.tokens, 'cost': self.cost, 'seconds': self.seconds}
        if not any(limit is not None for limit in limits.values()):
            return None
        return Budget(**limits, warn=self.warn / 100)


def budget_values(budget: Budget | None) -> dict[str, Any]:
    """Return the form's values for an earlier run's budget."""
    if budget is None:
        return {}
    limits = {'tokens': budget.tokens, 'cost': budget.cost, 'seconds': budget.seconds}
    return {**limits, 'warn': round(budget.warn * 100)}
