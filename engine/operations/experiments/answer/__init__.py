"""What an experiment says: comparisons over cases, when they are clear, and in words."""

from engine.operations.experiments.answer.answer import find_answer
from engine.operations.experiments.answer.records import CellResult, Design, Measure
from engine.operations.experiments.answer.sequential import EarlyStop

__all__ = [
    'CellResult',
    'Design',
    'EarlyStop',
    'Measure',
    'find_answer',
]
