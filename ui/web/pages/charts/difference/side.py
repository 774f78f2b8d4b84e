"""One of two versions of a chart, made of its text."""

from __future__ import annotations

from ui.web.pages.charts.checking import Checked
from ui.web.pages.charts.difference.view import Side


def side_of(title: str, checked: Checked) -> Side | None:
    """Return a side; None if the text has errors."""
    if checked.shape is None:
        return None
    return Side(
        title=title,
        shape=checked.shape,
        text=checked.text,
        find_state=checked.places.line_of_state,
        find_edge=checked.places.line_of_edge,
    )
