"""What an experiment says: comparisons over cases, when they are clear, and in words."""

from engine.experiments.answer.answer import find_answer
from engine.experiments.answer.records import CellResult, Design, Measure
from engine.experiments.answer.sequential import EarlyStop

__all__ = [
    'CellResult',
    'Design',
    'EarlyStop',
    'Measure',
    'find_answer',
]
