"""Counters: loops that end because a guard compares a count in memory with a limit.

A loop is bounded if an edge of it adds to a field of memory, nothing takes from that field or sets it, and a
guard of the edge says no from some value on. The pattern's own guard is asked, on memory that holds the count
and the parameters alone. What an action may write is taken from all code that it could call, by names.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any

from engine.agents.spec import AgentSpec
from engine.charts import ChartPattern
from engine.charts.compiling.guards import Guard
from engine.charts.compiling.scope import Values
from engine.charts.compiling.steps import Action
from engine.charts.writes import Write, writes_of
from engine.operations.rehearsal.memory_use import source_of, sources_of, tree_of
from engine.operations.rehearsal.possibility import wanted_guards
from engine.records import EdgeShape, Event, StatePath
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import listify, walk

MAX_COUNT = 1_000
"""The highest count that is tried; a loop that may go on beyond it counts as unbounded."""
FAR_COUNTS = tuple(10**power for power in range(3, 13))
"""Counts beyond it, at which a guard must still say no."""
CORE = ('engine.agents.', 'engine.statechart.')
"""Code that writes to agents, and to no field of a pattern's memory."""
HARMLESS = frozenset(
    {'isinstance', 'getattr', 'len', 'str', 'repr', 'type', 'list', 'dict', 'set', 'bool', 'copy'}
)
"""Functions that change nothing in what they get."""
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SIMPLE_CALLS = frozenset({'bool', 'int', 'min', 'max'})
PURE = (
    ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Constant, ast.Name, ast.Attribute, ast.Call,
    ast.boolop, ast.unaryop, ast.operator, ast.cmpop, ast.expr_context,
)  # fmt: skip
"""What an expression may consist of whose value depends on memory and parameters alone."""


@dataclass
class _Writes:
    """What the actions of a pattern may do to fields of memory, by the field's name."""

    added: dict[str, list[int]] = field(default_factory=dict)
    """What is added to it, each time."""
    other: set[str] = field(default_factory=set)
    """Fields that are set or changed in other ways."""
    unknown: bool = False
    """Whether there may be others: unknown code gets memory, or sets fields that are not named."""


class Counters:
    """The loops of a pattern that count.

    Args:
        pattern: the pattern with its parameters.
        declared: the edges of its chart, each with its declaration.
    """

    def __init__(self, pattern: Pattern, declared: Sequence[tuple[EdgeShape, Mapping[str, Any]]]) -> None:
        self._pattern, self._declared = pattern, declared
        self._states = {path: state for path, _, state in walk(pattern.chart_states())}
        self._writes: _Writes | None = None

    def most(self, number: int) -> int | None:
        """Return how often a run can take an edge, by its number; None if no counter says so."""
        edge, declaration = self._declared[number]
        entered = self._states.get(StatePath(edge.dest), {})
        actions = [
            action
            for callbacks in (declaration.get('before'), declaration.get('after'), entered.get('on_enter'))
            for action in listify(callbacks)
        ]
        gains = {name: gain for action in actions for name, gain in self._gains(action)}
        bounds = [
            bound
            for name, gain in gains.items()
            for guard, wanted in self._guards(number)
            if (bound := self._bound(name, gain, guard, wanted=wanted)) is not None
        ]
        return min(bounds, default=None)

    def _guards(self, number: int) -> Iterator[tuple[Any, bool]]:
        """Yield the guards of an edge and of those tried before it, each with the answer needed."""
        edge, own = self._declared[number]
        yield from wanted_guards(own)
        for other, declaration in self._declared[:number]:
            needed = wanted_guards(declaration)
            if (other.source, other.trigger) == (edge.source, edge.trigger) and len(needed) == 1:
                guard, wanted = needed[0]
                yield guard, not wanted

    def _gains(self, action: Any) -> Iterator[tuple[str, int]]:
        """Yield the fields to which an action adds a number whenever it is run."""
        for write in self._chart_writes([action]):
            if write.always and write.added is not None and write.added > 0:
                yield write.field, write.added
        definition = _definition(self._function(action))
        for statement in definition.body if definition else ():
            if any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(statement)):
                return
            if isinstance(statement, ast.AugAssign) and (gain := _gain(statement)):
                yield gain

    def _bound(self, name: str, gain: int, guard: Any, *, wanted: bool) -> int | None:
        function = self._function(guard)
        if isinstance(guard, Guard):
            used = _fields_compared(guard.expression.tree, name, 'memory', 'parameters')
        else:
            used = _fields_compared_in(_definition(function), name)
        writes = self._all_writes()
        fixed = used and writes.other.isdisjoint(used) and writes.added.keys() & used == {name}
        if not fixed or writes.unknown or min(writes.added[name]) < 1:
            return None
        try:
            values = {field: self._initial(field) for field in used}
            first = values[name]
            last = -1
            for count in (*range(MAX_COUNT), *FAR_COUNTS):
                if self._answer(guard, {**values, name: first + count}) is wanted:
                    last = count
        except Exception:
            return None
        return None if last >= MAX_COUNT - 1 else last // gain + 1

    def _answer(self, guard: Any, memory: Mapping[str, Any]) -> bool:
        """Return what a guard says on memory that holds only these fields."""
        if isinstance(guard, Guard):
            values = {**guard.variables, 'memory': memory, 'parameters': self._pattern.parameters}
            return bool(guard.expression.evaluate(Values(values)))
        function = self._function(guard)
        assert function is not None
        return bool(function(SimpleNamespace(**memory), Event(name='done')))

    def _chart_writes(self, callbacks: Iterable[Any]) -> Iterator[Write]:
        """Yield what the actions of a chart file do, as far as callbacks are such."""
        for callback in callbacks:
            if isinstance(callback, Action) and isinstance(self._pattern, ChartPattern):
                yield from writes_of(self._pattern.file, callback.steps)

    def _initial(self, name: str) -> Any:
        if name in type(self._pattern.parameters).model_fields:
            return getattr(self._pattern.parameters, name)
        return self._pattern.Memory.model_fields[name].get_default(call_default_factory=True)

    def _function(self, callback: Any) -> Callable[..., Any] | None:
        """Return a callback that gets memory and the event: a method, or a plain function."""
        code = getattr(self._pattern, callback, None) if isinstance(callback, str) else callback
        return code if inspect.ismethod(code) or isinstance(code, FunctionType) else None

    def _all_writes(self) -> _Writes:
        if self._writes is None:
            changed = type(self._pattern).remember is not Pattern.remember
            roots: list[Any] = [self._pattern.remember] if changed else []
            for state in self._states.values():
                roots += [*listify(state.get('on_enter')), *listify(state.get('on_exit'))]
            for _, declaration in self._declared:
                roots += [*listify(declaration.get('before')), *listify(declaration.get('after'))]
            if isinstance(self._pattern, ChartPattern):
                self._writes = _Writes()
                for write in self._chart_writes([*roots, self._pattern.plan.on_retry]):
                    if write.added is None:
                        self._writes.other.add(write.field)
                    else:
                        self._writes.added.setdefault(write.field, []).append(write.added)
            else:
                self._writes = _collect_writes(self._pattern, [*roots, self._pattern.on_retry])
        return self._writes


def _collect_writes(pattern: Pattern, actions: Iterable[Any]) -> _Writes:
    """Return what actions and all that they may call write."""
    callbacks = [part for action in actions for part in _parts_of(action)]
    modules = {name for part in callbacks if not (name := _module_of(pattern, part)).startswith(CORE)}
    others = {source_of(sys.modules[name]) for name in modules & sys.modules.keys()}
    sources = list(dict.fromkeys([*sources_of(pattern), *sorted(others)]))
    by_name: dict[str, list[ast.FunctionDef]] = {}
    for source in sources:
        for definition in _functions(source):
            by_name.setdefault(definition.name, []).append(definition)
    names = {name for part in callbacks if (name := _name_of(part))}
    unread = any(_is_unread(pattern, part, by_name) for part in callbacks)
    waiting, seen, writes = list(names), set(names), _Writes(unknown=unread or '' in sources)
    while waiting:
        for definition in by_name.get(waiting.pop(), ()):
            _note_writes(definition, writes)
            known = {*by_name, *HARMLESS}
            for node in ast.walk(definition):
                if isinstance(node, ast.Call) and _passes_memory(node) and _called(node) not in known:
                    writes.unknown |= not _is_handed(node.func, definition)
                name = node.attr if isinstance(node, ast.Attribute) else getattr(node, 'id', '')
                if name and name not in seen:
                    seen.add(name)
                    waiting.append(name)
    return writes


@lru_cache(maxsize=256)
def _functions(source: str) -> tuple[ast.FunctionDef, ...]:
    return tuple(node for node in ast.walk(tree_of(source)) if isinstance(node, ast.FunctionDef))


def _is_handed(function: ast.expr, definition: ast.FunctionDef) -> bool:
    """Return whether a function is an argument or a field of one: `_parts_of` has found those."""
    name = getattr(function.value if isinstance(function, ast.Attribute) else function, 'id', '')
    return name in {argument.arg for argument in definition.args.args} - {'self', 'memory', 'event'}


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, 'id', '')


def _passes_memory(node: ast.Call) -> bool:
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(getattr(item, 'id', getattr(item, 'attr', '')) == 'memory' for item in arguments)


def _parts_of(callback: Any) -> Iterator[Any]:
    """Yield a callback, or the functions and names that it was made with."""
    if isinstance(callback, partial):
        for part in (callback.func, *callback.args, *callback.keywords.values()):
            yield from _parts_of(part)
    elif isinstance(callback, AgentSpec):
        yield from (*_parts_of(callback.prompt), *_parts_of(callback.cast))
    elif is_dataclass(callback) and not isinstance(callback, type):
        for item in fields(callback):
            if callable(part := getattr(callback, item.name)):
                yield from _parts_of(part)
    else:
        yield callback


def _name_of(callback: Any) -> str:
    return callback if isinstance(callback, str) else getattr(callback, '__name__', '')


def _module_of(pattern: Pattern, callback: Any) -> str:
    code = getattr(pattern, callback, None) if isinstance(callback, str) else callback
    is_code = callable(code) and not isinstance(code, type)
    return str(getattr(code, '__module__', '')) if is_code else ''


def _is_unread(pattern: Pattern, callback: Any, by_name: Mapping[str, Any]) -> bool:
    """Return whether code is neither in the sources nor the engine's, as a lambda that names anything."""
    module, body = _module_of(pattern, callback), getattr(callback, '__code__', None)
    is_idle = body is not None and not (body.co_names or body.co_freevars)
    return bool(module) and not module.startswith(CORE) and _name_of(callback) not in by_name and not is_idle


def _note_writes(definition: ast.FunctionDef, writes: _Writes) -> None:
    for node in ast.walk(definition):
        if isinstance(node, ast.AugAssign) and (gain := _gain(node)):
            writes.added.setdefault(gain[0], []).append(gain[1])
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            writes.other.add(node.target.attr)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.withitem | ast.NamedExpr):
            stored = (item for item in ast.walk(node) if isinstance(item, ast.Attribute))
            writes.other |= {item.attr for item in stored if isinstance(item.ctx, ast.Store)}
        elif _sets_by_name(node):
            writes.unknown = True


def _sets_by_name(node: ast.AST) -> bool:
    """Return whether code may set fields that it does not name."""
    if isinstance(node, ast.Call):
        return getattr(node.func, 'id', '') in ('setattr', 'vars', 'exec')
    return isinstance(node, ast.Attribute) and node.attr in ('__dict__', '__setattr__')


def _gain(node: ast.AugAssign) -> tuple[str, int] | None:
    """Return the field and the number that a statement adds to it."""
    adds = isinstance(node.op, ast.Add) and isinstance(node.target, ast.Attribute)
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    if adds and isinstance(node.target, ast.Attribute) and type(value) is int and value > 0:
        return node.target.attr, value
    return None


def _definition(function: Callable[..., Any] | None) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))) if function else None
    except (OSError, TypeError, SyntaxError):  # Written in a console, or a part of a longer line.
        return None
    node = tree.body[0] if tree and tree.body else None
    return node if isinstance(node, ast.FunctionDef) else None


def _fields_compared_in(definition: ast.FunctionDef | None, name: str) -> set[str]:
    """Return the fields of memory on which a method depends that is a guard; see `_fields_compared`."""
    statements = definition.body if definition else []
    body = [item for item in statements if not (isinstance(item, ast.Expr) and _is_constant(item.value))]
    if definition is None or len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return set()
    memory = [argument.arg for argument in definition.args.args][-2:][:1]
    return _fields_compared(body[0].value, name, memory[0], 'self.parameters')


def _fields_compared(value: ast.expr, name: str, memory: str, parameters: str) -> set[str]:
    """Return the fields of memory on which an expression depends; none if it depends on anything else.

    Comparisons with the counter `name` must be of order, so that from some count on they stay as they are.

    Args:
        value: the expression.
        name: the counter.
        memory: what memory is called in it.
        parameters: what the parameters are called.
    """
    nodes = list(ast.walk(value))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own = [node for node in attributes if getattr(node.value, 'id', '') == memory]
    known = {parameters, *(f'{parameters}.{node.attr}' for node in attributes)}
    pure = all(node in own or ast.unparse(node) in known for node in attributes) and all(
        isinstance(node, PURE) and _is_monotonic(node, name, {parameters.partition('.')[0], memory})
        for node in nodes
    )
    names = {node.attr for node in own}
    return names if pure and name in names else set()


def _is_monotonic(node: ast.AST, name: str, known: set[str]) -> bool:
    """Return whether a part of an expression reads only known names, and changes with the counter once."""
    if isinstance(node, ast.Call):
        return getattr(node.func, 'id', '') in SIMPLE_CALLS
    if isinstance(node, ast.Name):
        return node.id in known | SIMPLE_CALLS
    if isinstance(node, ast.Compare) and _mentions(node, name):
        return all(isinstance(item, ORDERED) for item in node.ops)
    if isinstance(node, ast.BinOp) and _mentions(node, name):
        return isinstance(node.op, ast.Add | ast.Sub) and not _mentions(node.right, name)
    return True


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(item, ast.Attribute) and item.attr == name for item in ast.walk(node))
