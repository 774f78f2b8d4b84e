"""Reads off a function's source what it looks at, without calling it."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from engine.pointer import escape

DEEPEST, MOST_CALLS = 5, 200
"""How far calls within calls are followed, and how many calls of one guard."""
ROOTS = ('', '/memory', '/parameters', '/agents', '/event', '/event/data')
"""What a look at the whole of would say nothing."""
Env = dict[str, 'At | Is | None']


@dataclass(frozen=True, slots=True)
class Look:
    """One thing that is looked at: a place in what is recorded, or a value that is fixed."""

    pointer: str = ''
    """Into a document with `memory`, `parameters`, `agents` (by path) and `event` (`data`, `ran`, `time`).

    A part in braces is itself a pointer, escaped: what stands there is the part.
    """
    named: str = ''
    """Of a value that is fixed: what it is called."""
    value: Any = None


@dataclass(frozen=True, slots=True)
class At:
    """An expression whose value stands at a JSON pointer; `kind` is its class where that is known."""

    pointer: str
    kind: type | None = None


@dataclass(frozen=True, slots=True)
class Is:
    """An expression whose value is known; `named` says how, where a person may want to know it."""

    value: Any
    named: str = ''


class Reader:
    """Follows a guard through its own source, and that of what it calls.

    Args:
        owner: the object whose `parameters` are the run's.
    """

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self._found: dict[str, Look] = {}
        self._calls = 0

    @property
    def looks(self) -> Iterator[Look]:
        """What was looked at, in order: of a place and what is inside it, only what is inside."""
        for key, look in self._found.items():
            if not any(other.startswith(f'{key}/') for other in self._found):
                yield look

    def follow(self, function: Any, given: Sequence[At | Is | None], depth: int = 0) -> At | Is | None:
        """Read a function that gets these arguments; what it returns, where that is such a thing."""
        self._calls += 1
        tree = _tree(function) if inspect.isfunction(function) else None
        if tree is None or depth > DEEPEST or self._calls > MOST_CALLS:
            return None
        names = [argument.arg for argument in (*tree.args.posonlyargs, *tree.args.args)]
        env: Env = dict.fromkeys(names) | dict(zip(names, given, strict=False))
        return _Body(self, function, env, depth).run(tree.body)

    def note(self, seen: At | Is | None) -> None:
        """Something is looked at."""
        if isinstance(seen, At) and seen.pointer not in ROOTS and not _is_root_of_agent(seen.pointer):
            self._found.setdefault(seen.pointer, Look(pointer=seen.pointer))
        elif isinstance(seen, Is) and seen.named and isinstance(seen.value, (bool, int, float, str)):
            self._found.setdefault(f'={seen.named}', Look(named=seen.named, value=seen.value))

    def attribute(self, base: At | Is | None, name: str, depth: int) -> At | Is | None:
        """What an attribute of something is; a property is read as the call that it is."""
        if base is None:
            return None
        if isinstance(base, Is) and base.value is self._owner and name == 'parameters':
            return At('/parameters')
        kind = base.kind if isinstance(base, At) else type(base.value)
        member = inspect.getattr_static(kind, name, None) if kind else None
        if isinstance(base, At) and base.pointer == '':
            return At(f'/{name}', base.kind if name == 'memory' else None)
        if isinstance(member, property):
            return self.follow(member.fget, [base], depth + 1)
        if isinstance(base, Is):
            return _held_by(base, name)
        known = inspect.isfunction(member)
        return Is(_Method(member, base)) if known else At(f'{base.pointer}/{escape(name)}', _kind(kind, name))


@dataclass(frozen=True, slots=True)
class _Method:
    function: Any
    owner: At


class _Body:
    """One function that is being read."""

    def __init__(self, reader: Reader, function: Any, env: Env, depth: int) -> None:
        self._reader, self._env, self._depth = reader, env, depth
        self._returned: list[At | Is | None] = []
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._around = {
            **vars(builtins),
            **function.__globals__,
            **{name: _held(cell) for name, cell in cells},
        }

    def run(self, body: Sequence[ast.stmt]) -> At | Is | None:
        """Read all of it; what it returns, where that is one place (or, else, one thing that is known)."""
        self._read(body)
        places = [one for one in self._returned if isinstance(one, At)]
        found = places if len(places) == 1 else self._returned
        if self._depth and len(found) == 1:
            return found[0]
        for one in self._returned:
            self._reader.note(one)
        return None

    def _read(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    self._returned.append(self._see(value))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._env[name] = self._see(value)
                case ast.Assert():
                    pass  # for the type checker
                case _:
                    for child in ast.iter_child_nodes(statement):
                        if isinstance(child, ast.expr):
                            self._use(child)
                    self._read([*getattr(statement, 'body', ()), *getattr(statement, 'orelse', ())])

    def _use(self, node: ast.expr) -> None:
        self._reader.note(self._see(node))

    def _see(self, node: ast.expr) -> At | Is | None:
        """What an expression is, where it is one thing; else all that it is made of is used."""
        match node:
            case ast.Constant(value=value):
                return Is(value)
            case ast.Name(id=name):
                return self._known(name)
            case ast.Attribute(value=value, attr=name):
                return self._reader.attribute(self._see(value), name, self._depth)
            case ast.Subscript(value=value, slice=key):
                return self._part(self._see(value), key)
            case ast.Call(func=function, args=arguments):
                return self._call(function, arguments)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self._comprehend(node)
            case ast.Lambda():
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._use(child)
        return None

    def _known(self, name: str) -> At | Is | None:
        if name in self._env:
            return self._env[name]
        return Is(self._around.get(name), name if name.isupper() else '')

    def _part(self, base: At | Is | None, key: ast.expr) -> At | Is | None:
        at = self._see(key)
        if isinstance(base, At) and isinstance(at, Is) and isinstance(at.value, (str, int)):
            return At(f'{base.pointer}/{escape(str(at.value))}', base.kind)
        if isinstance(base, At) and isinstance(at, At) and base.pointer not in ROOTS:
            return At(f'{base.pointer}/{{{escape(at.pointer)}}}', base.kind)
        self._reader.note(at)
        self._reader.note(base)
        return None

    def _call(self, called: ast.expr, arguments: Sequence[ast.expr]) -> At | Is | None:
        match called, arguments:
            case ast.Attribute(value=owner, attr='get'), [key, *_]:
                base = self._see(owner)
                if isinstance(base, At):
                    return self._part(base, key)
        function = self._see(called)
        value = function.value if isinstance(function, Is) else None
        given = [self._see(argument) for argument in arguments]
        if isinstance(value, _Method):
            return self._reader.follow(value.function, [value.owner, *given], self._depth + 1)
        if inspect.ismethod(value) and _is_ours(value):
            return self._reader.follow(value.__func__, [Is(value.__self__), *given], self._depth + 1)
        if inspect.isfunction(value) and _is_ours(value):
            return self._reader.follow(value, given, self._depth + 1)
        for one in given:
            self._reader.note(one)
        if isinstance(function, At):  # a method of a value: of a list, say
            self._reader.note(At(function.pointer.rpartition('/')[0]))
        return None

    def _comprehend(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        outside = self._env
        self._env = dict(outside)
        for loop in node.generators:
            self._use(loop.iter)
            for name in ast.walk(loop.target):
                if isinstance(name, ast.Name):
                    self._env[name.id] = None
            for condition in loop.ifs:
                self._use(condition)
        made: list[ast.expr | None] = [getattr(node, part, None) for part in ('key', 'value', 'elt')]
        for one in made:
            if one:
                self._use(one)
        self._env = outside


def _held_by(base: Is, name: str) -> At | Is | None:
    try:
        value = getattr(base.value, name)
    except Exception:  # a property of somebody else's may do anything
        return None
    if isinstance(value, (At, Is)):
        return value
    return Is(value, f'{base.named}.{name}' if base.named else '')


@cache
def _tree(function: Any) -> ast.FunctionDef | None:
    """The source of a function; None where there is none to be had."""
    try:
        made = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    # A file that was changed since it was loaded has other lines where the function was.
    if not isinstance(made, ast.FunctionDef) or made.name != function.__code__.co_name:
        return None
    return made


def _is_ours(function: Any) -> bool:
    """Whether a function is the engine's or a pattern's, and of no library."""
    root = str(function.__module__).partition('.')[0]
    return root not in sys.stdlib_module_names and root not in ('pydantic', 'pydantic_core')


def _kind(owner: type | None, name: str) -> type | None:
    """The record that a field of a record holds, where it holds one."""
    fields = getattr(owner, 'model_fields', {})
    wanted = fields[name].annotation if name in fields else None
    of = [wanted, *get_args(wanted)]
    return next((one for one in of if inspect.isclass(one) and issubclass(one, BaseModel)), None)


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _is_root_of_agent(pointer: str) -> bool:
    return pointer.startswith('/agents/') and pointer.count('/') == 2
