"""Versions of patterns: tell whether two workers have the same code for a pattern."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from pathlib import Path

from engine import Pattern

ENGINE = Path(__file__).parents[2] / 'engine'


def version_of(pattern: type[Pattern]) -> str:
    """Return a pattern's version: a digest of the engine's code and the folder of the pattern's file."""
    file = Path(inspect.getfile(pattern))
    own = '' if file.is_relative_to(ENGINE) else _digest(file.parent, '*.py')
    return hashlib.sha256(f'{_digest(ENGINE, "**/*.py")}{own}'.encode()).hexdigest()[:12]


@cache
def _digest(folder: Path, files: str) -> str:
    """Return the digest of the code in a folder at the first call in this process."""
    hashed = hashlib.sha256()
    for path in sorted(folder.glob(files)):
        hashed.update(f'{path.relative_to(folder)}\0'.encode() + path.read_bytes())
    return hashed.hexdigest()
