"""The registry of panels has every panel that the engine's patterns name."""

from __future__ import annotations

from engine import LocalConductor
from ui.pages.run.panels.pattern_tabs import TAB_TITLES
from ui.pages.run.panels.registry import PANELS

ELSEWHERE = {'plan', 'report'}
"""Drawn under the diagram, and on a page of its own."""


def test_every_panel_of_the_included_patterns_is_registered():
    patterns = LocalConductor().catalog.patterns.values()
    panels = {panel for pattern in patterns for panel in pattern.sample().chart_panels()}
    assert panels - ELSEWHERE <= {panel.title.lower() for panel in PANELS}
    assert panels >= {'messages', 'time', 'supervision', 'debate', 'candidates'}


def test_each_panel_has_its_own_address():
    assert len({panel.title for panel in PANELS}) == len(PANELS)
    assert all(TAB_TITLES[panel.title.lower()] == panel.title for panel in PANELS)
