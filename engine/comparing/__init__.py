"""Comparing two runs: aligned by the states they went through, and what differs along the way."""

from engine.comparing.alignment import aligned
from engine.comparing.comparison import Comparison, Divergence, Row, compare
from engine.comparing.facets import GuardDifference
from engine.comparing.tally import Tally, tally
from engine.comparing.values import Unlike, unlike

__all__ = [
    'Comparison', 'Divergence', 'GuardDifference', 'Row', 'Tally', 'Unlike', 'aligned', 'compare', 'tally',
    'unlike',
]  # fmt: skip
