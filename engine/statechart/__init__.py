"""The statechart: patterns, their charts and their memory. Only `chart` imports `transitions`."""

from engine.statechart.deliverables import AgentWork, Deliverables
from engine.statechart.lenient_reading import read_leniently
from engine.statechart.mermaid import edge_label, mermaid
from engine.statechart.shape_builder import build_shape

__all__ = [
    'AgentWork',
    'Deliverables',
    'build_shape',
    'edge_label',
    'mermaid',
    'read_leniently',
]
