"""Rename: one name, everywhere in a chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from engine.charts.edits.base import ChartEdit
from engine.charts.edits.mentions import Mention, Named, mentions
from engine.charts.edits.outline import Outline
from engine.charts.edits.words import (
    Span,
    Unreadable,
    fields_in,
    first_name,
    names_in,
    path_in,
    texts_compared,
)
from engine.charts.format import FieldName, RecordName, RoleName, StateName
from engine.errors import InvalidInput

HOLDERS: Mapping[Named, str] = {'field': 'memory', 'parameter': 'parameters'}
"""What the fields of each are reached by in expressions and templates."""
COMPARED: Mapping[str, str] = {'state': 'at', 'role': 'role'}
"""The names that expressions compare with the name of a state or a role."""
NAMED_BY: Mapping[str, str] = {'role': 'answerer', 'guard': 'condition'}
"""What else may be the name of each."""
NAMES: Mapping[str, Any] = {'state': StateName, 'role': RoleName, 'record': RecordName}
"""What each may be called; others like a field."""


class Rename(ChartEdit):
    """Rename something everywhere: where it is declared, and wherever else the text refers to it.

    A memory field that starts with the value of a parameter has its name, so both are renamed.
    """

    kind: Literal['rename'] = 'rename'
    what: Named
    old: str
    """Its name; for a state, the path."""
    new: str

    def change(self, outline: Outline) -> None:
        """Rename it in all mentions."""
        named = list(mentions(outline))
        declared = {kind: _declared(named, kind) for kind in get_args(Named)}
        together = tuple(HOLDERS) if self.what in HOLDERS else (self.what,)
        if self.old not in declared[self.what]:
            raise InvalidInput({'old': f'there is no {self.what} {self.old!r} in the text'})
        try:
            TypeAdapter(NAMES.get(self.what, FieldName)).validate_python(self.new)
        except ValidationError:
            raise InvalidInput({'new': f'{self.new!r} cannot be the name of a {self.what}'}) from None
        kinds = [kind for kind in together if self.old in declared[kind]]
        for kind in kinds:
            if self.new != self._last and self._around + self.new in declared[kind]:
                raise InvalidInput({'new': f'there is already a {kind} {self._around + self.new!r}'})
        for mention in named:
            if mention.kind == 'answerer' and self.what == 'state' and mention.node.value in declared['role']:
                continue  # It is meant for the role.
            spans = sorted({span for kind in kinds for span in self._spans(outline, mention, kind)})
            if spans:
                outline.document.rename(mention.node, [(*span, self.new) for span in spans])

    @property
    def _last(self) -> str:
        return self.old.rpartition('.')[2] if self.what == 'state' else self.old

    @property
    def _around(self) -> str:
        return self.old[: len(self.old) - len(self._last)]

    def _spans(self, outline: Outline, mention: Mention, kind: Named) -> Iterator[Span]:
        """Yield where a mention has the old name."""
        value = mention.node.value
        if kind == 'state' and mention.kind in ('state', 'answerer'):
            yield from _moved(path_in(f'{mention.scope}.{value}'.lstrip('.'), self.old, self._last), mention)
        elif value == self.old and mention.kind in (kind, NAMED_BY.get(kind)):
            yield Span(0, len(value))
        elif mention.kind in ('path', 'condition', 'expression', 'loop', 'template'):
            try:
                yield from self._spans_in_code(mention, kind)
            except Unreadable as problem:
                if self._last in value:  # It may be meant.
                    where = f'line {outline.document.line(mention.node)}'
                    raise InvalidInput({where: f'{value!r:.80} cannot be read: {problem}'}) from None

    def _spans_in_code(self, mention: Mention, kind: Named) -> Iterator[Span]:
        value = mention.node.value
        span = first_name(value) if (mention.kind, kind) == ('path', 'field') else None
        if span and value[slice(*span)] == self.old:
            yield span
        if kind in HOLDERS:
            holders = [
                HOLDERS[kind],
                *(['this'] if (kind, mention.this) == ('parameter', 'parameters') else []),
            ]
            for holder in holders:
                yield from fields_in(mention.kind, value, holder, self.old)
        elif kind == 'definition':
            yield from names_in(mention.kind, value, self.old)
        elif kind in COMPARED:
            for span, text in texts_compared(mention.kind, value, COMPARED[kind]):
                whole = Span(0, len(text)) if text == self.old else None
                inner = path_in(text, self.old, self._last) if kind == 'state' else whole
                if inner:
                    yield Span(span.start + inner.start, span.start + inner.end)


def _declared(named: Sequence[Mention], kind: Named) -> set[str]:
    return {
        f'{mention.scope}.{mention.node.value}'.lstrip('.')
        for mention in named
        if mention.kind == kind and mention.defines
    }


def _moved(span: Span | None, mention: Mention) -> Iterator[Span]:
    """Yield a span in an absolute path as one in the mention, if it is in what the mention says."""
    hidden = len(mention.scope) + 1 if mention.scope else 0
    if span and span.start >= hidden:
        yield Span(span.start - hidden, span.end - hidden)
