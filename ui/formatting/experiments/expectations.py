"""What is expected of a case, as a text that people edit."""

from __future__ import annotations

import json
from typing import Any


def expectation_text(value: Any) -> str:
    """Return what is expected as a text to edit: JSON, unless it is a text."""
    if value is None or isinstance(value, str):
        return value or ''
    return json.dumps(value, ensure_ascii=False, indent=2)


def read_expectation(text: str, before: Any = None) -> Any:
    """Return what is expected from an edited text; one that is no JSON stands for itself.

    What was a text before stays one, whatever it looks like.
    """
    if not text:
        return None
    if isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
