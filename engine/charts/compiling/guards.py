"""Guards: the conditions of a chart file's transitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.charts.compiling.language import MAX_INLINE, Language, Local
from engine.charts.compiling.scope import evaluation
from engine.charts.reading import Place
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.expressions.expression import Expression, compute

SPACES = re.compile(r"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|\s+""", re.DOTALL)
"""White space between the words of an expression, and its texts, whose own must stay."""


class Guard:
    """An expression that lets a transition be taken; equal guards of one chart give equal answers."""

    def __init__(self, name: str, expression: Expression, variables: Mapping[str, Any] | None = None) -> None:
        self.__name__, self.expression, self.variables = name, expression, variables or {}
        self._key = (name, expression.text, tuple(map(repr, self.variables.items())))

    def bind(self, variables: Mapping[str, Any]) -> Guard:
        """Return it with the variables of a region."""
        return Guard(self.__name__, self.expression, variables) if variables else self

    def __call__(self, scope: CallbackContext, event: Event) -> bool:
        """Return whether it holds. Raises `EvaluationError`."""
        return bool(compute(self.expression.part, evaluation(scope, event, self.variables)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def compile_guard(language: Language, text: str, path: Place, local: Local) -> Guard | None:
    """Return a named guard, or one whose name is its own text; None, and a problem, if it is wrong."""
    name = SPACES.sub(lambda match: match['text'] or ' ', text.strip())
    if name in language.file.guards:
        expression = language.guard(name)
    elif len(name) > MAX_INLINE:
        language.note(path, f'has more than {MAX_INLINE} characters: give it a name under `guards`')
        return None
    else:
        expression = language.expression(name, path, local)
    return Guard(name, expression) if expression else None
