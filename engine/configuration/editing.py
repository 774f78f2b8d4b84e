"""Edits endpoints and MCP servers in the configuration file, and leaves the rest of it as written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item, Key, Table, Whitespace

from engine.configuration.loading import check_configuration
from engine.errors import EngineError
from engine.host.replacing import replace_file

Kind = Literal['endpoints', 'mcp']
"""Kinds of sections: model endpoints or MCP servers."""


def read_section(path: Path, kind: Kind, name: str) -> dict[str, Any]:
    """Return the section of an endpoint or a server; empty if there is none. Raises `EngineError`."""
    section = _parse(path).get(kind, {}).get(name, {})
    return dict(section.unwrap() if isinstance(section, Table) else section)


def write_section(
    path: Path, kind: Kind, name: str, values: Mapping[str, Any], *, check_only: bool = False
) -> None:
    """Add or change an endpoint or a server; comments and other entries are kept.

    Args:
        path: the file; created if missing.
        kind: the kind of section.
        name: its name.
        values: entries of its section; an empty value removes an entry, and entries not given are kept.
        check_only: whether the file is left as it is.

    Raises:
        EngineError: the file cannot be read or written, or would not be valid; it is not changed.
    """
    document = _parse(path)
    document.setdefault(kind, tomlkit.table(is_super_table=True))
    if name not in document[kind]:
        _add(document, kind, name)
    section = document[kind][name]
    for key, value in values.items():
        if value in (None, '', [], (), {}, False):
            section.pop(key, None)
        elif key not in section:
            _append(section, key, _inline(value))
        elif section[key] != value:  # An unchanged value keeps its formatting.
            section[key] = _inline(value)
    if check_only:
        check_configuration(path, tomlkit.dumps(document))
    else:
        _write(path, document)


def remove_section(path: Path, kind: Kind, name: str) -> None:
    """Remove the section of an endpoint or a server. Raises `EngineError`."""
    document = _parse(path)
    sections = document.get(kind, {})
    if name not in sections:
        return
    section = sections[name]
    if isinstance(section, Table):
        # Replaced by a marker, so that comments that belong to the next section stay where they are.
        section.value.body[:] = [(None, tomlkit.comment(REMOVED)), *_take_following(section)]
        text = re.sub(rf'^[ \t]*\[.*\n# {REMOVED}\n', '', tomlkit.dumps(document), flags=re.MULTILINE)
        document = tomlkit.parse(text)
    else:
        del sections[name]
    _write(path, document)


REMOVED = 'removed by hemicycle'
"""Marks a section to be removed."""

Lines = list[tuple[Key | None, Item]]


def _add(document: tomlkit.TOMLDocument, kind: Kind, name: str) -> None:
    """Add an empty section after the last of its kind."""
    parts = [part for key, part in document.body if key and key.key == kind]  # Not always adjacent.
    siblings = (
        [sibling for key, sibling in parts[-1].value.body if key] if isinstance(parts[-1], Table) else []
    )
    following = _take_following(siblings[-1]) if siblings else []
    section = tomlkit.table()
    cast(Table, parts[-1])[name] = section
    if following and not isinstance(following[0][1], Whitespace):
        following.insert(0, (None, tomlkit.nl()))
    section.value.body.extend(following)


def _take_following(section: Item) -> Lines:
    """Remove and return the comments at a section's end that belong to the next section.

    These are the comments from the first empty line on, or all of them if there is none.
    """
    if not isinstance(section, Table):
        return []
    body, lines = section.value.body, Lines()
    if body and isinstance(body[-1][1], Table):
        return _take_following(body[-1][1])
    while body and body[-1][0] is None:
        lines.insert(0, body.pop())
    first = next((at for at, (_, line) in enumerate(lines) if isinstance(line, Whitespace)), 0)
    body.extend(lines[:first])
    return lines[first:]


def _inline(value: Any) -> Any:
    """Return a mapping as an inline table, and any other value unchanged."""
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
        return tomlkit.parse(path.read_text('utf-8-sig')) if path.exists() else tomlkit.document()
    except (OSError, ValueError, TOMLKitError) as error:
        raise EngineError(f'{path}: {error}') from None


def _write(path: Path, document: tomlkit.TOMLDocument) -> None:
    """Replace the file atomically, so that a reader never sees half of it. Raises `EngineError`."""
    text = tomlkit.dumps(document)
    check_configuration(path, text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        replace_file(target, text.encode(), mode=mode)
    except OSError as error:
        raise EngineError(f'{path} cannot be written: {error.strerror or error}') from None
