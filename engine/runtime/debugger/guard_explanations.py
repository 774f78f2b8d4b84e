"""Guard explanations: how each guard describes itself, and the values it read."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from engine.records import Event, GuardResult, StatePath
from engine.records.document import escape_token, resolve_pointer, split_pointer
from engine.records.jsonable import shorten
from engine.records.shape import parent_of
from engine.statechart.decision_cache import needs_context
from engine.statechart.expressions.expression import Expression
from engine.statechart.shape_builder import callback_name, declared_edges, listify, walk

if TYPE_CHECKING:
    from engine.statechart.pattern import Pattern

MAX_VALUES = 6
"""Maximum number of values listed for a guard."""
MAX_DEPTH, MAX_CALLS = 5, 200
"""Maximum depth of nested calls to follow, and maximum number of calls per guard."""
ROOTS = ('', '/memory', '/parameters', '/agents', '/event', '/event/data')
"""Locations too broad for an access to them to be informative."""
MISSING = object()
Env = dict[str, 'PathRef | Constant | None']


@dataclass(frozen=True, slots=True)
class GuardExplanation:
    """What is known about a guard's result without evaluating it again."""

    says: str
    """The first sentence of its docstring, or ''."""
    values: tuple[tuple[str, Any], ...] = ()
    """The values it reads, as far as can be determined: names, and the JSON values at the time."""


class GuardExplanations:
    """Explanations for all guards of a run.

    Calls no pattern code: its functions' source is analyzed to find the values they read. The result reflects
    the pattern's present code. An older run's values are its own, but its code may have read others.
    """

    def __init__(self, pattern: Pattern | None, parameters: Mapping[str, Any]) -> None:
        """Analyze a pattern; None if it no longer exists, in which case nothing is known."""
        self._parameters = parameters
        self._known: dict[tuple[str, str, str], tuple[str, tuple[Access, ...]]] = {}
        for edge, item in declared_edges(pattern, walk(pattern.chart_states())) if pattern else ():
            home = parent_of(edge.source)
            for guard in (*listify(item.get('conditions')), *listify(item.get('unless'))):
                self._known[edge.source, edge.dest, callback_name(guard)] = _analyze_guard(
                    pattern, guard, home
                )

    def of(
        self, source: str, dest: str, guard: str, before: Mapping[str, Any], event: Event
    ) -> GuardExplanation:
        """Return what a guard of an edge saw.

        Args:
            source: the edge's source.
            dest: the edge's destination.
            guard: its name.
            before: the fold's document before the step.
            event: the event that caused the step.
        """
        says, accesses = self._known.get((source, dest, guard), ('', ()))
        event_fields = {'data': event.data, 'ran': event.ran, 'time': event.time}
        document = {**before, 'parameters': self._parameters, 'event': event_fields}
        values = ((_name_location(access, document), _read_value(access, document)) for access in accesses)
        return GuardExplanation(says, tuple((name, value) for name, value in values if value is not MISSING))

    def says(self, source: str, dest: str, guard: str) -> str:
        """Return how a guard of an edge describes itself, or ''."""
        return self._known.get((source, dest, guard), ('', ()))[0]

    def refusal(self, guard: GuardResult, before: Mapping[str, Any], event: Event) -> str:
        """Return why a guard rejected an event, in words: its name, its description, and what it saw."""
        explanation = self.of(guard.source, guard.dest, guard.name, before, event)
        seen = [f'{name} = {_brief(value)}' for name, value in explanation.values]
        if event.data and not any(name.startswith('event.') for name, _ in explanation.values):
            seen.insert(0, f'event = {shorten(event.data)}')
        says = f': {explanation.says.rstrip(".")}' if explanation.says else ''
        answer = 'true' if guard.value else 'false'
        return f'{guard.name} is {answer}{says}' + (f' ({", ".join(seen)})' if seen else '')


def _brief(value: Any) -> str:
    """Format a value for a sentence; for a mapping of records, only the keys."""
    if isinstance(value, Mapping) and all(isinstance(item, Mapping) for item in value.values()):
        value = list(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ', '.join(value) or 'nothing'
    return shorten(value)


def _analyze_guard(
    pattern: Any, guard: str | Callable[..., Any], home: StatePath
) -> tuple[str, tuple[Access, ...]]:
    expression = getattr(guard, 'expression', None)
    if isinstance(expression, Expression):
        accesses = tuple(accesses_of(expression, getattr(guard, 'variables', {})))[:MAX_VALUES]
        return '' if expression.text == callback_name(guard) else expression.text, accesses
    analyzer, owner, event = GuardAnalyzer(pattern), Constant(pattern), PathRef('/event')
    if isinstance(guard, str):
        function = getattr(type(pattern), guard, None)
        analyzer.follow(function, [owner, PathRef('/memory', pattern.Memory), event])
    else:
        function, bound = (guard.func, guard.args) if isinstance(guard, partial) else (guard, ())
        code = getattr(function, '__code__', None)
        named = zip(code.co_varnames if code else (), bound, strict=False)
        first: PathRef | Constant = PathRef('/memory', pattern.Memory)
        if needs_context(guard):
            first = Constant(_Scope(owner, PathRef('', pattern.Memory), home))
        analyzer.follow(function, [*(Constant(value, name) for name, value in named), first, event])
    says = (getattr(function, '__doc__', None) or '').strip().partition('\n')[0]
    return says, tuple(analyzer.accesses)[:MAX_VALUES]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Stands in for a `CallbackContext`."""

    pattern: Constant
    state: PathRef
    path: str


def _read_value(access: Access, document: Any) -> Any:
    return (
        resolve_pointer(document, _parts(access.pointer, document), MISSING)
        if access.pointer
        else access.value
    )


def _parts(pointer: str, document: Any) -> Iterator[str]:
    for part in split_pointer(pointer):
        inner = part.startswith('{')
        yield str(_read_value(Access(pointer=part[1:-1]), document)) if inner else part


def _name_location(access: Access, document: Any) -> str:
    """Return a readable location: memory and parameters need no prefix, constants are marked as such."""
    if not access.pointer:
        words = access.named.rpartition('.')[2].replace('_', ' ').strip()
        return f'{words.lower()} (constant)' if words.isupper() else access.named
    root, *parts = _parts(access.pointer, document)
    match root:
        case 'agents':
            parts[0] = 'agent'
        case 'event':
            parts = [root, *(part for part in parts if part != 'data')]
    return '.'.join(parts)


@dataclass(frozen=True, slots=True)
class Access:
    """Something a guard reads: a location in the recorded data, or a constant."""

    pointer: str = ''
    """Into a document with `memory`, `parameters`, `agents` (by path) and `event` (`data`, `ran`, `time`).

    A part in braces is itself an escaped pointer: the value it points to is the part.
    """
    named: str = ''
    """For a constant: its name."""
    value: Any = None


@dataclass(frozen=True, slots=True)
class PathRef:
    """An expression whose value is at a JSON Pointer; `kind` is its class, if known."""

    pointer: str
    kind: type | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    """An expression with a known value; `named` is its name, if of interest to people."""

    value: Any
    named: str = ''


IN_DATA = ('output', 'text', 'error', 'model')
"""Names in the expressions of chart files that stand for a part of the event's data."""


def accesses_of(expression: Expression, variables: Mapping[str, Any]) -> Iterator[Access]:
    """Yield what a guard of a chart file reads, without locations that contain another of them."""
    pointers: dict[str, Access] = {}
    nodes = (node for tree in _trees(expression) for node in _outermost(tree))
    for node in nodes:
        parts = _location(node)
        match parts:
            case [name] if name in variables:
                pointers[f'={name}'] = Access(named=name, value=variables[name])
            case ['memory' | 'parameters', _, *_]:
                pointers['/' + '/'.join(map(escape_token, parts))] = Access()
            case ['data', *rest] | [*rest] if parts[0] in ('data', *IN_DATA):
                pointers['/'.join(['/event/data', *map(escape_token, rest)])] = Access()
    for pointer, access in pointers.items():
        if access.named:
            yield access
        elif pointer not in ROOTS and not any(other.startswith(f'{pointer}/') for other in pointers):
            yield Access(pointer=pointer)


def _trees(expression: Expression) -> Iterator[ast.expr]:
    """Yield an expression, and those that names in it stand for."""
    waiting, seen = [expression.tree], set[str]()
    while waiting:
        tree = waiting.pop()
        yield tree
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - seen
        seen |= names
        defined = (expression.defined[name].tree for name in sorted(names) if name in expression.defined)
        waiting += filter(None, defined)


def _outermost(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the names in an expression, each with what reaches into it."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        yield node
        while isinstance(node, ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Subscript):
                yield from _outermost(node.slice)
            node = node.value
        if not isinstance(node, ast.Name):
            yield from _outermost(node)
    else:
        inner = node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
        for child in inner:
            yield from _outermost(child)


def _location(node: ast.AST) -> list[str]:
    """Return a name and the keys that lead into it, as far as they are known."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=inner, attr=name):
            return [*_location(inner), name]
        case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
            return [*_location(inner), str(key)]
        case ast.Subscript(value=inner):
            return _location(inner)
    return ['']


class GuardAnalyzer:
    """Follows a guard through its own source, and that of the functions it calls.

    Args:
        owner: the object whose `parameters` are the run's.
    """

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._found: dict[str, Access] = {}
        self._calls = 0

    @property
    def accesses(self) -> Iterator[Access]:
        """The accesses in order, without locations that contain another of them."""
        for key, access in self._found.items():
            if not any(other.startswith(f'{key}/') for other in self._found):
                yield access

    def follow(
        self, function: Any, arguments: Sequence[PathRef | Constant | None], depth: int = 0
    ) -> PathRef | Constant | None:
        """Analyze a function called with these arguments; return its result, if that can be tracked."""
        self._calls += 1
        tree = _tree(function) if inspect.isfunction(function) else None
        if tree is None or depth > MAX_DEPTH or self._calls > MAX_CALLS:
            return None
        names = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
        env: Env = dict.fromkeys(names) | dict(zip(names, arguments, strict=False))
        return _Body(self, function, env, depth).run(tree.body)

    def note(self, value: PathRef | Constant | None) -> None:
        """Record an access."""
        if isinstance(value, PathRef) and value.pointer not in ROOTS and not _is_root_of_agent(value.pointer):
            self._found.setdefault(value.pointer, Access(pointer=value.pointer))
        elif isinstance(value, Constant) and value.named and isinstance(value.value, (bool, int, float, str)):
            self._found.setdefault(f'={value.named}', Access(named=value.named, value=value.value))

    def attribute(self, base: PathRef | Constant | None, name: str, depth: int) -> PathRef | Constant | None:
        """Return the value of an attribute; a property is analyzed as a call."""
        if base is None:
            return None
        if isinstance(base, Constant) and base.value is self._owner and name == 'parameters':
            return PathRef('/parameters')
        kind = base.kind if isinstance(base, PathRef) else type(base.value)
        member = inspect.getattr_static(kind, name, None) if kind else None
        if isinstance(base, PathRef) and base.pointer == '':
            return PathRef(f'/{name}', base.kind if name == 'memory' else None)
        if isinstance(member, property):
            return self.follow(member.fget, [base], depth + 1)
        if isinstance(base, Constant):
            return _attribute(base, name)
        is_method = inspect.isfunction(member)
        return (
            Constant(_Method(member, base))
            if is_method
            else PathRef(f'{base.pointer}/{escape_token(name)}', _kind(kind, name))
        )


@dataclass(frozen=True, slots=True)
class _Method:
    function: Any
    owner: PathRef


class _Body:
    """One function being analyzed."""

    def __init__(self, analyzer: GuardAnalyzer, function: Any, env: Env, depth: int) -> None:
        self._analyzer, self._env, self._depth = analyzer, env, depth
        self._returned: list[PathRef | Constant | None] = []
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._globals = {
            **vars(builtins),
            **function.__globals__,
            **{name: _cell_value(cell) for name, cell in cells},
        }

    def run(self, body: Sequence[ast.stmt]) -> PathRef | Constant | None:
        """Analyze the whole body; return its result if that is one location or, failing that, a constant."""
        self._analyze_body(body)
        places = [value for value in self._returned if isinstance(value, PathRef)]
        results = places if len(places) == 1 else self._returned
        if self._depth and len(results) == 1:
            return results[0]
        for value in self._returned:
            self._analyzer.note(value)
        return None

    def _analyze_body(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    self._returned.append(self._resolve(value))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._env[name] = self._resolve(value)
                case ast.Assert():
                    pass  # for the type checker
                case _:
                    for child in ast.iter_child_nodes(statement):
                        if isinstance(child, ast.expr):
                            self._note_access(child)
                    self._analyze_body([*getattr(statement, 'body', ()), *getattr(statement, 'orelse', ())])

    def _note_access(self, node: ast.expr) -> None:
        self._analyzer.note(self._resolve(node))

    def _resolve(self, node: ast.expr) -> PathRef | Constant | None:
        """Return the single value an expression stands for; otherwise all its parts count as accessed."""
        match node:
            case ast.Constant(value=value):
                return Constant(value)
            case ast.Name(id=name):
                return self._look_up(name)
            case ast.Attribute(value=value, attr=name):
                return self._analyzer.attribute(self._resolve(value), name, self._depth)
            case ast.Subscript(value=value, slice=key):
                return self._part(self._resolve(value), key)
            case ast.Call(func=function, args=arguments):
                return self._call(function, arguments)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self._analyze_comprehension(node)
            case ast.Lambda():
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._note_access(child)
        return None

    def _look_up(self, name: str) -> PathRef | Constant | None:
        if name in self._env:
            return self._env[name]
        return Constant(self._globals.get(name), name if name.isupper() else '')

    def _part(self, base: PathRef | Constant | None, key: ast.expr) -> PathRef | Constant | None:
        at = self._resolve(key)
        if isinstance(base, PathRef) and isinstance(at, Constant) and isinstance(at.value, (str, int)):
            return PathRef(f'{base.pointer}/{escape_token(str(at.value))}', base.kind)
        if isinstance(base, PathRef) and isinstance(at, PathRef) and base.pointer not in ROOTS:
            return PathRef(f'{base.pointer}/{{{escape_token(at.pointer)}}}', base.kind)
        self._analyzer.note(at)
        self._analyzer.note(base)
        return None

    def _call(self, called: ast.expr, arguments: Sequence[ast.expr]) -> PathRef | Constant | None:
        match called, arguments:
            case ast.Attribute(value=owner, attr='get'), [key, *_]:
                base = self._resolve(owner)
                if isinstance(base, PathRef):
                    return self._part(base, key)
        function = self._resolve(called)
        value = function.value if isinstance(function, Constant) else None
        values = [self._resolve(argument) for argument in arguments]
        if isinstance(value, _Method):
            return self._analyzer.follow(value.function, [value.owner, *values], self._depth + 1)
        if inspect.ismethod(value) and _is_own_code(value):
            return self._analyzer.follow(value.__func__, [Constant(value.__self__), *values], self._depth + 1)
        if inspect.isfunction(value) and _is_own_code(value):
            return self._analyzer.follow(value, values, self._depth + 1)
        for argument_value in values:
            self._analyzer.note(argument_value)
        if isinstance(function, PathRef):  # a method of a value, such as a list's
            self._analyzer.note(PathRef(function.pointer.rpartition('/')[0]))
        return None

    def _analyze_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        outside = self._env
        self._env = dict(outside)
        for loop in node.generators:
            self._note_access(loop.iter)
            for name in ast.walk(loop.target):
                if isinstance(name, ast.Name):
                    self._env[name.id] = None
            for condition in loop.ifs:
                self._note_access(condition)
        results: list[ast.expr | None] = [getattr(node, part, None) for part in ('key', 'value', 'elt')]
        for result in results:
            if result:
                self._note_access(result)
        self._env = outside


def _attribute(base: Constant, name: str) -> PathRef | Constant | None:
    try:
        value = getattr(base.value, name)
    except Exception:  # a property of a foreign class may do anything
        return None
    if isinstance(value, (PathRef, Constant)):
        return value
    return Constant(value, f'{base.named}.{name}' if base.named else '')


@cache
def _tree(function: Any) -> ast.FunctionDef | None:
    """Return the syntax tree of a function; None if its source is unavailable."""
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    # If the file has changed since it was loaded, these lines may hold something else.
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__code__.co_name:
        return None
    return definition


def _is_own_code(function: Any) -> bool:
    """Return whether a function belongs to the engine or a pattern, not to a library."""
    root = str(function.__module__).partition('.')[0]
    return root not in sys.stdlib_module_names and root not in ('pydantic', 'pydantic_core')


def _kind(owner: type | None, name: str) -> type | None:
    """Return the record class of a record's field, if it holds one."""
    fields = getattr(owner, 'model_fields', {})
    annotation = fields[name].annotation if name in fields else None
    kinds = [annotation, *get_args(annotation)]
    return next((kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, BaseModel)), None)


def _cell_value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _is_root_of_agent(pointer: str) -> bool:
    return pointer.startswith('/agents/') and pointer.count('/') == 2
