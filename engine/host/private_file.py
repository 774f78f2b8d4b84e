"""A small file of JSON values that only its owner can read."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_changing = threading.Lock()


def read_private(path: Path) -> dict[str, Any]:
    """Return the values of a file; empty if there is none, or it cannot be read."""
    try:
        content = json.loads(path.read_text('utf-8'))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def change_private(path: Path, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace these values and return all; None removes one. Raises `OSError`.

    The file is replaced atomically, with mode 0600; its folder is created. Without a change it stays.
    """
    with _changing:
        before = read_private(path)
        values = {name: value for name, value in {**before, **changes}.items() if value is not None}
        if values == before:
            return values
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}-')  # of mode 0600
        try:
            with os.fdopen(handle, 'w', encoding='utf-8') as file:
                json.dump(values, file)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    return values
