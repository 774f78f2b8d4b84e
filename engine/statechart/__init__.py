"""The statechart: patterns, their charts and their memory. Only `chart` imports `transitions`."""

from engine.statechart.mermaid import edge_label, mermaid

__all__ = [
    'edge_label',
    'mermaid',
]
