"""Targets: the places in memory that steps write to, as `drafts[-1].text`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from engine.charts.compiling.kinds import inner_kind
from engine.charts.compiling.language import Language, Local
from engine.charts.compiling.scope import NAMES
from engine.charts.reading import Place
from engine.statechart.expressions.compiler import Compiler, Evaluation, ExpressionError, Part
from engine.statechart.expressions.expression import parse_expression
from engine.statechart.expressions.values import EvaluationError, kind_of
from engine.statechart.memory import Memory, TrackedDict, TrackedList
from engine.statechart.pattern import validation_problems

Change = Callable[[Any], Any]
"""Returns what becomes of the value at a place; a list or an object of memory may change in place."""
ROOT = 'memory.'


@dataclass(frozen=True, slots=True)
class Target:
    """A place in memory."""

    text: str
    field: str
    keys: tuple[Part, ...]
    kind: Any
    """The type of its value."""

    def change(self, memory: Memory, run: Evaluation, change: Change) -> None:
        """Change the value there. Raises `EvaluationError`."""
        before = getattr(memory, self.field)
        try:
            after = _changed(before, [key(run) for key in self.keys], change)
            if after is not before or not isinstance(after, TrackedList | TrackedDict):
                setattr(memory, self.field, after)
        except ValidationError as error:
            raise EvaluationError(f'{self.text}: {first_problem(error)}') from None

    def remove(self, memory: Memory, run: Evaluation) -> None:
        """Remove it from the list or the object around it. Raises `EvaluationError`."""
        *around, last = [key(run) for key in self.keys]
        holder = Target(self.text, self.field, tuple(map(_constant, around)), self.kind)
        holder.change(memory, run, lambda value: _without(value, last))


def first_problem(error: ValidationError) -> str:
    """Return the first problem with a value, with its place in it."""
    place, problem = next(iter(validation_problems(error).items()))
    return problem if place == 'parameters' else f'{place}: {problem}'


def compile_target(language: Language, text: str, path: Place, local: Local) -> Target | None:
    """Return a place in memory; None, and a problem, if there is none."""
    try:
        tree = parse_expression(ROOT + text, tuple(NAMES), local, language.defined).tree
        field, nodes = _steps_to(tree)
        if field not in language.memory.model_fields:
            listed = ', '.join(language.memory.model_fields) or 'none'
            raise ExpressionError(f'memory has no field {field!r}; available: {listed}')
        language.writes.add(field)
        reader = Compiler(tuple(NAMES), local=local, defined=language.defined)
        kind = language.memory.model_fields[field].annotation
        keys: list[Part] = []
        for node in nodes:
            kind = inner_kind(kind, node.value if isinstance(node, ast.Constant) else None)
            keys.append(reader.read(node))
        language.reads |= reader.fields.keys()
    except (ExpressionError, LookupError) as error:
        language.note(path, f'{text}: {getattr(error, "problem", error)}')
        return None
    return Target(text, field, tuple(keys), kind)


def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what checks a value for a place."""
    return TypeAdapter(kind)


def _steps_to(tree: ast.expr) -> tuple[str, list[ast.expr]]:
    """Return the field of memory and the keys that lead from there."""
    keys: list[ast.expr] = []
    while True:
        match tree:
            case ast.Attribute(value=ast.Name(id='memory'), attr=name):
                return name, keys[::-1]
            case ast.Attribute(value=inner, attr=name):
                keys.append(ast.Constant(value=name))
            case ast.Subscript(value=inner, slice=key):
                keys.append(key)
            case _:
                raise ExpressionError('write the name of a field of memory, as in `drafts[-1].text`')
        tree = inner


def _changed(value: Any, keys: Sequence[Any], change: Change) -> Any:
    if not keys:
        return change(value)
    key, *rest = keys
    if isinstance(value, BaseModel) and key in type(value).model_fields:
        return value.model_copy(update={key: _changed(getattr(value, key), rest, change)})
    if isinstance(value, TrackedDict) and isinstance(key, str):
        after = _changed(value.get(key), rest, change)
        if after is not value.get(key) or not isinstance(after, TrackedList | TrackedDict):
            value[key] = after
        return value
    if isinstance(value, dict) and isinstance(key, str):
        return {**value, key: _changed(value.get(key), rest, change)}
    place = _place(value, key)
    after = _changed(value[place], rest, change)
    if isinstance(value, TrackedList):
        if after is not value[place] or not isinstance(after, TrackedList | TrackedDict):
            value[place] = after
        return value
    return type(value)([*value[:place], after, *value[place + 1 :]])


def _without(value: Any, key: Any) -> Any:
    if isinstance(value, TrackedDict):
        value.pop(key, None)
        return value
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if name != key}
    place = _place(value, key)
    if isinstance(value, TrackedList):
        value.pop(place)
        return value
    return type(value)([*value[:place], *value[place + 1 :]])


def _place(value: Any, key: Any) -> int:
    if not isinstance(value, list | tuple) or not isinstance(key, int) or isinstance(key, bool):
        raise EvaluationError(f'{kind_of(value)} has nothing at {key!r}')
    if not -len(value) <= key < len(value):
        raise EvaluationError(f'the list has {len(value)} items, and none at {key}')
    return key % len(value)


def _constant(value: Any) -> Part:
    return lambda run: value
