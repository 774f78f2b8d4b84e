"""Experiments: which variant of a workflow is better on a dataset, and whether that is true."""

from engine.experiments.datasets import Case
from engine.experiments.files import SAMPLE, ExperimentFile, read_experiment
from engine.experiments.library import DatasetInfo, UnknownDataset
from engine.experiments.planning import Plan
from engine.experiments.records import Cell, Experiment, ScorerSpec, UnknownExperiment, Variant
from engine.experiments.scorers import scorer

__all__ = [
    'SAMPLE',
    'Case',
    'Cell',
    'DatasetInfo',
    'Experiment',
    'ExperimentFile',
    'Plan',
    'ScorerSpec',
    'UnknownDataset',
    'UnknownExperiment',
    'Variant',
    'read_experiment',
    'scorer',
]
