"""Where the keys of a text stand, by indentation alone: for one that is being typed, valid or not."""

from __future__ import annotations

import re
from dataclasses import dataclass

ITEM = '[]'
"""The part of a path that stands for an item of a list."""
MAX_DASHES = 80
"""Maximum length of the dashes before a key: a chart is not that deep."""
_KEY = re.compile(
    r'(?P<indent> *+)(?P<dash>(?:- ++)*+)'
    r'(?:(?P<key>[\w.*-][\w .*-]*+|"[^"]*+"|\'[^\']*+\'):(?:\s+(?P<value>.*)|$))?'
)
"""Nothing in it is tried twice: a line may be long, and anybody may have written it."""
_BLOCK = re.compile(r'[|>][+-]?\d?[+-]?\s*(?:#.*)?$')


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the text."""

    path: tuple[str, ...]
    line: int
    """Counted from 1."""
    indent: int
    is_text: bool
    """Whether its value is a text of several lines."""


def read_keys(text: str) -> list[Key]:
    """Return the keys in block style; those within braces are left out."""
    keys: list[Key] = []
    around: list[tuple[int, tuple[str, ...]]] = []
    block: int | None = None
    for number, line in enumerate(text.split('\n'), 1):
        bare = line.strip()
        indent = len(line) - len(line.lstrip(' '))
        if not bare or (bare.startswith('#') and block is None):
            continue
        if block is not None and indent > block:
            continue
        block = None
        match = _KEY.match(line)
        if match is None or len(match['dash']) > MAX_DASHES:
            continue
        for dash in re.finditer('-', match['dash']):
            at = indent + dash.start()
            around = [
                (other, path) for other, path in around if other < at or (other == at and path[-1] != ITEM)
            ]
            around.append((at, (*_last(around), ITEM)))
        if match['key'] is None:
            continue
        at = indent + len(match['dash'])
        around = [(other, path) for other, path in around if other < at]
        path = (*_last(around), match['key'].strip('"\''))
        value = match['value'] or ''
        is_text = bool(_BLOCK.match(value))
        keys.append(Key(path, number, at, is_text))
        around.append((at, path))
        block = at if is_text else None
    return keys


def _last(around: list[tuple[int, tuple[str, ...]]]) -> tuple[str, ...]:
    return around[-1][1] if around else ()


def names_in(keys: list[Key], section: str) -> list[str]:
    """Return the names declared in a section of the chart, such as `roles`."""
    return list(dict.fromkeys(key.path[1] for key in keys if len(key.path) == 2 and key.path[0] == section))


def states_in(keys: list[Key]) -> list[str]:
    """Return the paths of the states."""
    paths: list[str] = []
    for key in keys:
        parts = key.path
        if (
            len(parts) % 2 == 0
            and parts[0] == 'states'
            and all(part in ('states', 'parallel') for part in parts[::2])
        ):
            paths.append('.'.join(parts[1::2]))
    return paths
