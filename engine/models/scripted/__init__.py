"""What the scripted model says: scenarios from files, else improvised answers."""

from engine.models.scripted.library import QuickLoader, Sample, has_scenario, scenarios

__all__ = [
    'QuickLoader',
    'Sample',
    'has_scenario',
    'scenarios',
]
