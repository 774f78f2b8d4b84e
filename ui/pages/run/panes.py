"""The panes of the run page, in the order in which they are drawn: a new one is a line here."""

from __future__ import annotations

from ui.pages.run.agents.agents import AgentPanes
from ui.pages.run.agents.transcript import Transcript
from ui.pages.run.diagram.chart import ChartPane
from ui.pages.run.header.announcer import Announcer
from ui.pages.run.header.approval_bar import ApprovalBar
from ui.pages.run.header.budget import BudgetBars
from ui.pages.run.header.header import Header, StatusStrip
from ui.pages.run.header.stop_banner import StopBanner
from ui.pages.run.inspector.inspector import Inspector
from ui.pages.run.inspector.notes import StepNotes
from ui.pages.run.pane import Pane, Panel
from ui.pages.run.panels.artifacts import Artifacts
from ui.pages.run.panels.drafts import DraftProgress, Drafts
from ui.pages.run.panels.files import Files
from ui.pages.run.panels.messages import Messages
from ui.pages.run.panels.mode_comparison import ModeComparison
from ui.pages.run.panels.phases import Phases, TimePanel
from ui.pages.run.panels.plan import PlanChecklist
from ui.pages.run.panels.supervision import Supervision
from ui.pages.run.panels.tabs import RunTabs
from ui.pages.run.panels.task_cards import TaskCards
from ui.pages.run.player.player import Player
from ui.pages.run.review.board import Board
from ui.pages.run.review.candidates import Candidates

PANES: tuple[type[Pane], ...] = (
    *(Header, ApprovalBar, BudgetBars, StatusStrip, StopBanner),
    *(DraftProgress, Phases),
    *(ChartPane, RunTabs, Inspector),
    *(PlanChecklist, TaskCards, StepNotes),
    # The tabs. Those that need the width of the page come right after the agents.
    *(AgentPanes, Board, Candidates, Transcript, Files),
    *(Drafts, Messages, TimePanel, Supervision, ModeComparison, Artifacts),
    *(Player, Announcer),
)


def panels() -> list[type[Panel]]:
    """Return the panes with tabs, in their order."""
    return [kind for kind in PANES if issubclass(kind, Panel)]


def tab_titles() -> dict[str, str]:
    """Return the titles of all tabs but the first, by the end of their address."""
    return {panel.title.lower(): panel.title for panel in panels()[1:]}
