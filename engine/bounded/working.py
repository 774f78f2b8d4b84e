"""The work that the loop does itself: lays the project out, sees changes, runs tests, keeps files."""

from __future__ import annotations

from typing import Any

from engine.activity import Activity
from engine.bounded.prompts import MOST_DIFF
from engine.bounded.roles import FOLDER
from engine.bounded.state import OrchestrationState as Memory
from engine.commands.suite import Tested, run_suite
from engine.files.project import SKIPPED, lay_out

MOST_FILES = 200


class Working:
    """Activities of the pattern."""

    parameters: Any

    async def prepare(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """Put the project into the folder that all share. Raises `WorkspaceError`."""
        workspace = activity.workspace(FOLDER)
        if self.parameters.project:
            snapshot = await lay_out(self.parameters.project, workspace)
        else:
            await workspace.make()
            snapshot = await workspace.snapshot()
        return {'snapshot': snapshot, 'snapshots': {FOLDER: snapshot}}

    async def collect(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """What the step, and the whole run, have changed."""
        workspaces, run = activity.services.workspaces, activity.run.id
        snapshot = await activity.workspace(FOLDER).snapshot()
        step = await workspaces.diff(run, memory.step_base, snapshot)
        whole = await workspaces.diff(run, memory.base, snapshot)
        mine = [change for change in step if _is_source(change.path)]
        return {
            'files': [change.path for change in mine][:MOST_FILES],
            'all': [change.path for change in whole if _is_source(change.path)][:MOST_FILES],
            'diff': ''.join(change.text for change in mine)[:MOST_DIFF],
            'snapshot': snapshot,
            'snapshots': {FOLDER: snapshot},
        }

    async def test(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """Run the project's tests."""
        return await self._tests(activity)

    async def integrate(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """Run all tests once more, on the whole."""
        return await self._tests(activity)

    async def save(self, memory: Memory, activity: Activity) -> dict[str, Any]:
        """Keep the files as they are, for whoever goes on."""
        snapshot = await activity.workspace(FOLDER).snapshot()
        return {'snapshot': snapshot, 'snapshots': {FOLDER: snapshot}}

    async def _tests(self, activity: Activity) -> dict[str, Any]:
        tested = await run_suite(
            activity.workspace(FOLDER),
            activity.services.sandbox,
            command=self.parameters.test_command,
            seconds=self.parameters.test_seconds,
        )
        return {'tests': _counted(tested)}


def _counted(tested: Tested) -> dict[str, Any]:
    report = tested.report
    if report is None:
        return {'passed': False, 'text': tested.text or 'no tests were found'}
    bad = report.failed + report.errors
    line = f'{report.passed} passed, {bad} failed' + (f', {report.skipped} skipped' if report.skipped else '')
    failures = [f'{failure.name}\n{failure.detail}' for failure in report.failures]
    return {
        'passed': tested.passed, 'good': report.passed, 'bad': bad, 'skipped': report.skipped,
        'text': '\n\n'.join([line, *failures]),
    }  # fmt: skip


def _is_source(path: str) -> bool:
    """Whether a file is somebody's work, and no product of running it."""
    return not SKIPPED.intersection(path.split('/')) and not path.endswith('.pyc')
