"""Runs the tests of a candidate's work, where their author cannot reach them."""

from __future__ import annotations

import posixpath
import shlex
import sys
from dataclasses import dataclass
from pathlib import PurePosixPath

from engine.activity import Activity
from engine.commands import junit
from engine.commands.sandbox import Sandbox
from engine.commands.suite import PYTEST, Tested, run_suite
from engine.contest.records import Evidence, FailedTest, FileNote, Suite
from engine.errors import ToolError
from engine.files import project
from engine.files.workspace import Workspace

MOST_FAILURES = 12
MOST_DETAIL = 700
ALONE = (
    'env', 'PYTEST_DISABLE_PLUGIN_AUTOLOAD=1', sys.executable, '-P', *PYTEST[1:], '-p', 'anyio',
)  # fmt: skip
"""Pytest without what else is installed here: such plugins take longer to load than most tests to run."""
PROTECTED = ('--noconftest', '-c', '/dev/null', '--rootdir=.')
"""Nothing that the author may have put beside the tests is read: no settings, no plugin, no other pytest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """Which tests a candidate's work has to pass."""

    tests: str = ''
    """A project whose files are laid over the work before they are run; '' for none."""
    command: str = ''
    """What runs them, in place of pytest."""
    seconds: float = 120

    @property
    def any(self) -> bool:
        """Whether tests are required at all, beside those that the author wrote."""
        return bool(self.tests or self.command)


async def examine(checks: Checks, folder: str, activity: Activity) -> dict[str, object]:
    """Take a snapshot of a folder, and run its tests in a copy of it.

    Returns:
        `snapshots`, `files` (of the snapshot) and `evidence`. Tests that cannot be run here are evidence
        with a `problem`.
    """
    work = activity.workspace(folder)
    snapshot = await work.snapshot()
    files = await activity.services.workspaces.files(activity.run.id, snapshot)
    given = set(await _given(checks))
    notes = [
        FileNote(path=file.path, digest=file.digest, size=file.size, executable=file.executable)
        for file in files
        if file.target is None and '__pycache__' not in file.path
    ]
    written = [note.path for note in notes if note.path not in given]
    evidence = await _tested(checks, folder, snapshot, written, activity) if written else NOTHING
    return {
        'snapshots': {folder: snapshot},
        'files': [note.model_dump() for note in notes],
        'evidence': evidence.model_dump(mode='json'),
    }


NOTHING = Evidence(required=Suite(problem='no file was written'), own=Suite(problem='no file was written'))


async def _given(checks: Checks) -> list[str]:
    return await project.paths(checks.tests) if checks.tests else []


async def _tested(
    checks: Checks, folder: str, snapshot: str, written: list[str], activity: Activity
) -> Evidence:
    copy = activity.workspace(f'tests of {folder}')
    sandbox, own = activity.services.sandbox, Suite(problem='no test was written')
    unsafe = False
    try:
        own_tests = [path for path in written if _is_test(path)]
        if own_tests:
            await copy.restore(snapshot)
            tested = await _run(shlex.join([*ALONE, *own_tests]), checks, copy, sandbox)
            own, unsafe = _suite(tested), tested.ran.unsafe
        if not checks.any:
            return Evidence(required=own, own=own, unsafe=unsafe)
        required = await _required(checks, snapshot, copy, activity)
        return Evidence(required=_suite(required), own=own, unsafe=required.ran.unsafe)
    except ToolError as error:
        problem = f'the tests could not be run: {error}'
        return Evidence(required=Suite(problem=problem), own=Suite(problem=problem))


async def _required(checks: Checks, snapshot: str, copy: Workspace, activity: Activity) -> Tested:
    # After the author's own tests: whatever these did to the folder is gone.
    await copy.restore(snapshot)
    given = await _given(checks)
    if given:
        await project.lay_out(checks.tests, copy)
    tests = [path for path in given if _is_test(path)]
    command = checks.command or shlex.join([*ALONE, *PROTECTED, *tests])
    return await _run(command, checks, copy, activity.services.sandbox)


async def _run(command: str, checks: Checks, folder: Workspace, sandbox: Sandbox) -> Tested:
    return await run_suite(folder, sandbox, command=command, seconds=checks.seconds)


def _is_test(path: str) -> bool:
    """Whether pytest would take the file for one with tests."""
    name = posixpath.basename(path)
    return PurePosixPath(name).match('test_*.py') or PurePosixPath(name).match('*_test.py')


def _suite(tested: Tested) -> Suite:
    report: junit.Report | None = tested.report
    if report is None:
        return Suite(problem=(' '.join(tested.text.split())[-MOST_DETAIL:] or 'the tests made no report'))
    return Suite(
        passed=report.passed,
        failed=report.failed,
        errors=report.errors,
        skipped=report.skipped,
        failures=tuple(
            FailedTest(name=failure.name, detail=failure.detail[-MOST_DETAIL:])
            for failure in report.failures[:MOST_FAILURES]
        ),
    )
