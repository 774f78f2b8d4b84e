"""The zoom buttons of a diagram: in, out, fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ui.web.components.elements import Diagram
from ui.web.components.theme import button

FIT_ALL = 'Fit the whole diagram (0)'
FIT_ACTIVE = 'Fit the active states or the whole diagram (0)'


def zoom_buttons(drawing: Callable[[], Diagram | None], *, fit: str = FIT_ALL) -> None:
    """Draw three buttons in the header of a diagram panel.

    Args:
        drawing: returns the current diagram, if any.
        fit: the text of the last button; `FIT_ACTIVE` if something can be active.
    """

    def zoom(how: str) -> None:
        if diagram := drawing():
            diagram.run_method(how)

    for icon, label, how in (
        ('zoom_out', 'Zoom out (-)', 'zoomOut'),
        ('zoom_in', 'Zoom in (+)', 'zoomIn'),
        ('fit_screen', fit, 'fit'),
    ):
        button('', icon=icon, kind='quiet small', label=label).on('click', partial(zoom, how))
