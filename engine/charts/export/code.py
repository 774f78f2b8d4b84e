"""Code: a pattern's guards, actions and prompts, in words of a chart file where that is possible."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from engine.charts.compiling.language import MAX_INLINE
from engine.charts.compiling.scope import NAMES
from engine.charts.compiling.templates import compile_template
from engine.charts.export.operands import ContextMarker, EventMarker, Operand, Unsayable, as_tree, memory_of
from engine.charts.export.python import read_function
from engine.charts.export.steps import steps_of
from engine.charts.export.templates import template_of
from engine.charts.export.writing import Place
from engine.statechart.decision_cache import needs_context
from engine.statechart.expressions.compiler import ExpressionError
from engine.statechart.expressions.expression import parse_expression
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import callback_name, listify

NEVER = 'false'
"""Stands in for a guard that cannot be said."""
TO_DO = '(Write the task of this agent here.)'
"""Stands in for a prompt that cannot be said."""
OURS = 'engine.agents.'
"""The modules with the callbacks that each agent has."""


class CodeWriter:
    """Says in a chart what a pattern says in Python.

    Args:
        pattern: the pattern, with parameters.
        note: notes what cannot be said.
        refused: what was written and is no part of a chart that works, by place, and why.
    """

    def __init__(
        self, pattern: Pattern, note: Callable[[Place, str], None], refused: Mapping[Place, str]
    ) -> None:
        self._pattern, self._note, self._refused = pattern, note, refused
        self.guards: dict[str, str] = {}
        self.actions: dict[str, list[dict[str, Any]]] = {}

    def guard(self, callback: Any, place: Place) -> str:
        """Return a guard: its name if it has one, else an expression."""
        name = callback_name(callback).lstrip('_')
        if name in self.guards and isinstance(callback, str):
            return name
        try:
            text = self.expression(callback, ('guards', name) if isinstance(callback, str) else place)
        except Unsayable as problem:
            self._note(('guards', name), f'{name}: {problem}')
            self.guards[name] = NEVER
            return name
        if not isinstance(callback, str) and len(text) <= MAX_INLINE:
            return text
        self.guards[name] = text
        return name

    def expression(self, callback: Any, place: Place) -> str:
        """Return what a guard, or a method with seconds, returns. Raises `Unsayable`."""
        function = self._function(callback)
        with self._sayable(place):
            reader, statements = read_function(function, self._pattern, self._arguments(function))
            text = ast.unparse(as_tree(reader.body(statements)))
            parse_expression(text, tuple(NAMES))
        return text

    def steps(self, callbacks: Any, place: Place) -> list[Any]:
        """Return steps: names of actions, and the steps of functions."""
        steps: list[Any] = []
        for callback in listify(callbacks):
            name = callback_name(callback).lstrip('_')
            if is_ours(callback):
                continue
            if isinstance(callback, str) and name in self.actions:
                steps.append(name)
                continue
            function = self._function(callback)
            try:
                with self._sayable(('actions', name) if isinstance(callback, str) else place):
                    own = steps_of(function, self._pattern, self._arguments(function))
            except Unsayable as problem:
                self._note(place, f'{name}: {problem}')
                continue
            if isinstance(callback, str) and own:
                self.actions[name] = own
                steps.append(name)
            else:
                steps += own
        return steps

    def prompt(self, callback: Any, place: Place) -> str:
        """Return an agent's task."""
        function = self._function(callback)
        arguments = self._arguments(function)[: len(inspect.signature(function).parameters)]
        try:
            with self._sayable(place):
                text = template_of(function, self._pattern, arguments)
                compile_template(text, tuple(NAMES), (), {})
                return text
        except Unsayable as problem:
            self._note(place, f'{callback_name(callback)}: {problem}')
            return TO_DO

    @contextmanager
    def _sayable(self, place: Place) -> Iterator[None]:
        """Raise `Unsayable` for whatever goes wrong: the code that is read may do anything."""
        try:
            yield
        except Unsayable:
            raise
        except ExpressionError as error:
            raise Unsayable(str(error)) from None
        except Exception as error:
            raise Unsayable(f'{type(error).__name__}: {error}') from None
        for other, problem in self._refused.items():
            if other[: len(place)] == place:
                raise Unsayable(problem)

    def _function(self, callback: Any) -> Any:
        return getattr(self._pattern, callback) if isinstance(callback, str) else callback

    def _arguments(self, function: Any) -> Sequence[Operand]:
        first = ContextMarker(self._pattern) if needs_context(function) else memory_of(self._pattern)
        return [first, EventMarker()]


def is_ours(callback: Any) -> bool:
    """Return whether it is a callback that each agent has."""
    while isinstance(callback, partial):
        callback = callback.func
    return getattr(callback, '__module__', '').startswith(OURS)
