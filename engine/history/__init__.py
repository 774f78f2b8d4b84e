"""Operations on past runs: forks, comparison, statistics, bundles, retention."""

from engine.history.accepted_events import open_question
from engine.history.artifacts import artifacts_of, whole_value
from engine.history.bundle.documents import Imported
from engine.history.bundle.redaction import Redaction
from engine.history.bundle.writer import program_version
from engine.history.changed_patterns import find_change
from engine.history.comparison import (
    Comparison,
    Divergence,
    GuardDifference,
    JsonDifference,
    Piece,
    Row,
    RunStats,
    diff_words,
    diff_words_async,
    json_differences,
)
from engine.history.forks.fork_records import (
    CostEstimate,
    ForkOverrides,
    Kind,
    LineageNode,
    StepSource,
    lineage_tree,
    origin_of,
)
from engine.history.merging import COMPOSED_AGENT, Mergeable, MergeOptions, Pick, merge_message
from engine.history.path_statistics import merge_shapes
from engine.history.report import report_of
from engine.history.retention import CleanupResult, DiskUsage, folder_bytes
from engine.history.run_reader import RunReader

__all__ = [
    'COMPOSED_AGENT',
    'CleanupResult',
    'Comparison',
    'CostEstimate',
    'DiskUsage',
    'Divergence',
    'ForkOverrides',
    'GuardDifference',
    'Imported',
    'JsonDifference',
    'Kind',
    'LineageNode',
    'MergeOptions',
    'Mergeable',
    'Pick',
    'Piece',
    'Redaction',
    'Row',
    'RunReader',
    'RunStats',
    'StepSource',
    'artifacts_of',
    'diff_words',
    'diff_words_async',
    'find_change',
    'folder_bytes',
    'json_differences',
    'lineage_tree',
    'merge_message',
    'merge_shapes',
    'open_question',
    'origin_of',
    'program_version',
    'report_of',
    'whole_value',
]
