"""The form of a run's budget."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from engine import Budget

FOLD = 'Budget'


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
