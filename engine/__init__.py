"""The door of the engine: what the window, the command line and other programs may use."""

from engine.activity import Activity, Retry
from engine.agent import Role, agent, message_of
from engine.bounded.escalation import ACTIONS, TRIGGERS, Level
from engine.bounded.gates import TITLES
from engine.bounded.report import Report, is_time_bounded, markdown, report_of
from engine.bounded.schedule import Burn, burn_down
from engine.bounded.schedule import Clock as PhaseClock
from engine.bundle.importing import Imported, import_bundle
from engine.bundle.redaction import Redaction
from engine.bundle.writing import export_bundle, family, program
from engine.catalog import Catalog, Fault
from engine.clock import Clock, RealClock, SimulatedClock
from engine.commands.limits import Limits
from engine.commands.process import Ran
from engine.commands.sandbox import Sandbox
from engine.comparing import Comparison, Divergence, GuardDifference, Row, Tally, Unlike, aligned, unlike
from engine.conductor import Conductor
from engine.dynamic.agent import DynamicAgent
from engine.dynamic.artifacts import Artifact, Given
from engine.dynamic.criteria import Check, Criteria, Criterion, Evidence
from engine.dynamic.job import Agent, BlogOrchestratorAgent, Job
from engine.dynamic.phases import Phase
from engine.dynamic.registry import Registry, lacking
from engine.errors import (
    BundleError,
    Diverged,
    EngineError,
    EventRefused,
    InvalidInput,
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalUnavailable,
    ModelError,
    PatternError,
    StaleOwner,
    ToolError,
    UnknownNote,
    UnknownPattern,
    UnknownRun,
    UnknownStep,
    WorkspaceError,
)  # fmt: skip
from engine.feed import Feed, Item
from engine.files.difference import FileChange
from engine.files.scratch import Scratch, Tried
from engine.files.tree import FileVersion
from engine.files.workspace import Entry, Workspace
from engine.files.workspaces import Workspaces
from engine.forks.lineage import kind_of
from engine.forks.saved import Checked, Saved
from engine.forks.variation import Forecast, Kin, Play, Variation
from engine.grounds import Ground, Grounds
from engine.journal import Journal, WholeRun
from engine.keeping.keeper import Tidied
from engine.keeping.retention import Retention, Taken
from engine.keeping.weight import Weight, folder_bytes
from engine.mcp.remote import RemoteTool
from engine.mcp.server import ServerHealth
from engine.memory import Memory
from engine.message import Message
from engine.notation import edge_label, mermaid
from engine.passing import MemoryJournal
from engine.path import is_active, parent_of, within
from engine.pattern import Pattern
from engine.pointer import escape, lookup, parts_of
from engine.records import (
    CONTROL,
    ENDINGS,
    EXHAUSTED,
    Annotation,
    Breakpoint,
    Budget,
    Change,
    Delta,
    Edge,
    EdgeShape,
    EdgeTraffic,
    Event,
    Gauge,
    Guard,
    Note,
    Origin,
    Outcome,
    Oversight,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    Spending,
    StatePath,
    StateShape,
    StateTraffic,
    Status,
    Traffic,
    Transition,
    Trouble,
    Usage,
    View,
)
from engine.scripted.library import QuickLoader, Sample, scenarios
from engine.stage import Stage, stage
from engine.stepping.expression import NAMES as CONDITION_NAMES
from engine.stepping.expression import parsed as parse_condition
from engine.stepping.halts import How
from engine.stepping.regions import region_of
from engine.steps import Step
from engine.teams.cast import Part
from engine.teams.collaborate import execute_plan, run_collaborative_task
from engine.teams.collaboration import (
    CollaborationResult,
    CollaborationState,
    DelegatedTask,
    SupervisorPlan,
    TaskResult,
)
from engine.teams.staff import AgentInfo, agents_of
from engine.tool import Tool, ToolContext, tool
from engine.traffic.union import union
from engine.view import Fold, fold
from engine.wire.offer import HOMES, Health, Offer, Offered

# fmt: off
__all__ = [  # noqa: RUF022  (by theme, for a newcomer to read)
    # run workflows
    'Conductor',
    'Catalog',
    'Offer',
    'Offered',
    'Health',
    'HOMES',
    'ServerHealth',
    'RemoteTool',
    'Sample',
    'scenarios',
    'Fault',
    'Clock',
    'RealClock',
    'SimulatedClock',
    'Feed',
    'Item',
    # fork runs
    'Variation',
    'Saved',
    'Checked',
    'Play',
    'Forecast',
    'Kin',
    'kind_of',
    # write patterns
    'Pattern',
    'Memory',
    'agent',
    'Role',
    'Part',
    'Step',
    'stage',
    'Stage',
    'Activity',
    'Retry',
    'Tool',
    'ToolContext',
    'tool',
    'Scratch',
    'Tried',
    'AgentInfo',
    'agents_of',
    # agents that choose their tools, and what they make
    'DynamicAgent',
    'Phase',
    'Criteria',
    'Check',
    'Evidence',
    'Criterion',
    'Artifact',
    'Given',
    'Registry',
    'lacking',
    'Agent',
    'Job',
    'BlogOrchestratorAgent',
    # have a team work on something
    'run_collaborative_task',
    'execute_plan',
    'CollaborationResult',
    'CollaborationState',
    'DelegatedTask',
    'SupervisorPlan',
    'TaskResult',
    # read runs of the time-bounded loop
    'is_time_bounded',
    'Report',
    'report_of',
    'markdown',
    # read runs
    'Breakpoint',
    'How',
    'CONDITION_NAMES',
    'parse_condition',
    'region_of',
    'is_active', 'parent_of', 'within',
    'fold',
    'Fold',
    'message_of',
    'Annotation',
    'Budget',
    'mermaid',
    'edge_label',
    'Change',
    'Delta',
    'Edge',
    'EdgeShape',
    'Event',
    'Gauge',
    'Ground',
    'Grounds',
    'Guard',
    'Message',
    'Note',
    'Origin',
    'Outcome',
    'Oversight',
    'RunId',
    'RunInfo',
    'RunPage',
    'RunQuery',
    'Shape',
    'Snapshot',
    'Spending',
    'StatePath',
    'StateShape',
    'Status',
    'Transition',
    'Trouble',
    'Usage',
    'View',
    'Traffic',
    'EdgeTraffic',
    'StateTraffic',
    'union',
    'CONTROL',
    'ENDINGS',
    'EXHAUSTED',
    # compare two runs
    'Comparison',
    'Divergence',
    'Row',
    'GuardDifference',
    'Tally',
    'Unlike',
    'unlike',
    'aligned',
    # read documents: at JSON pointers, and YAML
    'parts_of', 'lookup', 'escape', 'QuickLoader',
    # work within a time: its phases, the ladder of interventions, the gates
    'PhaseClock',
    'Burn',
    'burn_down',
    'Level',
    'ACTIONS',
    'TRIGGERS',
    'TITLES',
    # keep runs
    'Journal',
    'MemoryJournal',
    'Retention',
    'Taken',
    'Tidied',
    'Weight',
    'folder_bytes',
    'WholeRun',
    # take runs to another place
    'export_bundle',
    'family',
    'import_bundle',
    'Imported',
    'Redaction',
    'program',
    # the files of agents, and commands in them
    'Workspaces',
    'Workspace',
    'Entry',
    'FileVersion',
    'FileChange',
    'Sandbox',
    'Limits',
    'Ran',
    # what may go wrong
    'BundleError', 'Diverged', 'EngineError', 'EventRefused', 'InvalidInput', 'JournalConflict',
    'JournalDamaged', 'JournalError', 'JournalUnavailable', 'ModelError', 'PatternError', 'StaleOwner',
    'ToolError', 'UnknownNote', 'UnknownPattern', 'UnknownRun', 'UnknownStep', 'WorkspaceError',
]
# fmt: on
