"""Document: a YAML text with its nodes, of which pieces are replaced; the rest stays as it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import yaml

from engine.charts.edits.spelling import is_text, spell, spell_entry, spell_key
from engine.charts.reading import Problems, read_chart

BLANK = re.compile(r'(?:\s|(?<=\s)#[^\n]*)*')
"""What means nothing between two tokens: white space and comments."""
BOM = '\ufeff'


class Entry(NamedTuple):
    """One entry of a mapping or a list."""

    start: int
    """Where its key begins, or its dash, or in a list in brackets its value."""
    end: int
    """Where its value ends; comments and blank lines after it are not part of it."""


class Document:
    """A text, as YAML reads it. Places in it are counted in characters."""

    def __init__(self, text: str) -> None:
        """Raises `InvalidInput` if the text is no YAML that a chart may be; names the line."""
        self._bom = BOM if text.startswith(BOM) else ''
        self.text = text.removeprefix(BOM)
        self._newline = '\r\n' if '\r\n' in text else '\n'
        self._pieces: list[tuple[int, int, str]] = []
        root = read_chart(self.text, Problems('chart'))[0].root
        assert isinstance(root, yaml.MappingNode)
        self.root = root
        self._quoted = bool(root.flow_style and root.value and root.value[0][0].style == '"')

    def apply(self) -> str:
        """Return the text with all replacements."""
        parts, at = [self._bom], 0
        for start, end, new in sorted(self._pieces, key=lambda piece: piece[:2]):
            assert start >= at, 'two replacements overlap'
            parts += [self.text[at:start], new]
            at = end
        return ''.join([*parts, self.text[at:]])

    def line(self, node: yaml.Node) -> int:
        """Return the line in which a node begins, from 1."""
        return int(node.start_mark.line) + 1

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace a piece of the text."""
        self._pieces.append((start, end, new))

    # Keys and items

    def insert_item(self, items: yaml.SequenceNode, index: int, value: Any) -> None:
        """Insert a value into a list that has items."""
        self._insert(items, index, '-', value)

    def insert_key(self, fields: yaml.MappingNode, index: int, key: str, value: Any) -> None:
        """Insert a key with its value into a mapping that has keys."""
        self._insert(fields, index, f'{spell_key(key, quoted=self._quoted)}:', value)

    def fill(self, key: yaml.Node, empty: yaml.Node, value: Any) -> None:
        """Give a key a value in place of none, `{}` or `[]`."""
        prefix = self.text[key.start_mark.index : self._colon(key)]
        indent = self._column(key.start_mark.index)
        if self._in_flow(key.start_mark.index):
            self.replace(
                empty.start_mark.index, self.end(empty), f' {self._spell(value)}'[not self._is_void(empty) :]
            )
            return
        first, *more = spell_entry(prefix, value, indent, flat=False)
        start = self._colon(key)
        self.replace(start, max(self.end(empty), start), first[len(prefix) :])
        if more:
            at = self._line_end(max(self.end(empty), start))
            self.replace(at, at, ''.join(self._newline + line for line in more))

    def set_value(self, key: yaml.Node, old: yaml.Node, value: Any) -> None:
        """Replace the value of a key."""
        start, end = self._colon(key), self.end(old)
        prefix = self.text[key.start_mark.index : start]
        if self._in_flow(key.start_mark.index):
            self.replace(start, max(start, end), f' {self._spell(value)}')
            return
        lines = spell_entry(prefix, value, self._column(key.start_mark.index))
        self.replace(start, max(start, end), self._newline.join(lines)[len(prefix) :])

    def set_scalar(self, old: yaml.Node, value: Any) -> None:
        """Replace a value that stands by itself, or within brackets."""
        self.replace(old.start_mark.index, self.end(old), self._spell(value))

    def delete(self, parent: yaml.CollectionNode, indices: Collection[int]) -> None:
        """Delete entries of a mapping or a list, in whole lines where they have them; not all of them."""
        entries = self._entries(parent)
        for index in sorted(indices):
            if parent.flow_style:
                self._delete_in_flow(
                    entries, index, kept_before=any(item not in indices for item in range(index))
                )
            else:
                self._delete_lines(entries, index)

    def empty(self, key: yaml.Node, value: yaml.CollectionNode) -> None:
        """Delete all entries of a key's value, which becomes `{}` or `[]`; comments stay."""
        brackets = '{}' if isinstance(value, yaml.MappingNode) else '[]'
        if value.flow_style:
            self.replace(value.start_mark.index, value.end_mark.index, brackets)
            return
        entries = self._entries(value)
        self.replace(self._colon(key), self._colon(key), f' {brackets}')
        for index in range(len(entries)):
            self._delete_lines(entries, index)

    # Words

    def rename(self, node: yaml.ScalarNode, spans: Sequence[tuple[int, int, str]]) -> None:
        """Replace words in a value: each as where it begins and ends in the value, and what it becomes."""
        start, end = node.start_mark.index, self.end(node)
        raw, value = self.text[start:end], node.value
        if node.style in ('|', '>'):
            body = raw.index('\n')
            start, raw = start + body, raw[body:]
        places = []
        for first, last, new in spans:
            word = re.compile(rf'(?<!\w){re.escape(value[first:last])}(?!\w)')
            there = [match.start() for match in word.finditer(value)]
            written = [match.span() for match in word.finditer(raw)]
            if first not in there or len(there) != len(written):
                break  # Escapes hide words.
            places.append((*written[there.index(first)], new))
        else:
            renamed = _with(raw, places)
            if node.style or is_text(renamed):
                self.replace(start, start + len(raw), renamed)
                return
        self.set_scalar(node, _with(value, spans))

    # Places

    def end(self, node: yaml.Node) -> int:
        """Return where a node ends, without the comments and blank lines after it."""
        end = int(node.end_mark.index)
        if isinstance(node, yaml.ScalarNode):
            if node.style not in ('|', '>'):
                return end
            start = int(node.start_mark.index)
            head = self.text[start : self._line_end(start)].partition('#')[0]
            return end if '+' in head else start + len(self.text[start:end].rstrip())
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return end
        last = node.value[-1]
        return self.end(last[1] if isinstance(last, tuple) else last)

    def _entries(self, parent: yaml.CollectionNode) -> list[Entry]:
        if isinstance(parent, yaml.MappingNode):
            pairs = [(int(key.start_mark.index), self.end(value)) for key, value in parent.value]
            return [
                Entry(start, max(end, self._colon(key)))
                for (start, end), (key, _) in zip(pairs, parent.value, strict=True)
            ]
        if parent.flow_style:
            return [Entry(int(item.start_mark.index), self.end(item)) for item in parent.value]
        entries, dash = [], int(parent.start_mark.index)
        for item in parent.value:
            end = max(self.end(item), dash + 1)
            entries.append(Entry(dash, end))
            dash = self._skip_blank(end)
        return entries

    def _insert(self, parent: Any, index: int, prefix: str, value: Any) -> None:
        entries = self._entries(parent)
        if parent.flow_style:
            text = self._spell(value)
            self._insert_in_flow(entries, index, text if prefix == '-' else f'{prefix} {text}')
            return
        indent = self._column(entries[0].start)
        siblings = [item[1] if isinstance(item, tuple) else item for item in parent.value]
        nested = [item for item in siblings if isinstance(item, yaml.CollectionNode)]
        flat = not nested or any(item.flow_style for item in nested)
        first, *more = spell_entry(prefix, value, indent, flat=flat)
        if index == 0:
            lines = self._newline.join([first, *more, ' ' * indent])
            self.replace(entries[0].start, entries[0].start, lines)
            return
        end = entries[min(index, len(entries)) - 1].end
        lines = self._newline.join([' ' * indent + first, *more])
        if self.text[end - 1] == '\n':  # A block of text that keeps its last lines.
            self.replace(end, end, lines + self._newline)
        else:
            at = self._line_end(end)
            self.replace(at, at, self._newline + lines)

    def _insert_in_flow(self, entries: Sequence[Entry], index: int, text: str) -> None:
        entry = entries[min(index, len(entries) - 1)]
        margin = self.text[self._line_start(entry.start) : entry.start]
        has_line = not margin.strip() and self._line_start(entry.start)
        between = f'{self._newline}{margin}' if has_line else ' '
        before = entries[min(index, len(entries)) - 1].end if index else entry.start
        comma = self._skip_blank(before)
        if index == 0 or (index < len(entries) and '#' in self.text[before : entry.start]):
            self.replace(entry.start, entry.start, f'{text},{between}')
        elif index >= len(entries) and self.text[comma] == ',':
            self.replace(comma + 1, comma + 1, f'{between}{text}')
        else:
            self.replace(before, before, f',{between}{text}')

    def _delete_in_flow(self, entries: Sequence[Entry], index: int, *, kept_before: bool) -> None:
        entry = entries[index]
        start, end = (
            (entries[index - 1].end, entry.end) if kept_before else (entry.start, entries[index + 1].start)
        )
        gap = (start, entry.start) if kept_before else (entry.end, end)
        if '#' not in self.text[slice(*gap)]:
            self.replace(start, end, '')
            return
        comma = self._skip_blank(gap[0])
        self.replace(comma, comma + 1, '')
        self.replace(*entry, '')

    def _delete_lines(self, entries: Sequence[Entry], index: int) -> None:
        start, end = entries[index]
        line = self._line_start(start)
        if self.text[line:start].strip():  # After the dash of a list.
            self.replace(start, entries[index + 1].start if index + 1 < len(entries) else end, '')
            return
        after = end if self.text[end - 1] == '\n' else self._line_end(end)
        if after < len(self.text):
            self.replace(
                line,
                after if after == end and self.text[end - 1] == '\n' else after + len(self._break(after)),
                '',
            )
        else:
            self.replace(max(0, line - len(self._break_before(line))), after, '')

    def _spell(self, value: Any) -> str:
        return spell(value, quoted=self._quoted)

    def _is_void(self, node: yaml.Node) -> bool:
        return node.start_mark.index == node.end_mark.index

    def _in_flow(self, index: int) -> bool:
        return _in_flow(self.root, index)

    def _colon(self, key: yaml.Node) -> int:
        """Return the place after the colon of a key."""
        return self.text.index(':', self.end(key)) + 1

    def _column(self, index: int) -> int:
        return index - self._line_start(index)

    def _line_start(self, index: int) -> int:
        return self.text.rfind('\n', 0, index) + 1

    def _line_end(self, index: int) -> int:
        end = self.text.find('\n', index)
        if end < 0:
            return len(self.text)
        return end - 1 if end > index and self.text[end - 1] == '\r' else end

    def _break(self, index: int) -> str:
        return '\r\n' if self.text.startswith('\r\n', index) else self.text[index : index + 1]

    def _break_before(self, index: int) -> str:
        return '\r\n' if self.text.endswith('\r\n', 0, index) else self.text[:index][-1:]

    def _skip_blank(self, index: int) -> int:
        match = BLANK.match(self.text, index)
        return match.end() if match else index


def _with(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Return a text with pieces of it replaced."""
    for first, last, new in sorted(spans, reverse=True):
        text = text[:first] + new + text[last:]
    return text


def _in_flow(node: yaml.Node, index: int) -> bool:
    if not isinstance(node, yaml.CollectionNode) or not node.start_mark.index <= index < node.end_mark.index:
        return False
    if node.flow_style:
        return True
    inner = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
    return any(_in_flow(part, index) for part in inner)
