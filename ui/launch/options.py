"""What every run can be given, whatever its pattern: a title, tags, approvals, a budget."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from engine import Budget

FOLD = 'Budget'


class Options(BaseModel):
    """What every run can be given."""

    title: str = Field(
        '',
        max_length=200,
        title='Title',
        description='How lists call the run; made from the input when empty',
        json_schema_extra={'group': 'Options'},
    )
    tags: list[str] = Field(
        [],
        max_length=20,
        title='Tags',
        description='To find it by',
        json_schema_extra={'group': 'Options', 'inline': True},
    )
    approvals: Literal['marked', 'all', 'none'] = Field(
        'marked',
        title='Ask before a tool is used',
        description='A run that asks waits for you',
        json_schema_extra={
            'group': 'Options',
            'labels': {
                'marked': 'Where the tool is marked so',
                'all': 'Before every tool',
                'none': 'Never',
            },
        },
    )
    record: bool = Field(
        False,
        title='Record what models answer',
        description='The answers are kept; it can be replayed with them, without a network and for nothing',
        json_schema_extra={'group': 'Options'},
    )

    seed: int = Field(
        0,
        ge=0,
        le=2**31 - 1,
        title='Seed',
        description='The same seed and input give the same simulated run',
        json_schema_extra={'group': 'Options'},
    )


class Limits(BaseModel):
    """What a run may use; what is left empty is not limited."""

    tokens: int | None = Field(
        None,
        ge=1,
        title='Tokens at most',
        description='Read and written, of all agents together; no limit where it is empty',
        json_schema_extra={'group': FOLD},
    )
    cost: float | None = Field(
        None,
        gt=0,
        title='Dollars at most',
        description='Of models whose price is known; a simulated one costs nothing',
        json_schema_extra={'group': FOLD},
    )
    seconds: float | None = Field(
        None,
        gt=0,
        title='Seconds at most',
        description='Of running: not while it is paused or waits for you',
        json_schema_extra={'group': FOLD},
    )
    warn: int = Field(
        80,
        ge=1,
        le=100,
        title='Warn at',
        description='Percent of a limit at which agents are asked to wrap up',
        json_schema_extra={'group': FOLD},
    )

    @property
    def budget(self) -> Budget | None:
        """The budget; None where nothing is limited."""
        limits: dict[str, Any] = {'tokens': self.tokens, 'cost': self.cost, 'seconds': self.seconds}
        if not any(limit is not None for limit in limits.values()):
            return None
        return Budget(**limits, warn=self.warn / 100)


def values_of(budget: Budget | None) -> dict[str, Any]:
    """The values of the form for an earlier run's budget."""
    if budget is None:
        return {}
    limits = {'tokens': budget.tokens, 'cost': budget.cost, 'seconds': budget.seconds}
    return {**limits, 'warn': round(budget.warn * 100)}
