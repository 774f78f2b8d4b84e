"""Templates: what a pattern's functions return as text, as far as templates of charts can say it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from engine.charts.export.operands import Known, Operand, Unsayable, Value, as_text, name, source, variable
from engine.charts.export.python import Reader, read_function

Piece = tuple[str, bool]
"""A part of a joined text: its template, and whether it is there in any case, just once."""
MARK, AFTER = '\0', '\1'
"""Where separators go, in a piece that may be missing or repeated: one before it, or one after it."""


def template_of(function: Any, pattern: Any, arguments: Sequence[Operand]) -> str:
    """Return the template for the text that a function returns. Raises `Unsayable`."""
    reader, statements = read_function(function, pattern, arguments)
    return _exact(TextReader(reader).body(statements))


class TextReader:
    """Reads the text that a function builds."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._texts: dict[str, ast.expr] = {}
        """Local names of texts and lists, as they are written."""
        self._lists: dict[str, list[Piece]] = {}
        """Local lists that are added to."""

    def body(self, statements: Sequence[ast.stmt]) -> str:
        """Return the template for what statements return. Raises `Unsayable`."""
        for index, statement in enumerate(statements):
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return self.text(value)
                case ast.Expr(value=ast.Constant()) | ast.Assert():
                    pass
                case ast.If(test=test, body=[*_, ast.Return()] as inner, orelse=other):
                    return self._choice(test, self.body(inner), self.body([*other, *statements[index + 1 :]]))
                case _:
                    self._note(statement)
        raise Unsayable('it returns nothing')

    def text(self, node: ast.expr) -> str:
        """Return the template for a text. Raises `Unsayable`."""
        match node:
            case ast.JoinedStr(values=parts):
                return ''.join(map(self._part, parts))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.text(left) + self.text(right)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._choice(test, self.text(body), self.text(other))
            case ast.Name(id=local) if local in self._texts:
                return self.text(self._texts[local])
            case ast.Call(func=ast.Attribute(value=separator, attr='join'), args=[items]):
                return _joined(self.text(separator), self._pieces(items))
        return self._shown(node)

    def _shown(self, node: ast.expr) -> str:
        """Return the template for what a function returns, or for any other value."""
        if isinstance(node, ast.Call) and (function := self._function(node.func)):
            reader, statements = self._reader.inside(function, self._reader.arguments(node))
            return TextReader(reader).body(statements)
        value = self._reader.value(node)
        if isinstance(value, Known) and isinstance(value.value, str | int | float):
            return literal(str(value.value))
        return shown(as_text(value))

    def _function(self, node: ast.expr) -> Any:
        """Return the function that is called, if it is one that may build a text."""
        try:
            function = self._reader.value(node)
        except Unsayable:  # A method of a value.
            return None
        callee = function.value if isinstance(function, Known) else None
        return None if isinstance(callee, type | type(len)) else callee

    def _choice(self, test: ast.expr, first: str, second: str) -> str:
        other = f'{{% else %}}{second}' if second else ''
        return f'{{% if {self._condition(test)} %}}{first}{other}{{% endif %}}'

    def _part(self, part: ast.expr) -> str:
        match part:
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self.text(value)
            case ast.Constant(value=str() as value):
                return literal(value)
        raise Unsayable(f'{source(part)} is formatted by Python')

    def _condition(self, node: ast.expr) -> str:
        return _in_template(self._reader.tree(node))

    def _note(self, statement: ast.stmt) -> None:
        """Note what a statement before the end does for the text."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.List() as value):
                self._lists[local] = self._pieces(value)
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                with suppress(Unsayable):
                    self._reader.assign(statement)
                self._texts[local] = value
            case ast.AugAssign(target=ast.Name(id=local), value=value) if local in self._lists:
                self._lists[local] = [*self._lists[local], *self._pieces(value)]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=local)), args=[item])):
                if local not in self._lists or ast.unparse(statement).partition('(')[0] != f'{local}.append':
                    raise Unsayable(f'{source(statement)} has no counterpart')
                self._lists[local] = [*self._lists[local], (self.text(item), True)]
            case ast.If(test=test, body=inner, orelse=[]):
                self._add(f'if {self._condition(test)}', 'endif', self._copy(), inner)
            case ast.For(target=target, iter=items, body=inner, orelse=[]):
                head, reader = self._loop(target, items, [])
                self._add(head, 'endfor', reader, inner)
            case _ if not self._reader.assign(statement):
                raise Unsayable(f'{source(statement)} has no counterpart')

    def _add(self, head: str, end: str, reader: TextReader, statements: Sequence[ast.stmt]) -> None:
        """Add to the lists what statements add that are done on a condition, or repeatedly."""
        reader._lists = {local: [] for local in self._lists}
        for statement in statements:
            reader._note(statement)
        for local, pieces in self._lists.items():
            self._lists[local] = [*pieces, *_wrapped(head, end, reader._lists[local])]

    def _pieces(self, node: ast.expr) -> list[Piece]:
        """Return the texts of a list. Raises `Unsayable`."""
        match node:
            case ast.Name(id=local) if local in self._lists:
                return self._lists[local]
            case ast.Name(id=local) if local in self._texts:
                return self._pieces(self._texts[local])
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [piece for item in items for piece in self._item(item)]
            case ast.ListComp(elt=item, generators=[each]) | ast.GeneratorExp(elt=item, generators=[each]):
                head, reader = self._loop(each.target, each.iter, each.ifs)
            case ast.Call(func=ast.Name(id='map'), args=[function, values]):
                item = ast.Call(function, [ast.Name('item')], [])
                head, reader = self._loop(ast.Name('item'), values, [])
            case _:
                item = ast.Name('item')
                head, reader = self._loop(item, node, [])
        return _wrapped(head, 'endfor', [(reader.text(item), True)])

    def _item(self, item: ast.expr) -> list[Piece]:
        return self._pieces(item.value) if isinstance(item, ast.Starred) else [(self.text(item), True)]

    def _loop(self, target: ast.expr, items: ast.expr, tests: Sequence[ast.expr]) -> tuple[str, TextReader]:
        """Return the head of a loop, and a reader of what is in it."""
        inner, counted = self._copy(), ''
        match target, items:
            case ast.Tuple(elts=[ast.Name(id=number), target]), ast.Call(func=ast.Name(id='enumerate')):
                words = {word.arg: word.value for word in items.keywords}
                start = self._reader.value(words.get('start', ast.Constant(0)))
                first = start.value if isinstance(start, Known) and isinstance(start.value, int) else None
                if first is None:
                    raise Unsayable(f'{source(items)} has no counterpart')
                inner._reader.names[number] = Value(name(variable(number)), int)
                plus = f' {first - 1:+}' if first != 1 else ''
                counted = f' %}}{{% set {variable(number)} = loop.index{plus}'
                items = items.args[0]
        local, tree, inside = inner._reader.loop(target, items)
        inner._reader, conditions = inside, list[ast.expr]()
        if isinstance(tree, ast.ListComp) and ast.unparse(tree.elt) == local:
            [each] = tree.generators
            if ast.unparse(each.target) == local:
                tree, conditions = each.iter, list(each.ifs)
        conditions += [inner._reader.tree(test) for test in tests]
        head = f'for {local} in {_in_template(tree)}'
        if conditions:
            test = ast.BoolOp(ast.And(), conditions) if len(conditions) > 1 else conditions[0]
            head += f' if {_in_template(test)}'
        return head + counted, inner

    def _copy(self) -> TextReader:
        inner = TextReader(self._reader.copy())
        inner._texts, inner._lists = dict(self._texts), dict(self._lists)
        return inner


def _in_template(tree: ast.expr) -> str:
    """Return an expression as templates have it. Raises `Unsayable`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ListComp):
            raise Unsayable(f'{source(node)} cannot be in a template')
    text = ast.unparse(tree)
    return f'({text})' if isinstance(tree, ast.IfExp) else text


def shown(tree: ast.expr) -> str:
    """Return what shows a value, or a text, in a template. Raises `Unsayable`."""
    match tree:
        case ast.Call(func=ast.Name(id='string'), args=[value]):
            tree = value
    return f'{{{{ {_in_template(tree)} }}}}'


def _joined(separator: str, pieces: Sequence[Piece]) -> str:
    """Return pieces with separators between them, whichever of them are there. Raises `Unsayable`."""
    fixed = next((index for index, (_, is_fixed) in enumerate(pieces) if is_fixed), None)
    if fixed is not None:
        before = [text.replace(AFTER, separator).replace(MARK, '') for text, _ in pieces[:fixed]]
        after = [
            separator + text if is_fixed else text.replace(AFTER, '').replace(MARK, separator)
            for text, is_fixed in pieces[fixed + 1 :]
        ]
        return ''.join([*before, pieces[fixed][0], *after])
    if len(pieces) == 1 and pieces[0][0].startswith('{% for'):
        between = f'{{% if not loop.first %}}{separator}{{% endif %}}' if separator else ''
        return pieces[0][0].replace(AFTER, '').replace(MARK, between)
    raise Unsayable('which of its parts comes first is decided by Python')


def _wrapped(head: str, end: str, pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces that may be missing or repeated: each brings its separators with it."""
    marked = [f'{MARK}{text}{AFTER}' if is_fixed else text for text, is_fixed in pieces]
    return [(f'{{% {head} %}}{text}{{% {end} %}}', False) for text in marked]


def _exact(template: str) -> str:
    """Return a template that keeps line ends after its tags, and spaces before them; a chart's drops them."""
    return re.sub(r'(?m)(^[ \t]+)\{% ', r'\1{%+ ', re.sub(r' %\}(?=\n)', ' +%}', template))


def literal(text: str) -> str:
    """Return a text so that a template shows it as it is."""
    return re.sub(r'\{\{|\{%|\{#', lambda match: f"{{{{ '{match[0]}' }}}}", text)
