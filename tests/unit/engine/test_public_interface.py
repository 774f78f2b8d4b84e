"""The public interface: every name exported by the engine is exported on purpose."""

import importlib
import inspect

import pytest

from engine import Conductor
from tests.tree import ROOT

PUBLIC = {
    'engine': (
        'Activity AgentOrchestrator Breakpoint Budget Catalog Conductor EngineError Event EventRefused '
        'InvalidInput LocalConductor Memory Pattern PatternError Retry Role RunHandle RunResult '
        'SimulatedClock Status TaskState ToolContext Transition agent run_collaborative_task stage tool'
    ),
    'engine.agents': ('AgentInfo Check Criteria Evidence RoleAssignment ToolPlayground ToolTrial agents_of'),
    'engine.history': (
        'AcceptedEvent COMPOSED_AGENT CleanupResult Comparison CostEstimate DiskUsage Divergence '
        'ForkOverrides GuardDifference Imported JsonDifference Kind LineageNode MergeOptions Mergeable Pick '
        'Piece Redaction RegressionResult RegressionTest Row RunReader RunStats StepSource artifacts_of '
        'diff_words diff_words_async find_change folder_bytes json_differences lineage_tree merge_message '
        'merge_shapes open_question origin_of program_version report_of whole_value'
    ),
    'engine.journal': (
        'Columns Documents Entry EntryQuery ExpiredRun Fold Journal MemoryJournal Reservation Retention '
        'StepMode Store WholeRun complete_snapshot fold usage_from_dict'
    ),
    'engine.models': (
        'CHARACTERS_A_TOKEN CallTiming EFFORT_LEVELS EFFORT_SYNTAX Endpoint EndpointHealth EndpointInfo '
        'LOCAL_ENDPOINTS ModelRegistry PROVIDERS SCRIPTED Waiting candidate_models endpoints_file '
        'is_effort'
    ),
    'engine.patterns': (
        'ACTIONS Agent BlogOrchestratorAgent BurnDown Candidate Choice CollaborationResult '
        'CollaborationState Comment Conflict Consensus Debate DelegatedTask Draft DynamicAgent Escalation '
        'GATE_TITLES Level LineComment MessageType Phase PhaseBudget Position Ranking Report Review '
        'RunStatus Stage StepStatus Suite SupervisorPlan TRIGGERS TaskResult TaskStatus Utterance Verdict '
        'VerificationResult Version audit_trail burn_down execute_plan open_points'
    ),
    'engine.records': (
        'ANSWER Annotation Approvals Artifact Breakpoint Budget COMPUTED CONTROL Change Conditions '
        'Criterion Delta DeltaKind Dwell ENDINGS ENGINE_EVENTS EXHAUSTED Edge EdgeShape EdgeTraffic Ends '
        'Event FailureData Fault Gauge GuardResult HIDDEN Instant JournalOutage Label Launch MAX_NOTE '
        'MAX_NUMBER MAX_TAG MAX_TAGS MAX_TITLE MarkField Message Note Origin Outcome PURGING PanelField '
        'PathStats PlanItem Question RULES RUN RecoverData ReplyData ResultData RunId RunInfo RunOrder '
        'RunPage RunQuery SOURCES SUMMED Shape Snapshot Spending StartOptions StatePath StateShape '
        'StateTraffic StatedReport Status Traffic Transition Usage VariantOptions View answer_model '
        'calls_of clip escape_token is_active is_within message_of parent_of payload refuse_nul reply_of '
        'resolve_pointer results_of snapshots_of split_pointer'
    ),
    'engine.operations': (
        'Agents Annotating Checking Door Endpoints Files Forking McpServers Merging NO_DATA Operation '
        'Reading Retaining Role Route Steering implement operation operations_of parts_of'
    ),
    'engine.runtime': (
        'ACTOR CONDITION_NAMES ConditionResult Feed GuardExplanation GuardExplanations Item LiveRuns Run '
        'TimerSnapshot acting_as new_run_id parse_condition region_of'
    ),
    'engine.statechart': ('AgentWork Deliverables edge_label mermaid read_leniently'),
    'engine.tools': (
        'McpSection RemoteTool ServerHealth Tool ToolOutput ToolRegistry bullet missing_requirement'
    ),
    'engine.workspace': (
        'CommandResult Confinement Conflict Entry FileChange FileVersion Hunk Limits MergePreview '
        'RemoteFile RemoteFiles Resolution Sandbox SuiteResult Workspace Workspaces apply_hunks '
        'close_folders format_patch is_own_work open_folders split_hunks'
    ),
    'engine.acp': ('AGENT_PREFIX AgentHealth ExternalAgentInfo ExternalAgents'),
    'engine.configuration': (
        'ConfigFile Configuration EndpointSection RetentionSection load_configuration parse_size'
    ),
    'engine.history.comparison': (
        'Comparison Divergence GuardDifference JsonDifference Piece Row RunStats align compare count_run '
        'diff_words diff_words_async json_differences'
    ),
    'engine.history.traces': ('attributes'),
    'engine.patterns.pipeline': ('AgentOrchestrator AnalyzerAgent Pipeline ResearchAgent ReviewerAgent'),
    'engine.patterns.supervisor': ('Supervisor'),
    'storage': (
        'AlreadyServed BackupInfo CopyInfo FileLocks Settings SqlJournal copy_database incomplete_runs '
        'inspect_database open_journal read_backup write_backup'
    ),
    'engine.models.scripted': ('QuickLoader Sample has_scenario scenarios'),
}


def test_every_package_with_public_names_is_listed() -> None:
    packages = [
        '.'.join(init.relative_to(ROOT).parent.parts)
        for init in sorted([*ROOT.glob('engine/**/__init__.py'), *ROOT.glob('storage/**/__init__.py')])
        if '__all__' in init.read_text('utf-8')
    ]
    assert packages == sorted(PUBLIC)


@pytest.mark.parametrize('method', ['start', 'send', 'pause', 'runs', 'fork', 'info', 'delete', 'check'])
def test_the_conductors_methods_are_documented_on_its_class(method: str) -> None:
    method_object = getattr(Conductor, method)
    assert inspect.getdoc(method_object)
    assert 'self' in inspect.signature(method_object).parameters


@pytest.mark.parametrize('door', PUBLIC)
def test_a_public_package_exports_exactly_these_names(door: str) -> None:
    module = importlib.import_module(door)
    assert sorted(module.__all__) == PUBLIC[door].split()
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
