"""Experiments: which variant of a workflow is better on a dataset, and whether that is true."""

from engine.operations.experiments.adoption import AdoptionKind, AdoptionPlan, LaunchDefault, NoLaunchDefault
from engine.operations.experiments.answer.path_records import PathAnswer, PlaceStats, PlaceUse
from engine.operations.experiments.answer.records import Answer, TrendPoint, VariantComparison, VariantSummary
from engine.operations.experiments.answer.words import figures, plain, quoted
from engine.operations.experiments.checking import CheckedRun, CheckResult
from engine.operations.experiments.datasets import (
    Case,
    ImportedCases,
    case_of,
    export_csv,
    export_json_lines,
    import_cases,
)
from engine.operations.experiments.files.saved_test import scorers_of
from engine.operations.experiments.files.yaml_file import (
    SAMPLE,
    ExperimentFile,
    read_experiment,
    to_values,
)
from engine.operations.experiments.library import DatasetInfo, UnknownDataset
from engine.operations.experiments.marking import Agreement, Pairing, Unmarked
from engine.operations.experiments.planning import TAG, Amounts, Estimate, Plan, change_between, launch_of
from engine.operations.experiments.records import (
    MAX_SCORERS,
    MAX_VARIANTS,
    Cell,
    Direction,
    Experiment,
    Mark,
    Score,
    ScorerSpec,
    UnknownExperiment,
    Variant,
)
from engine.operations.experiments.scorers import KINDS, Scorer, read_scorers, scorer

__all__ = [
    'KINDS',
    'MAX_SCORERS',
    'MAX_VARIANTS',
    'SAMPLE',
    'TAG',
    'AdoptionKind',
    'AdoptionPlan',
    'Agreement',
    'Amounts',
    'Answer',
    'Case',
    'Cell',
    'CheckResult',
    'CheckedRun',
    'DatasetInfo',
    'Direction',
    'Estimate',
    'Experiment',
    'ExperimentFile',
    'ImportedCases',
    'LaunchDefault',
    'Mark',
    'NoLaunchDefault',
    'Pairing',
    'PathAnswer',
    'PlaceStats',
    'PlaceUse',
    'Plan',
    'Score',
    'Scorer',
    'ScorerSpec',
    'TrendPoint',
    'UnknownDataset',
    'UnknownExperiment',
    'Unmarked',
    'Variant',
    'VariantComparison',
    'VariantSummary',
    'case_of',
    'change_between',
    'export_csv',
    'export_json_lines',
    'figures',
    'import_cases',
    'launch_of',
    'plain',
    'quoted',
    'read_experiment',
    'read_scorers',
    'scorer',
    'scorers_of',
    'to_values',
]
