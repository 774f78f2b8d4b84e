"""The public interface: names for programs are listed; what else is exported must be of use to others."""

import importlib
import inspect
import re
from functools import cache

import pytest

from engine import Conductor
from tests import tree
from tests.tree import ROOT

FOR_PROGRAMS = {
    'engine': (
        'Activity AgentOrchestrator Breakpoint Budget Case Catalog Conductor EngineError Event EventRefused'
        ' Experiment InvalidInput LocalConductor Memory Pattern PatternError Retry Role RunHandle RunResult'
        ' Score ScorerSpec SimulatedClock Status TaskState ToolContext Transition Variant agent'
        ' run_collaborative_task scorer stage tool'
    ),
    'engine.patterns': (
        'ACTIONS Agent Ballot BlogOrchestratorAgent BurnDown Candidate ChartDraft Choice CodeReview'
        ' CollaborationResult CollaborationState Comment Conflict Consensus Debate DelegatedTask'
        ' Draft DynamicAgent Escalation GATE_TITLES Level LineComment MessageType Phase PhaseBudget'
        ' Position Ranking Report Review RunStatus Stage StepStatus Suite SupervisorPlan TRIGGERS'
        ' TaskResult TaskStatus Triage Utterance Verdict VerificationResult Version audit_trail'
        ' burn_down execute_plan open_points'
    ),
}
IMPORT = re.compile(r'^ *from ((?:engine|storage)[\w.]*) import (?:\(([^)]*)\)|(.+))', re.MULTILINE)
PACKAGES = [
    '.'.join(init.relative_to(ROOT).parent.parts)
    for init in sorted([*ROOT.glob('engine/**/__init__.py'), *ROOT.glob('storage/**/__init__.py')])
    if '__all__' in init.read_text('utf-8')
]


@pytest.mark.parametrize('method', ['start', 'send', 'pause', 'runs', 'fork', 'info', 'delete', 'check'])
def test_the_conductors_methods_are_documented_on_its_class(method: str) -> None:
    method_object = getattr(Conductor, method)
    assert inspect.getdoc(method_object)
    assert 'self' in inspect.signature(method_object).parameters


@pytest.mark.parametrize('door', FOR_PROGRAMS)
def test_programs_can_import_exactly_these_names(door: str) -> None:
    assert sorted(importlib.import_module(door).__all__) == FOR_PROGRAMS[door].split()


def test_a_package_exports_only_names_that_exist_and_that_others_use() -> None:
    assert len(PACKAGES) > 15
    for door in PACKAGES:
        module = importlib.import_module(door)
        assert [name for name in module.__all__ if not hasattr(module, name)] == [], door
        if door not in FOR_PROGRAMS:
            assert [name for name in module.__all__ if not is_used(door, name)] == [], door


def test_an_export_that_nobody_uses_is_noticed() -> None:
    assert is_used('engine.journal', 'Fold') and not is_used('engine.journal', 'JournalError')


def is_used(door: str, name: str) -> bool:
    """Whether a module outside the package imports the name from it, or a guide names it."""
    folder = door.replace('.', '/') + '/'
    importers = all_imports().get((door, name), [])
    return name in guide_words() or any(not path.startswith(folder) for path in importers)


@cache
def guide_words() -> frozenset[str]:
    pages = [ROOT / 'README.md', *(ROOT / 'assets').rglob('*.md')]
    return frozenset(word for page in pages for word in re.findall(r'\w+', page.read_text('utf-8')))


@cache
def all_imports() -> dict[tuple[str, str], list[str]]:
    """The modules and tests that import each name from each package."""
    importers: dict[tuple[str, str], list[str]] = {}
    for path in [*tree.modules(), *(ROOT / 'tests').rglob('*.py')]:
        for door, several, one in IMPORT.findall(path.read_text('utf-8')):
            for name in re.findall(r'\w+', several or one):
                importers.setdefault((door, name), []).append(str(path.relative_to(ROOT)))
    return importers
