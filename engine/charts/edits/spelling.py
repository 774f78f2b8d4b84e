"""Spelling: how new values are written into a chart's text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from engine.charts.reading import ChartLoader
from engine.models.yaml_lines import QuickLoader

WIDTH = 110
"""The longest line that a value is put on, in characters."""
LOADERS = (ChartLoader, QuickLoader)
"""Ours, and that of other programs, which takes more words for something else than texts."""
STRING = 'tag:yaml.org,2002:str'
STEP = 2
"""By how many characters a nested value is indented."""


def spell(value: Any, *, quoted: bool = False) -> str:
    """Return a value as YAML on one line, fit for any place; `quoted` is JSON."""
    match value:
        case str():
            return value if not quoted and _is_plain(value) else _in_quotes(value)
        case Mapping():
            entries = (
                f'{spell_key(key, quoted=quoted)}: {spell(item, quoted=quoted)}'
                for key, item in value.items()
            )
            return f'{{{", ".join(entries)}}}'
        case list() | tuple():
            return f'[{", ".join(spell(item, quoted=quoted) for item in value)}]'
        case _:
            return json.dumps(value)


def spell_key(key: str, *, quoted: bool = False) -> str:
    """Return a key; `on` and the like, which YAML 1.1 takes for a truth value, stand as they are."""
    return key if not quoted and key.isidentifier() and key.isascii() else spell(key, quoted=quoted)


def spell_entry(prefix: str, value: Any, indent: int, *, flat: bool = True) -> list[str]:
    """Return the lines of an entry in block style, the first one without its indentation.

    Args:
        prefix: what stands before the value: `key:` or `-`.
        value: the value.
        indent: the column at which the prefix stands.
        flat: whether a mapping or a list may stand on the same line.
    """
    line, inner = f'{prefix} {spell(value)}', indent + STEP
    if isinstance(value, str) and _has_lines(value):
        body = value.removesuffix('\n').split('\n')
        return [f'{prefix} {_chomping(value)}', *(' ' * inner + text if text else '' for text in body)]
    if not isinstance(value, Mapping | list | tuple) or not value:
        return [line]
    if flat and not _has_lines(value) and indent + len(line) <= WIDTH:
        return [line]
    lines = list(_entries(value, inner))
    return [f'- {lines[0].lstrip()}', *lines[1:]] if prefix == '-' else [prefix, *lines]


def _entries(value: Any, indent: int) -> Iterator[str]:
    pairs = (
        ((f'{spell_key(key)}:', item) for key, item in value.items())
        if isinstance(value, Mapping)
        else (('-', item) for item in value)
    )
    for prefix, item in pairs:
        first, *more = spell_entry(prefix, item, indent)
        yield ' ' * indent + first
        yield from more


def _has_lines(value: Any) -> bool:
    """Return whether there is a text in it that is best written as a block of lines."""
    match value:
        case str():
            lines = value.rstrip('\n').split('\n')
            return len(lines) > 1 and value.rstrip('\n') == value.rstrip() and not _needs_quotes(value)
        case Mapping():
            return any(map(_has_lines, value.values()))
        case list() | tuple():
            return any(map(_has_lines, value))
    return False


def _needs_quotes(value: str) -> bool:
    """Return whether a text of several lines could not be read back from a block."""
    return value[0] in ' \n\t' or not all(line.isprintable() or '\t' in line for line in value.split('\n'))


def _chomping(value: str) -> str:
    ends = len(value) - len(value.rstrip('\n'))
    return ('|-', '|')[ends] if ends < 2 else '|+'


def is_text(plain: str) -> bool:
    """Return whether YAML takes what stands without quotes for a text: not for a number, or for true."""
    roots = (yaml.compose(plain, Loader=loader) for loader in LOADERS)
    return all(isinstance(root, yaml.ScalarNode) and root.tag == STRING for root in roots)


def _is_plain(text: str) -> bool:
    """Return whether YAML reads a text without quotes, and inside brackets, as the same text."""
    if not text or not text.isprintable() or text != text.strip():
        return False
    return all(_is_read_as(text, loader) for loader in LOADERS)


def _is_read_as(text: str, loader: Any) -> bool:
    """Return whether a loader reads a text as itself."""
    try:
        root = yaml.compose(f'[{text}]', Loader=loader)
        key = yaml.compose(f'{text}: 0', Loader=loader)
    except yaml.YAMLError:
        return False
    match root, key:
        case yaml.SequenceNode(value=[yaml.ScalarNode() as item]), yaml.MappingNode(value=[(other, _)]):
            return not item.style and item.tag == STRING and item.value == other.value == text
    return False


def _in_quotes(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if (character.isprintable() and character not in '"\\') or ord(character) > 0xFFFF:
        return character
    return json.dumps(character)[1:-1]
