"""Experiments: which variant of a workflow is better on a dataset, and whether that is true."""

from engine.experiments.answer.records import Answer, Comparison, VariantSummary
from engine.experiments.answer.words import figures, plain
from engine.experiments.datasets import Case
from engine.experiments.files import SAMPLE, ExperimentFile, read_experiment
from engine.experiments.library import DatasetInfo, UnknownDataset
from engine.experiments.marking import Agreement, Pairing
from engine.experiments.planning import Plan
from engine.experiments.records import (
    Cell,
    Direction,
    Experiment,
    Mark,
    Score,
    ScorerSpec,
    UnknownExperiment,
    Variant,
)
from engine.experiments.scorers import KINDS, scorer

__all__ = [
    'KINDS',
    'SAMPLE',
    'Agreement',
    'Answer',
    'Case',
    'Cell',
    'Comparison',
    'DatasetInfo',
    'Direction',
    'Experiment',
    'ExperimentFile',
    'Mark',
    'Pairing',
    'Plan',
    'Score',
    'ScorerSpec',
    'UnknownDataset',
    'UnknownExperiment',
    'Variant',
    'VariantSummary',
    'figures',
    'plain',
    'read_experiment',
    'scorer',
]
