"""The panels available to patterns, in the order of their tabs."""

from __future__ import annotations

from engine.records import Shape
from ui.pages.run.panel import Panel
from ui.pages.run.panels.drafts import Drafts
from ui.pages.run.panels.messages import Messages
from ui.pages.run.panels.mode_comparison import ModeComparison
from ui.pages.run.panels.phases import TimePanel
from ui.pages.run.panels.supervision import Supervision
from ui.pages.run.review.board import Board
from ui.pages.run.review.candidates import Candidates

PANELS: tuple[type[Panel], ...] = (
    Board,
    Candidates,
    Drafts,
    Messages,
    TimePanel,
    Supervision,
    ModeComparison,
)


def panels_of(shape: Shape) -> list[type[Panel]]:
    """Return the panels that a run's shape asks for."""
    names = {panel.panel for panel in shape.panels}
    return [panel for panel in PANELS if panel.title.lower() in names]
