"""The version of a pattern that is written in Python: a digest of its code."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from engine.statechart.pattern import Pattern

ENGINE = Path(__file__).parents[1]
BUILT_IN = ENGINE / 'patterns'
DIGITS = 12
IMPORT = re.compile(
    rb'^[ \t]*(?:from[ \t]+(\S+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]+))', re.MULTILINE
)
"""An import statement. Prose that looks like one names no file."""


def code_version(pattern: type[Pattern]) -> str:
    """Return a digest of the pattern's module and those it is built on; '' if it is in no file.

    These are the modules of its base classes, and what each of them imports from the folder that it is in:
    `engine/patterns`, or the user's own folder. The engine itself is not part of it.
    """
    texts: dict[Path, bytes] = {}
    for base in pattern.__mro__:
        file = getattr(sys.modules.get(base.__module__), '__file__', None)
        if file and issubclass(base, Pattern):
            path = Path(file)
            inside = path.is_relative_to(ENGINE)
            if not inside or path.is_relative_to(BUILT_IN):
                _collect(path, BUILT_IN if inside else path.parent, texts)
    return digest_of(b'\0'.join(sorted(texts.values()))) if texts else ''


def digest_of(text: bytes) -> str:
    """Return the version that these bytes are: 12 hexadecimal digits."""
    return hashlib.sha256(text).hexdigest()[:DIGITS]


def _collect(path: Path, root: Path, texts: dict[Path, bytes]) -> None:
    """Add a module and all that it imports from its root, directly or not."""
    if path in texts:
        return
    try:
        texts[path] = path.read_bytes()
    except OSError:
        return  # It was removed after it was loaded.
    for name in _imported(texts[path]):
        for file in _files(name, path, root):
            if file.is_file():
                _collect(file, root, texts)


def _files(name: str, importing: Path, root: Path) -> Iterator[Path]:
    """Yield where a module of that name would be below the root."""
    dots = len(name) - len(name.lstrip('.'))
    parts = [part for part in name.split('.') if part]
    if dots:
        folder = importing.parents[dots - 1]
    elif root == BUILT_IN:
        package = ['engine', 'patterns']
        parts = parts[parts[:1] == ['hemicycle'] :]
        if parts[:2] != package:
            return
        folder, parts = root, parts[2:]
    else:
        folder = root
    place = folder.joinpath(*parts)
    if place.is_relative_to(root) and place != root:
        yield place.with_name(f'{place.name}.py')
        yield place / '__init__.py'


@lru_cache(256)
def _imported(text: bytes) -> tuple[str, ...]:
    """Return the names of modules that a text may import, dots first if they are relative."""
    names = []
    for source, members, modules in IMPORT.findall(text):
        package = source.decode(errors='replace')
        if package:
            inside = re.findall(rb'(\w+)(?:[ \t]+as[ \t]+\w+)?', members)
            dot = '' if package.endswith('.') else '.'
            names += [package, *(f'{package}{dot}{name.decode(errors="replace")}' for name in inside)]
        else:
            names += [
                part.split()[0].decode(errors='replace')
                for part in re.split(rb'[,;]', modules)
                if part.strip()
            ]
    return tuple(dict.fromkeys(names))
