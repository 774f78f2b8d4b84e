"""Words: where expressions and templates use a name, compared by parsing them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import jinja2

from engine.records import is_within

LEXER = jinja2.Environment(autoescape=True)
LOOP = re.compile(r'\s*\w+\s+in\s')


class Span(NamedTuple):
    """Where a word stands in a text."""

    start: int
    end: int


class Unreadable(ValueError):
    """An expression or a template that cannot be parsed."""


def fields_in(kind: str, text: str, holder: str, field: str) -> Iterator[Span]:
    """Yield where a text uses a field of `holder`: `memory.field` or `memory['field']`.

    Args:
        kind: whether it is a `template`, a `loop` (`item in expression`), or else an expression.
        text: the text.
        holder: the name before the field.
        field: the field.

    Raises:
        Unreadable: it cannot be parsed.
    """
    if kind == 'template':
        yield from _fields_in_template(text, holder, field)
        return
    start = _after_in(text) if kind == 'loop' else 0
    for span in _fields_in_expression(text[start:], holder, field):
        yield Span(start + span.start, start + span.end)


def texts_compared(kind: str, text: str, name: str) -> Iterator[tuple[Span, str]]:
    """Yield the texts that a text compares a name with: `at == 'writing'`, `role in ['critic']`.

    Raises:
        Unreadable: it cannot be parsed.
    """
    if kind == 'template':
        yield from _compared_in_template(text, name)
        return
    start = _after_in(text) if kind == 'loop' else 0
    for span, compared in _compared_in_expression(text[start:], name):
        yield Span(start + span.start, start + span.end), compared


def names_in(kind: str, text: str, name: str) -> Iterator[Span]:
    """Yield where a text uses a name. Raises `Unreadable`."""
    if kind == 'template':
        tokens = _tokens(text)
        for number, (token, value, span) in enumerate(tokens):
            if token == 'name' and value == name and (not number or tokens[number - 1][1] not in ('.', '|')):
                yield span
        return
    start = _after_in(text) if kind == 'loop' else 0
    source, tree = _parse(text[start:])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name:
            at = start + source.place(node.lineno, node.col_offset)
            yield Span(at, at + len(name))


def first_name(text: str) -> Span | None:
    """Return the name a path begins with: `drafts` in `drafts[-1].text`; None if it begins with none."""
    source, tree = _parse(text)
    node = tree
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    start = source.place(node.lineno, node.col_offset)
    return Span(start, start + len(node.id))


def path_in(text: str, path: str, name: str) -> Span | None:
    """Return where `name`, the last part of `path`, stands in a path that leads there or further inside."""
    if not is_within(text, path):
        return None
    return Span(len(path) - len(name), len(path))


def _fields_in_expression(text: str, holder: str, field: str) -> Iterator[Span]:
    source, tree = _parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (name, attr) == (holder, field):
                end = source.place(node.end_lineno, node.end_col_offset)
                yield Span(end - len(field), end)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key) as index) if (
                name,
                key,
            ) == (holder, field):
                yield source.inside(index, field)


def _compared_in_expression(text: str, name: str) -> Iterator[tuple[Span, str]]:
    source, tree = _parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Name) and side.id == name for side in sides):
            for side in sides:
                for part in side.elts if isinstance(side, ast.List | ast.Tuple) else (side,):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield source.inside(part, part.value), part.value


def _after_in(text: str) -> int:
    """Return where the expression begins in `item in expression`."""
    match = LOOP.match(text)
    return match.end() if match else 0


def _fields_in_template(text: str, holder: str, field: str) -> Iterator[Span]:
    tokens = _tokens(text)
    for number, (kind, value, span) in enumerate(tokens):
        before = [token[1] for token in tokens[max(0, number - 3) : number]]
        if kind == 'name' and value == field and before[-2:] == [holder, '.'] and before[:-2] != ['.']:
            yield span
        elif (
            kind == 'string'
            and value[1:-1] == field
            and before[-2:] == [holder, '[']
            and before[:-2] != ['.']
        ):
            yield Span(span.start + 1, span.end - 1)


def _compared_in_template(text: str, name: str) -> Iterator[tuple[Span, str]]:
    tokens = _tokens(text)
    for number, (kind, value, span) in enumerate(tokens):
        before = [token[1] for token in tokens[max(0, number - 2) : number]]
        after = [token[1] for token in tokens[number + 1 : number + 3]]
        compared = [sign in (['==', name], ['!=', name]) for sign in (before[::-1], after)]
        if kind == 'string' and any(compared):
            yield Span(span.start + 1, span.end - 1), value[1:-1]


class _Source(NamedTuple):
    text: str
    indent: int

    def place(self, line: int | None, column: int | None) -> int:
        """Return where a place in the syntax tree is in the text: Python's columns count bytes."""
        lines = self.text[self.indent :].split('\n')
        number = (line or 1) - 1
        before = lines[number].encode()[: column or 0].decode(errors='ignore')
        return self.indent + sum(len(other) + 1 for other in lines[:number]) + len(before)

    def inside(self, node: ast.Constant, value: str) -> Span:
        """Return where a text stands between its quotes."""
        start, end = (
            self.place(node.lineno, node.col_offset),
            self.place(node.end_lineno, node.end_col_offset),
        )
        at = self.text.find(value, start, end)
        if at < 0:
            raise Unreadable(f'{self.text[start:end]} is written with escapes')
        return Span(at, at + len(value))


def _parse(text: str) -> tuple[_Source, ast.expr]:
    indent = len(text) - len(text.lstrip())
    try:
        return _Source(text, indent), ast.parse(text.strip(), mode='eval').body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Unreadable(getattr(error, 'msg', '') or 'it cannot be parsed') from None


def _tokens(text: str) -> list[tuple[str, str, Span]]:
    """Return the tokens of a template, without what stands between its tags."""
    try:
        lexed = [(kind, value) for _, kind, value in LEXER.lex(text)]
    except jinja2.TemplateSyntaxError as error:
        raise Unreadable(error.message or 'it cannot be parsed') from None
    tokens, at = [], 0
    for kind, value in lexed:
        word = value.strip()  # The lexer leaves out white space around `{%-`, and the end of the last line.
        start = text.find(word, at)
        at = max(start, 0) + len(word)
        if word and kind not in ('data', 'raw_begin', 'raw_end', 'comment', 'comment_begin', 'comment_end'):
            tokens.append((kind, word, Span(start, at)))
    return tokens
