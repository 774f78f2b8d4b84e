"""Experiments: which variant of a workflow is better on a dataset, and whether that is true."""

from engine.experiments.answer.records import Answer, VariantComparison, VariantSummary
from engine.experiments.answer.words import figures, plain
from engine.experiments.datasets import Case, ImportedCases, export_csv, export_json_lines, import_cases
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
    'DatasetInfo',
    'Direction',
    'Experiment',
    'ExperimentFile',
    'ImportedCases',
    'Mark',
    'Pairing',
    'Plan',
    'Score',
    'ScorerSpec',
    'UnknownDataset',
    'UnknownExperiment',
    'Variant',
    'VariantComparison',
    'VariantSummary',
    'export_csv',
    'export_json_lines',
    'figures',
    'import_cases',
    'plain',
    'read_experiment',
    'scorer',
]
