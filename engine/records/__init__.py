"""Records shared by all packages: frozen plain data that depends only on the engine's errors."""

from engine.records.breakpoint import Breakpoint
from engine.records.budget import Budget, Gauge
from engine.records.document import escape_token, resolve_pointer, split_pointer
from engine.records.events import (
    ANSWER,
    CONTROL,
    ENDINGS,
    EXHAUSTED,
    Change,
    Delta,
    DeltaKind,
    Edge,
    Event,
    GuardResult,
    JournalOutage,
    Outcome,
    Snapshot,
    Transition,
    View,
)
from engine.records.fault import Fault
from engine.records.jsonable import clip
from engine.records.message import Message, message_of
from engine.records.path_stats import RULES, Dwell, EdgeTraffic, Ends, PathStats, StateTraffic, Traffic
from engine.records.plans_and_artifacts import Artifact, Criterion, PlanItem
from engine.records.question import Question, answer_model
from engine.records.report import StatedReport
from engine.records.run_info import (
    MAX_NOTE,
    PURGING,
    Annotation,
    Approvals,
    Instant,
    Note,
    RunId,
    RunInfo,
    RunOrder,
    RunPage,
    RunQuery,
    Status,
)
from engine.records.shape import EdgeShape, PanelField, Shape, StateShape
from engine.records.state_path import RUN, StatePath, is_active, parent_of, within
from engine.records.usage import SOURCES, SUMMED, Origin, Spending, Usage

__all__ = [
    'ANSWER',
    'CONTROL',
    'ENDINGS',
    'EXHAUSTED',
    'MAX_NOTE',
    'PURGING',
    'RULES',
    'RUN',
    'SOURCES',
    'SUMMED',
    'Annotation',
    'Approvals',
    'Artifact',
    'Breakpoint',
    'Budget',
    'Change',
    'Criterion',
    'Delta',
    'DeltaKind',
    'Dwell',
    'Edge',
    'EdgeShape',
    'EdgeTraffic',
    'Ends',
    'Event',
    'Fault',
    'Gauge',
    'GuardResult',
    'Instant',
    'JournalOutage',
    'Message',
    'Note',
    'Origin',
    'Outcome',
    'PanelField',
    'PathStats',
    'PlanItem',
    'Question',
    'RunId',
    'RunInfo',
    'RunOrder',
    'RunPage',
    'RunQuery',
    'Shape',
    'Snapshot',
    'Spending',
    'StatePath',
    'StateShape',
    'StateTraffic',
    'StatedReport',
    'Status',
    'Traffic',
    'Transition',
    'Usage',
    'View',
    'answer_model',
    'clip',
    'escape_token',
    'is_active',
    'message_of',
    'parent_of',
    'resolve_pointer',
    'split_pointer',
    'within',
]
