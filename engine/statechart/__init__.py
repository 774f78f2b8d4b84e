"""The statechart: patterns, their charts and their memory. Only `chart` imports `transitions`."""

from engine.statechart.deliverables import AgentWork, Deliverables
from engine.statechart.lenient_reading import read_leniently
from engine.statechart.mermaid import edge_label, mermaid

__all__ = [
    'AgentWork',
    'Deliverables',
    'edge_label',
    'mermaid',
    'read_leniently',
]
