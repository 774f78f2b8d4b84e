"""The panes of the run page, in the order in which they are drawn: a new one is a line here."""

from __future__ import annotations

from ui.web.pages.run.agents.agents import AgentPanes
from ui.web.pages.run.agents.transcript import Transcript
from ui.web.pages.run.diagram.chart import ChartPane
from ui.web.pages.run.header.announcer import Announcer
from ui.web.pages.run.header.approval_bar import ApprovalBar
from ui.web.pages.run.header.budget import BudgetBars
from ui.web.pages.run.header.header import Header, StatusStrip
from ui.web.pages.run.header.stop_banner import StopBanner
from ui.web.pages.run.inspector.inspector import Inspector
from ui.web.pages.run.inspector.notes import StepNotes
from ui.web.pages.run.pane import Pane, Panel
from ui.web.pages.run.panels.artifacts import Artifacts
from ui.web.pages.run.panels.drafts import DraftProgress, Drafts
from ui.web.pages.run.panels.files import Files
from ui.web.pages.run.panels.messages import Messages
from ui.web.pages.run.panels.mode_comparison import ModeComparison
from ui.web.pages.run.panels.phases import Phases, TimePanel
from ui.web.pages.run.panels.plan import PlanChecklist
from ui.web.pages.run.panels.supervision import Supervision
from ui.web.pages.run.panels.tabs import RunTabs
from ui.web.pages.run.panels.task_cards import TaskCards
from ui.web.pages.run.player.player import Player
from ui.web.pages.run.review.board import Board
from ui.web.pages.run.review.candidates import Candidates
from ui.web.pages.run.story.draft.card import DraftCard
from ui.web.pages.run.story.result.card import ResultCard
from ui.web.pages.run.story.story import StoryPane

PANES: tuple[type[Pane], ...] = (
    *(Header, ApprovalBar, BudgetBars, StatusStrip, StopBanner),
    *(DraftProgress, Phases),
    *(ChartPane, RunTabs, Inspector),
    *(DraftCard, ResultCard, StoryPane),
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
