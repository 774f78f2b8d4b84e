"""The panels available to patterns: those with tabs, in their order, and those without."""

from __future__ import annotations

from collections.abc import Iterable

from engine.records import Shape
from ui.pages.run.panel import Panel, Part
from ui.pages.run.panels.drafts import Drafts
from ui.pages.run.panels.messages import Messages
from ui.pages.run.panels.mode_comparison import ModeComparison
from ui.pages.run.panels.phases import TimePanel
from ui.pages.run.panels.plan import PlanChecklist
from ui.pages.run.panels.supervision import Supervision
from ui.pages.run.panels.task_cards import TaskCards
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
BELOW_DIAGRAM: tuple[type[Part], ...] = (PlanChecklist,)
ABOVE_AGENTS: tuple[type[Part], ...] = (TaskCards,)


def parts_of(parts: Iterable[type[Part]], shape: Shape) -> list[type[Part]]:
    """Return those of the parts that a run's shape asks for."""
    return [part for part in parts if shape.field(part.panel)]


def panels_of(shape: Shape) -> list[type[Panel]]:
    """Return the panels that a run's shape asks for."""
    names = {panel.panel for panel in shape.panels}
    return [panel for panel in PANELS if panel.title.lower() in names]
