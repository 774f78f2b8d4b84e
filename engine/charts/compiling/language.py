"""Language: expressions, templates and values of one chart file, compiled with its names."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from pydantic import BaseModel

from engine.charts.compiling.kinds import problems_in
from engine.charts.compiling.scope import DESIGN, NAMES
from engine.charts.compiling.templates import compile_template, is_template
from engine.charts.format import ChartFile
from engine.charts.reading import Place
from engine.statechart.expressions.compiler import Compiler, Defined, Evaluation, ExpressionError, Part
from engine.statechart.expressions.expression import Expression, parse_expression
from engine.statechart.memory import Memory

MAX_COMPILED = 500_000
"""Maximum number of characters of expressions and templates of a file, each counted wherever it is used."""
MAX_INLINE = 200
"""Maximum number of characters of a guard without a name: it is its own name in journals and diagrams."""
LOOP = re.compile(r'\s*([a-z][a-z0-9_]*)\s+in\s+(.+)', re.DOTALL)

Local = tuple[str, ...]
"""The variables at a place of a file."""
Names = Sequence[str]
"""The names that can be used there."""


class Note(Protocol):
    """Notes a problem at a place in the file, or in a line of the text there."""

    def __call__(self, path: Place, problem: str, inner: int = 1) -> None:
        """Note it."""


def nothing(run: Evaluation) -> Any:
    """Stand in for an expression that could not be parsed; the file is refused."""
    return None


class Language:
    """Compiles what a chart file says in expressions and templates.

    Args:
        file: the chart file.
        memory: its memory.
        parameters: its parameters.
        note: notes what is wrong.
    """

    def __init__(
        self, file: ChartFile, memory: type[Memory], parameters: type[BaseModel], note: Note
    ) -> None:
        self.file, self.memory, self.note = file, memory, note
        self.reads: set[str] = set()
        """The fields of memory that are read."""
        self.writes: set[str] = set()
        """Those that are written."""
        self.used: set[str] = set()
        """The names that are used."""
        self.varies = False
        """Whether the states, edges or roles depend on parameters."""
        self._left = MAX_COMPILED
        self._guards: dict[tuple[str, Any], Expression | None] = {}
        self.defined: dict[str, Defined] = {}
        self.kinds: dict[str, Any] = {'memory': memory, 'parameters': parameters}
        """The types of names, as far as they are known."""

    def expression(
        self, text: str, path: Place, local: Local = (), names: Names = tuple(NAMES)
    ) -> Expression | None:
        """Return an expression; None, and a problem, if it is wrong."""
        if not self._may_compile(text, path):
            return None
        try:
            expression = parse_expression(text, names, local, self._defined_for(names))
        except ExpressionError as error:
            self.note(path, str(error), error.line)
            return None
        self._check(expression.tree, path, names)
        self._note_use(expression.names, names)
        return expression

    def guard(self, name: str) -> Expression | None:
        """Return a guard of the file, compiled once; None, and a problem, if it is wrong."""
        key = (name, self.kinds.get('output'))
        if key not in self._guards:
            self._guards[key] = self.expression(self.file.guards[name].if_, ('guards', name))
        return self._guards[key]

    def part(self, text: str, path: Place, local: Local = (), names: Names = tuple(NAMES)) -> Part:
        """Return what computes an expression."""
        expression = self.expression(text, path, local, names)
        return expression.part if expression else nothing

    def template(self, text: str, path: Place, local: Local = (), names: Names = tuple(NAMES)) -> Part:
        """Return what gives the text of a template."""
        if not is_template(text):
            return lambda run: text
        if not self._may_compile(text, path):
            return nothing
        try:
            part, reader = compile_template(text, names, local, self._defined_for(names))
        except ExpressionError as error:
            self.note(path, str(error), error.line)
            return nothing
        for tree in reader.trees:
            self._check(tree, path, names)
        self._note_use(reader.compiler.names, names)
        return part

    def _may_compile(self, text: str, path: Place) -> bool:
        """Count a text that is to be compiled; return False, and note a problem, if there are too many."""
        self._left -= len(text)
        if self._left < 0:
            self.note(path, f'its expressions and templates have more than {MAX_COMPILED:,} characters')
        return self._left >= 0

    def _note_use(self, used: Collection[str], names: Names) -> None:
        self.used.update(used)
        self.varies |= names == DESIGN and bool(used)

    def define(self) -> None:
        """Compile the names that the file defines, each of which may use those before it."""
        for name, value in self.file.define.items():
            self.check_variable(name, ('define', name))
            self.used = set()
            at = ('define', name)
            expression = (
                self.expression(value, at) if isinstance(value, str) and not is_template(value) else None
            )
            part = expression.part if expression else self.value(value, at)
            tree = expression.tree if expression else None
            self.defined[name] = Defined(part, frozenset(self.used), tree)

    @contextmanager
    def answering(self, record: type[BaseModel] | None) -> Iterator[None]:
        """Take `output` for this record inside the block."""
        if record is not None:
            self.kinds['output'] = record
        yield
        self.kinds.pop('output', None)

    def _defined_for(self, names: Names) -> Mapping[str, Defined]:
        """Return the defined names that can be used beside these: they stand for parts of a run."""
        return self.defined if 'memory' in names else {}

    def value(self, value: Any, path: Place, local: Local = (), names: Names = tuple(NAMES)) -> Part:
        """Return what computes a value: of a text, an expression, or a template if it has `{{`.

        A mapping with only `text` is a text, which may be a template too.
        """
        if isinstance(value, str):
            read = self.template if is_template(value) else self.part
            return read(value, path, local, names)
        if isinstance(value, list):
            items = [self.value(item, (*path, number), local, names) for number, item in enumerate(value)]
            return lambda run: [item(run) for item in items]
        if isinstance(value, Mapping) and value.keys() == {'text'} and isinstance(value['text'], str):
            return self._text(value['text'], (*path, 'text'), local, names)
        if isinstance(value, Mapping):
            fields = {name: self.value(item, (*path, name), local, names) for name, item in value.items()}
            return lambda run: {name: item(run) for name, item in fields.items()}
        return lambda run: value

    def _text(self, text: str, path: Place, local: Local, names: Names) -> Part:
        root, *inside = re.split(r'[.[]', text)
        if text == 'text' or (inside and root in (*names, *local) and not is_template(text)):
            self.note(path, f'is the fixed text {text!r}: write `{{{{ {text} }}}}` for the value')
        return self.template(text, path, local, names)

    def loop(
        self, text: str, path: Place, local: Local = (), names: Names = tuple(NAMES)
    ) -> tuple[str, Part]:
        """Return the variable and the list of `item in list`."""
        match = LOOP.fullmatch(text)
        if match is None:
            self.note(path, 'write `item in list`')
            return 'item', nothing
        self.check_variable(match[1], path)
        return match[1], self.part(match[2], path, local, names)

    def check_variable(self, name: str, path: Place) -> None:
        """Note that a variable hides a name or a function, if it does."""
        try:
            Compiler(tuple(NAMES), defined=self.defined).check_local(name, ast.Name(id=name))
        except ExpressionError as error:
            self.note(path, error.problem)

    def condition(self, text: str, path: Place, local: Local = ()) -> Part:
        """Return what answers a guard by name, or an expression."""
        if text.strip() not in self.file.guards:
            return self.part(text, path, local)
        expression = self.guard(text.strip())
        return expression.part if expression else nothing

    def _check(self, tree: ast.expr, path: Place, names: Names) -> None:
        """Note what is not there, as far as it can be known."""
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id='memory'), attr=name):
                    self.reads.add(name)
                case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                    pass
                case _:
                    continue
            if name.startswith('_'):
                self.note(path, f'{name!r} cannot be used: no field begins with _', node.lineno)
        if names == tuple(NAMES) or names == DESIGN:
            for problem, line in problems_in(tree, self.kinds):
                self.note(path, problem, line)
