"""Rehearsal: what a workflow's chart can do, found without running it."""

from engine.operations.rehearsal.cost import Means
from engine.operations.rehearsal.records import (
    Cost,
    Figures,
    Finding,
    Level,
    PlayedEvent,
    Rehearsal,
    RehearsedState,
    StateCost,
    Unbounded,
    Walk,
)
from engine.operations.rehearsal.rehearse import SECONDS, Rehearsals, play, rehearse

__all__ = [
    'SECONDS',
    'Cost',
    'Figures',
    'Finding',
    'Level',
    'Means',
    'PlayedEvent',
    'Rehearsal',
    'Rehearsals',
    'RehearsedState',
    'StateCost',
    'Unbounded',
    'Walk',
    'play',
    'rehearse',
]
