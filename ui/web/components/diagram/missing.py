"""The notice that charts cannot be drawn here, in place of a diagram."""

from __future__ import annotations

from ui.formatting.diagram.rendering import GRAPHVIZ_MISSING, has_graphviz
from ui.web.components.theme import text_notice


def notice_without_graphviz() -> None:
    """Say that Graphviz is not installed, if so."""
    if not has_graphviz():
        text_notice('info', 'account_tree', GRAPHVIZ_MISSING)
