"""Runs tests on a candidate's work where its author cannot reach them."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Self

from engine.errors import ToolError
from engine.patterns.competition.records import Evidence, FailedTest, FileEntry, Suite
from engine.runtime.activity import Activity
from engine.workspace import project
from engine.workspace.confined_dir import TEMP_PREFIX
from engine.workspace.git.worktree import has_worktree, listed_files
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.testing import junit
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.test_run import PYTEST, SuiteResult, run_test_suite
from engine.workspace.workspace import Workspace

MAX_FAILURES = 12
MAX_DETAIL = 700
PYTEST_WITHOUT_PLUGINS = (
    'env', 'PYTEST_DISABLE_PLUGIN_AUTOLOAD=1', *PYTEST, '-p', 'anyio',
)  # fmt: skip
"""Pytest without other installed plugins, which take longer to load than most tests take to run."""
PROTECTED = ('--noconftest', '-c', '/dev/null', '--rootdir=.')
"""Ignore anything the author may have put next to the tests: settings, plugins, another pytest."""

TEST_LIST = f'{TEMP_PREFIX}tests'
MAX_ARGUMENTS = 60_000
"""Maximum characters of the files that a command names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The tests that a candidate's work must pass."""

    tests: str = ''
    """A project whose files are copied over the work before the tests run; '' for none."""
    command: str = ''
    """The command that runs the tests instead of pytest."""
    seconds: float = 120
    project: str = ''
    """The project that the work began from, in whose environment they run; '' for none."""

    @classmethod
    def of(cls, parameters: Any) -> Self:
        """Return the tests that a contest's form requires."""
        return cls(
            tests=parameters.tests,
            command=parameters.command,
            seconds=parameters.test_seconds,
            project=parameters.project,
        )

    @property
    def has_required(self) -> bool:
        """Whether any tests are required besides the author's own."""
        return bool(self.tests or self.command)


async def examine(checks: Checks, folder: str, activity: Activity) -> dict[str, object]:
    """Take a snapshot of a folder and run its tests in a copy.

    Returns:
        `snapshots`, `files` (of the snapshot) and `evidence`. If tests cannot be run here, the evidence
        has a `problem`.
    """
    work = activity.workspace(folder)
    snapshot = await work.snapshot()
    files = await activity.services.workspaces.files(activity.run.id, snapshot)
    check_files = set(await _list_checks(checks))
    notes = [
        FileEntry(path=file.path, digest=file.digest, size=file.size, executable=file.executable)
        for file in files
        if file.target is None and '__pycache__' not in file.path and not file.path.startswith('.git/')
    ]
    written = [note.path for note in notes if note.path not in check_files]
    evidence = await _run_tests(checks, folder, snapshot, written, activity) if written else NO_EVIDENCE
    return {
        'snapshots': {folder: snapshot},
        'files': [note.model_dump() for note in notes],
        'evidence': evidence.model_dump(mode='json'),
    }


async def has_written(
    folder: str, snapshot: str, projects: Sequence[str], activity: Activity, *, worktree: bool = False
) -> bool:
    """Whether a folder holds more than its initial projects; by-products of tools do not count.

    Args:
        folder: the folder's name.
        snapshot: the folder's contents.
        projects: the initial projects, in the order they were copied.
        activity: the run's activity.
        worktree: whether the first project was given as a git worktree.
    """
    content = await _digests(snapshot, activity)
    return bool(content) and content != await given_files(projects, activity, worktree=worktree)


async def given_files(projects: Sequence[str], activity: Activity, *, worktree: bool) -> dict[str, str]:
    """Return the digests of the files that a folder starts with, by path; parameters as for `has_written`."""
    given: dict[str, str] = {}
    for source in projects:
        by_git = worktree and source == projects[0] and has_worktree(source)
        given |= await project.project_digests(source, await listed_files(source) if by_git else None)
    return given | await _digests(activity.given_files, activity)


async def _digests(snapshot: str, activity: Activity) -> dict[str, str]:
    files = await activity.services.workspaces.files(activity.run.id, snapshot)
    return {
        file.path: file.digest
        for file in files
        if file.target is None and project.SKIPPED_DIRS.isdisjoint(PurePosixPath(file.path).parts)
    }


NO_EVIDENCE = Evidence(
    required=Suite(problem='no file was written'), own=Suite(problem='no file was written')
)


async def _list_checks(checks: Checks) -> list[str]:
    return await project.project_paths(checks.tests) if checks.tests else []


async def _run_tests(
    checks: Checks, folder: str, snapshot: str, written: list[str], activity: Activity
) -> Evidence:
    copy = activity.workspace(f'tests of {folder}')
    sandbox, own_suite = activity.services.sandbox, Suite(problem='no test was written')
    unsafe = False
    try:
        own_tests = [path for path in written if _is_test(path)]
        if own_tests:
            await copy.restore(snapshot)
            result = await _run(own_tests, checks, copy, sandbox)
            own_suite, unsafe = _suite(result), result.ran.unsafe
        if not checks.has_required:
            return Evidence(required=own_suite, own=own_suite, none_required=True, unsafe=unsafe)
        required = await _run_required(checks, snapshot, copy, activity)
        return Evidence(required=_suite(required), own=own_suite, unsafe=required.ran.unsafe)
    except ToolError as error:
        problem = f'the tests could not be run: {error}'
        suite = Suite(problem=problem)
        return Evidence(required=suite, own=suite, none_required=not checks.has_required)


async def _run_required(checks: Checks, snapshot: str, copy: Workspace, activity: Activity) -> SuiteResult:
    # Undo any changes that the author's own tests made to the folder.
    await copy.restore(snapshot)
    check_files = await _list_checks(checks)
    if check_files:
        await project.copy_project(checks.tests, copy)
    tests = [path for path in check_files if _is_test(path)]
    return await _run(tests, checks, copy, activity.services.sandbox, *PROTECTED, command=checks.command)


async def _run(
    tests: Sequence[str],
    checks: Checks,
    folder: Workspace,
    sandbox: Sandbox,
    *options: str,
    command: str = '',
) -> SuiteResult:
    """Run a command, or pytest on these files, in the environment of the project if it has one."""
    setup = await current_setup(checks.project, folder)
    if not command:
        program = (setup.python, *PYTEST[1:]) if setup.python else PYTEST_WITHOUT_PLUGINS
        command = shlex.join([*program, *options, *await _named(tests, folder)])
    return await run_test_suite(folder, sandbox, command=command, seconds=checks.seconds, setup=setup)


async def _named(tests: Sequence[str], folder: Workspace) -> Sequence[str]:
    """Return the files as arguments; more than fit a command are named in a file, which pytest 8.2 reads."""
    if sum(map(len, tests)) <= MAX_ARGUMENTS:
        return tests
    await folder.write(TEST_LIST, '\n'.join(tests).encode('utf-8', 'surrogateescape'))
    return [f'@{TEST_LIST}']


def _is_test(path: str) -> bool:
    """Whether pytest would treat the file as a test file."""
    name = posixpath.basename(path)
    return PurePosixPath(name).match('test_*.py') or PurePosixPath(name).match('*_test.py')


def _suite(tested: SuiteResult) -> Suite:
    report: junit.Report | None = tested.report
    if report is None:
        return Suite(problem=(' '.join(tested.text.split())[-MAX_DETAIL:] or 'the tests produced no report'))
    return Suite(
        passed=report.passed,
        failed=report.failed,
        errors=report.errors,
        skipped=report.skipped,
        counted=tested.counted,
        failures=tuple(
            FailedTest(name=failure.name, detail=failure.detail[-MAX_DETAIL:])
            for failure in report.failures[:MAX_FAILURES]
        ),
    )
