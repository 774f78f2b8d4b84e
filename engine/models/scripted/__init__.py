"""The scripted model's answers: scenarios from files, otherwise improvised ones."""

from engine.models.scripted.library import QuickLoader, Sample, has_scenario, scenarios

__all__ = [
    'QuickLoader',
    'Sample',
    'has_scenario',
    'scenarios',
]
