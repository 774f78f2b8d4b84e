"""The scripted model's answers: scenarios from files, otherwise improvised ones."""

from engine.models.scripted.library import Sample, has_scenario, scenarios
from engine.models.scripted.model import draft_stub

__all__ = [
    'Sample',
    'draft_stub',
    'has_scenario',
    'scenarios',
]
