"""Cells of tables: no spreadsheet takes one for a formula, and read back they are what they were."""

from __future__ import annotations

import re

FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet might evaluate, its signs in full width too, and what was escaped."""


def escape_formula(cell: str) -> str:
    """Return a cell that no spreadsheet evaluates: with an apostrophe before what begins like a formula."""
    return f"'{cell}" if FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Undo `escape_formula`."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
