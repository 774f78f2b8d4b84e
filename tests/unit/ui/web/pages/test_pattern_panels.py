"""The list of panes has every panel that the engine's patterns name."""

from __future__ import annotations

from engine import LocalConductor
from ui.web.pages.run.pane import Panel
from ui.web.pages.run.panes import PANES, panels, tab_titles

ELSEWHERE = {'report'}
"""Drawn on a page of its own."""


def test_every_panel_of_the_included_patterns_is_listed():
    patterns = LocalConductor().catalog.patterns.values()
    used = {panel for pattern in patterns for panel in pattern.sample().chart_panels()}
    assert used - ELSEWHERE <= {pane.panel for pane in PANES}
    assert used >= {'messages', 'time', 'supervision', 'debate', 'candidates'}


def test_each_tab_has_its_own_address():
    first, *others = panels()
    assert tab_titles() == {panel.title.lower(): panel.title for panel in others}
    assert first.title not in tab_titles().values()


def test_a_tab_of_a_pattern_is_named_like_its_panel():
    assert all(panel.title.lower() == panel.panel for panel in panels() if panel.panel)
    assert all(issubclass(pane, Panel) == (pane.place == 'tab') for pane in PANES)
