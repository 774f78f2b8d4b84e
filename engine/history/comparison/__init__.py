"""Compares two runs: aligns them by the states they visited and shows where they differ."""

from engine.history.comparison.comparison import Comparison, Divergence, Row, RunStats, compare, count_run
from engine.history.comparison.json_diff import JsonDifference, json_differences
from engine.history.comparison.word_diff import Piece, diff_words, diff_words_async

__all__ = [
    'Comparison',
    'Divergence',
    'JsonDifference',
    'Piece',
    'Row',
    'RunStats',
    'compare',
    'count_run',
    'diff_words',
    'diff_words_async',
    'json_differences',
]  # fmt: skip
