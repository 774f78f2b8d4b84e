"""Datasets: cases on which experiments run, read from tables and from runs."""

from engine.operations.experiments.datasets.cells import escape_formula
from engine.operations.experiments.datasets.exporting import export_csv, export_json_lines
from engine.operations.experiments.datasets.from_runs import case_of
from engine.operations.experiments.datasets.importing import import_cases
from engine.operations.experiments.datasets.lines import MAX_BYTES, check_size, read_lines, write_lines
from engine.operations.experiments.datasets.records import (
    MAX_CASES,
    RECORDED_OPTIONS,
    Case,
    ImportedCases,
    Recording,
)

__all__ = [
    'MAX_BYTES',
    'MAX_CASES',
    'RECORDED_OPTIONS',
    'Case',
    'ImportedCases',
    'Recording',
    'case_of',
    'check_size',
    'escape_formula',
    'export_csv',
    'export_json_lines',
    'import_cases',
    'read_lines',
    'write_lines',
]
