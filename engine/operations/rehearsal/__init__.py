"""Rehearsal: what a workflow's chart can do, found without running it."""

from engine.operations.rehearsal.cost import Means
from engine.operations.rehearsal.records import (
    Cost,
    Figures,
    Finding,
    Level,
    PlayedEvent,
    Rehearsal,
)
from engine.operations.rehearsal.rehearse import Rehearsals, play, rehearse

__all__ = [
    'Cost',
    'Figures',
    'Finding',
    'Level',
    'Means',
    'PlayedEvent',
    'Rehearsal',
    'Rehearsals',
    'play',
    'rehearse',
]
