"""The scripted model's answers: scenarios from files, otherwise improvised ones."""

from engine.models.scripted.library import Sample, has_scenario, scenarios

__all__ = [
    'Sample',
    'has_scenario',
    'scenarios',
]
