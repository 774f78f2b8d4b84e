"""Python: scorers that are functions of one's own, found in the code that is loaded already."""

from __future__ import annotations

import asyncio
import inspect
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar

from pydantic import Field, field_validator
from typing_extensions import override

from engine.errors import ToolError
from engine.operations.experiments.records import Score
from engine.operations.experiments.scorers.base import Evidence, Scorer, decide

F = TypeVar('F', bound=Callable[..., Any])
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}
"""The functions that are scorers, by `module:function`."""
FOLDER_PREFIX = re.compile(r'^hemicycle_[0-9a-f]{8}_')
"""What the catalog puts before the names of modules in folders with one's own patterns."""


def scorer(function: F) -> F:
    """Make a function `(run, case) -> Score` a scorer, which experiments may name `module:function`.

    It may be async, and may also return a number, or whether something holds. It is found once its module is
    loaded: from a folder of one's own patterns, or by the program. Experiments never import a module.
    """
    FUNCTIONS[f'{FOLDER_PREFIX.sub("", function.__module__)}:{function.__qualname__}'] = function
    return function


class Python(Scorer):
    """Asks a function of one's own."""

    reads_steps: ClassVar[bool] = True

    function: str = Field(min_length=3, max_length=400)
    """Its module and name: `my_scorers:is_polite`."""

    @field_validator('function')
    @classmethod
    def _exists(cls, value: str) -> str:
        if value not in FUNCTIONS:
            names = ', '.join(sorted(FUNCTIONS)) or 'none'
            raise ValueError(f'there is no scorer {value!r}; functions marked with @scorer: {names}')
        return value

    @override
    async def score(self, evidence: Evidence) -> Score:
        function = FUNCTIONS[self.function]
        try:
            if inspect.iscoroutinefunction(function):
                result = await function(evidence, evidence.case)
            else:
                result = await asyncio.to_thread(function, evidence, evidence.case)
        except Exception as error:
            raise ToolError(f'{self.function}: {type(error).__name__}: {error}'[:1_000]) from error
        score = result if isinstance(result, Score) else Score(value=result)
        value: Any = score.value
        if isinstance(value, bool):
            return decide(value, score.reason)
        if value is None or (isinstance(value, int | float) and math.isfinite(value)):
            return score
        raise ToolError(f'{self.function} has returned {value!r:.100}, which is no score')
