"""Rename: one name, everywhere in a chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from engine.charts.edits.base import ChartEdit, Name
from engine.charts.edits.mentions import Mention, Named, mentions
from engine.charts.edits.outline import Outline
from engine.charts.edits.words import (
    Span,
    Unreadable,
    after_in,
    fields_in_expression,
    fields_in_template,
    first_name,
    path_in,
    texts_compared,
    texts_compared_in_template,
)
from engine.errors import InvalidInput

HOLDERS = {'field': 'memory', 'parameter': 'parameters'}
"""What the fields of each are reached by in expressions and templates."""
NAMED_BY = {'role': 'answerer', 'guard': 'condition'}
"""Where else the name of each may stand."""
COMPARED = {'state': 'at', 'role': 'role'}
"""The names that expressions compare with the name of a state or a role."""


class Rename(ChartEdit):
    """Rename something everywhere: where it is declared, and wherever else the text refers to it.

    A memory field that starts with the value of a parameter has its name, so both are renamed.
    """

    kind: Literal['rename'] = 'rename'
    what: Named
    old: str
    """Its name; for a state, the path."""
    new: Name

    def change(self, outline: Outline) -> None:
        """Rename it in all mentions."""
        found = list(mentions(outline))
        kinds = self._kinds(found)
        if not kinds:
            raise InvalidInput({'old': f'there is no {self.what} {self.old!r} in the text'})
        for kind in kinds:
            self._refuse_clash(found, kind)
        for mention in found:
            spans = sorted({span for kind in kinds for span in self._spans(outline, mention, kind)})
            if spans:
                outline.document.rename(mention.node, [(*span, self.new) for span in spans])

    def _kinds(self, found: Sequence[Mention]) -> list[Named]:
        """Return what has the old name, as what is renamed: none if nothing declares it."""
        together: tuple[Named, ...] = ('field', 'parameter') if self.what in HOLDERS else (self.what,)
        named = [kind for kind in together if self.old in _declared(found, kind)]
        return named if self.what in named else []

    def _refuse_clash(self, found: Sequence[Mention], kind: Named) -> None:
        new = self.old[: len(self.old) - len(self._last)] + self.new
        if new != self.old and new in _declared(found, kind):
            raise InvalidInput({'new': f'there is already a {kind} {new!r}'})
        if kind not in ('state', 'role') and not self.new.isidentifier():
            raise InvalidInput({'new': f'expressions cannot use {self.new!r}: letters, digits and "_" only'})

    @property
    def _last(self) -> str:
        return self.old.rpartition('.')[2] if self.what == 'state' else self.old

    def _spans(self, outline: Outline, mention: Mention, kind: Named) -> Iterator[Span]:
        """Yield where a mention has the old name."""
        value = mention.node.value
        try:
            yield from self._spans_in(mention, kind)
        except Unreadable as problem:
            if self._last in value:  # It may be meant.
                where = f'line {outline.document.line(mention.node)}'
                raise InvalidInput({where: f'{value!r:.80} cannot be read: {problem}'}) from None

    def _spans_in(self, mention: Mention, kind: Named) -> Iterator[Span]:
        value = mention.node.value
        if kind == 'state' and mention.kind in ('state', 'answerer'):
            yield from _moved(path_in(f'{mention.scope}.{value}'.lstrip('.'), self.old, self._last), mention)
        elif value == self.old and mention.kind in (kind, NAMED_BY.get(kind)):
            yield Span(0, len(value))
        elif mention.kind == 'path' and kind == 'field':
            span = first_name(value)
            if span and value[slice(*span)] == self.old:
                yield span
        elif mention.kind in ('condition', 'expression', 'loop'):
            yield from self._spans_in_expression(
                value, kind, after_in(value) if mention.kind == 'loop' else 0
            )
        elif mention.kind == 'template':
            yield from self._spans_in_template(value, kind)

    def _spans_in_expression(self, value: str, kind: Named, start: int) -> Iterator[Span]:
        expression = value[start:]
        if kind in HOLDERS:
            spans = fields_in_expression(expression, HOLDERS[kind], self.old)
        else:
            spans = (
                self._compared(texts_compared(expression, COMPARED[kind])) if kind in COMPARED else iter(())
            )
        return (Span(start + span.start, start + span.end) for span in spans)

    def _spans_in_template(self, value: str, kind: Named) -> Iterator[Span]:
        if kind in HOLDERS:
            return fields_in_template(value, HOLDERS[kind], self.old)
        return (
            self._compared(texts_compared_in_template(value, COMPARED[kind]))
            if kind in COMPARED
            else iter(())
        )

    def _compared(self, texts: Iterator[tuple[Span, str]]) -> Iterator[Span]:
        for span, text in texts:
            inner = (
                path_in(text, self.old, self._last)
                if self.what == 'state'
                else Span(0, len(text))
                if text == self.old
                else None
            )
            if inner:
                yield Span(span.start + inner.start, span.start + inner.end)


def _declared(found: Sequence[Mention], kind: Named) -> set[str]:
    return {
        f'{mention.scope}.{mention.node.value}'.lstrip('.')
        for mention in found
        if mention.kind == kind and mention.defines
    }


def _moved(span: Span | None, mention: Mention) -> Iterator[Span]:
    """Yield a span in an absolute path as one in the mention, if it is in what the mention says."""
    hidden = len(mention.scope) + 1 if mention.scope else 0
    if span and span.start >= hidden:
        yield Span(span.start - hidden, span.end - hidden)
