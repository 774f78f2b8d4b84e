"""The buttons that say where a diagram looks: nearer, farther, at all of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ui.elements import Diagram
from ui.theme import button

ALL = 'Show all of the diagram (0)'
FOLLOWED = 'Show what is active, or all of the diagram (0)'


def look_buttons(drawing: Callable[[], Diagram | None], *, fit: str = ALL) -> None:
    """Three buttons in the head of a diagram's panel.

    Args:
        drawing: the diagram that is shown now, if there is one.
        fit: what the last of them says; `FOLLOWED` where something can be active.
    """

    def look(how: str) -> None:
        if shown := drawing():
            shown.run_method(how)

    for icon, label, how in (
        ('zoom_out', 'Smaller (-)', 'out'),
        ('zoom_in', 'Larger (+)', 'closer'),
        ('fit_screen', fit, 'fit'),
    ):
        button('', icon=icon, kind='quiet small', label=label).on('click', partial(look, how))
