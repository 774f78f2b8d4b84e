"""A small file of JSON values that only its owner can read."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.host.replacing import locked, replace_file


def read_private(path: Path) -> dict[str, Any]:
    """Return the values of a file; empty if there is none, or it cannot be read."""
    try:
        return _read(path)
    except OSError:
        return {}


def change_private(path: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace these values and return all; None removes one. Raises `OSError`, also if the file is damaged.

    The file is replaced atomically, with mode 0600; its folder is created. Without a change it stays. Blocks
    while another process changes a file of the folder.
    """
    if not path.parent.exists() and all(value is None for value in changes.values()):
        return {}  # there is nothing to remove
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(path.parent):
        before = _read(path)
        values = {name: value for name, value in {**before, **changes}.items() if value is not None}
        if values == before:
            return values
        replace_file(path, json.dumps(values).encode())
    return values


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text('utf-8'))
    except FileNotFoundError:
        return {}
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise OSError(errno.EINVAL, 'it is not a JSON object', str(path))
    return content
