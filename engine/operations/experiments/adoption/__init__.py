"""Adoption: a person makes a variant the default, as settings or as a version of its chart."""

from engine.operations.experiments.adoption.adoption import Adoption
from engine.operations.experiments.adoption.records import (
    AdoptionKind,
    AdoptionPlan,
    LaunchDefault,
    NoLaunchDefault,
)

__all__ = ['Adoption', 'AdoptionKind', 'AdoptionPlan', 'LaunchDefault', 'NoLaunchDefault']
