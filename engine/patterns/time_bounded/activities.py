"""The loop's own activities: copying the project, diffing, running tests, saving files."""

from __future__ import annotations

from typing import Any

from engine.patterns.time_bounded.agents import FOLDER, MAX_DIFF
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.parameters import parameters_of
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.workspace.project import SKIPPED_DIRS, copy_project
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.test_run import SuiteResult, run_test_suite

MAX_FILES = 200


async def prepare_project(scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Put the project into the shared folder. Raises `WorkspaceError`."""
    workspace, project = activity.workspace(FOLDER), parameters_of(scope).project
    if project:
        snapshot = await copy_project(project, workspace, over=activity.given_files)
    else:
        await workspace.make()
        snapshot = await workspace.snapshot()
    return {'run': activity.run.id, 'snapshot': snapshot, 'snapshots': {FOLDER: snapshot}}


async def collect_changes(memory: Memory, activity: Activity) -> dict[str, Any]:
    """Collect the changes made by the step and by the whole run."""
    workspaces, run = activity.services.workspaces, activity.run.id
    snapshot = await activity.workspace(FOLDER).snapshot()
    step = await workspaces.diff(run, memory.step_base, snapshot)
    whole = await workspaces.diff(run, memory.base, snapshot)
    sources = [change for change in step if _is_source(change.path)]
    return {
        'files': [change.path for change in sources][:MAX_FILES],
        'all': [change.path for change in whole if _is_source(change.path)][:MAX_FILES],
        'diff': ''.join(change.text for change in sources)[:MAX_DIFF],
        'snapshot': snapshot,
        'snapshots': {FOLDER: snapshot},
    }


async def run_tests(scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Run the project's tests."""
    parameters, workspace = parameters_of(scope), activity.workspace(FOLDER)
    setup = await current_setup(parameters.project, workspace)
    suite = await run_test_suite(
        workspace,
        activity.services.sandbox,
        command=parameters.test_command or setup.command,
        seconds=parameters.test_seconds,
        setup=setup,
        exit_counts=bool(parameters.test_command),
    )
    return {'tests': _count_tests(suite)}


async def save_files(memory: Memory, activity: Activity) -> dict[str, Any]:
    """Take a snapshot of the files as they are, for later work."""
    snapshot = await activity.workspace(FOLDER).snapshot()
    return {'snapshot': snapshot, 'snapshots': {FOLDER: snapshot}}


def _count_tests(suite: SuiteResult) -> dict[str, Any]:
    report = suite.report
    if report is None:
        return {'passed': False, 'text': suite.text or 'no tests were found'}
    bad = report.failed + report.errors
    if not suite.counted:
        return {'passed': suite.passed, 'text': suite.uncounted_text}
    line = f'{report.passed} passed, {bad} failed' + (f', {report.skipped} skipped' if report.skipped else '')
    failures = [f'{failure.name}\n{failure.detail}' for failure in report.failures]
    return {
        'passed': suite.passed, 'good': report.passed, 'bad': bad, 'skipped': report.skipped,
        'text': '\n\n'.join([line, *failures]),
    }  # fmt: skip


def _is_source(path: str) -> bool:
    """Whether a file is source rather than a by-product of running it."""
    return not SKIPPED_DIRS.intersection(path.split('/')) and not path.endswith('.pyc')
