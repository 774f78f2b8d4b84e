"""Edits endpoints and MCP servers in the configuration file; all else in it stays as written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from engine.configuration.loading import check_configuration
from engine.errors import EngineError

Kind = Literal['endpoints', 'mcp']
"""What sections describe: endpoints of models, or MCP servers."""


def read_section(path: Path, kind: Kind, name: str) -> dict[str, Any]:
    """What the file says of an endpoint or a server; empty if it says nothing. Raises `EngineError`."""
    section = _parse(path).get(kind, {}).get(name, {})
    return dict(section.unwrap() if isinstance(section, Table) else section)


def write_section(path: Path, kind: Kind, name: str, values: Mapping[str, Any]) -> None:
    """Add an endpoint or a server, or change it; comments and other entries stay.

    Args:
        path: the file; it is created if there is none.
        kind: what it is.
        name: its name.
        values: entries of its section; an empty one is removed, and one that is not given stays.

    Raises:
        EngineError: the file cannot be read or written, or would not be valid; it is not changed.
    """
    document = _parse(path)
    sections = document.setdefault(kind, tomlkit.table(is_super_table=True))
    section = sections.setdefault(name, tomlkit.table())
    for key, value in values.items():
        if value in (None, '', [], (), {}, False):
            section.pop(key, None)
        elif key not in section:
            _append(section, key, _inline(value))
        elif section[key] != value:  # what stays keeps its form
            section[key] = _inline(value)
    _write(path, document)


def remove_section(path: Path, kind: Kind, name: str) -> None:
    """Remove the section of an endpoint or a server. Raises `EngineError`."""
    document = _parse(path)
    sections = document.get(kind, {})
    if name in sections:
        sections.remove(name)
        if not sections:
            document.remove(kind)
        _write(path, document)


def _inline(value: Any) -> Any:
    """A mapping on one line, and anything else as it is."""
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.inline_table()
    table.update(value)
    return table


def _append(section: Table, key: str, value: Any) -> None:
    """Add an entry after the last one, and before the comments that precede the next section."""
    body = section.value.body
    trailing = []
    while body and body[-1][0] is None:
        trailing.append(body.pop())
    section.append(key, value)
    body.extend(reversed(trailing))


def _parse(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text('utf-8')) if path.exists() else tomlkit.document()
    except (OSError, ValueError, TOMLKitError) as error:
        raise EngineError(f'{path}: {error}') from None


def _write(path: Path, document: tomlkit.TOMLDocument) -> None:
    """Replace the file, or leave it as it is: a reader never sees half of it."""
    text = tomlkit.dumps(document)
    check_configuration(path, text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix='.endpoints-')
        try:
            with os.fdopen(handle, 'w', encoding='utf-8') as file:
                file.write(text)
            os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise EngineError(f'{path} cannot be written: {error.strerror or error}') from None
