"""Compares two runs: aligns them by the states they visited and shows where they differ."""

from engine.history.comparison.alignment import align
from engine.history.comparison.comparison import Comparison, Divergence, Row, RunStats, compare, count_run
from engine.history.comparison.json_diff import JsonDifference, json_differences
from engine.history.comparison.step_diff import GuardDifference

__all__ = [
    'Comparison',
    'Divergence',
    'GuardDifference',
    'JsonDifference',
    'Row',
    'RunStats',
    'align',
    'compare',
    'count_run',
    'json_differences',
]  # fmt: skip
