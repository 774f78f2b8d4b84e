"""Runs the tests of a folder in the sandbox and parses their report."""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.workspace.confined_dir import split_path
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.sandbox.process import CommandResult
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.testing import junit
from engine.workspace.testing.python import import_options
from engine.workspace.testing.test_counts import count_passed, reports_failures
from engine.workspace.testing.test_setup import TestSetup
from engine.workspace.testing.tools import command_variables
from engine.workspace.workspace import Workspace

MAX_OUTPUT = 4_000
"""Maximum characters of output shown when there is no report."""
EXIT_STATUS = 'Its exit status counts only if a person gives it as the test command.'
REPORT_PLACEHOLDER = '{report}'
"""Placeholder in a command for the path of its JUnit XML report."""
SUPERVISOR = Path(__file__).with_name('pytest_supervisor.py').read_text('utf-8')
_pytest = importlib.util.find_spec('pytest')
PYTEST_FOLDER = str(Path(_pytest.origin).parents[1]) if _pytest and _pytest.origin else ''
PYTEST = (
    sys.executable, '-IB', '-c', SUPERVISOR, REPORT_PLACEHOLDER, PYTEST_FOLDER,
    '-q', '-p', 'no:cacheprovider', '--color=no', '--tb=short',
)  # fmt: skip
"""Isolated, so that no file in the folder can shadow the imports of the supervisor."""
SCRIPT = """
report=$(mktemp) && mark=$1 && command=$2 || exit 99
export report
sh -c "$command"
code=$?
printf '\\n%s\\n' "$mark"
cat "$report"
rm -f "$report"
exit $code
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """A run of tests: their report, their output, and how the command ended."""

    report: junit.Report | None
    """None if the tests did not start or were killed, or if none were found."""
    output: str
    """The tests' output."""
    ran: CommandResult
    counted: bool = True
    """Whether the report counts tests; if not, it represents a command judged by its exit code."""

    @property
    def passed(self) -> bool:
        """Whether there are tests and none failed."""
        report = self.report
        if report is None or self.ran.code != 0:
            return False
        return report.passed > 0 and report.failed + report.errors == 0

    @property
    def text(self) -> str:
        """The counts and failures; without a report, the end of the output and how the command ended."""
        if self.report is None:
            return f'{self.output.strip()[-MAX_OUTPUT:]}\n{self.ran.summary}'.lstrip('\n')
        text = self.report.text if self.counted else self.uncounted_text
        return f'{text}\n{self.ran.summary}' if self.ran.unsafe else text

    @property
    def uncounted_text(self) -> str:
        """The outcome of a command that counts no tests: whether it succeeded, and any failure output."""
        details = [failure.detail for failure in self.report.failures] if self.report else []
        outcome = 'succeeded' if self.passed else 'failed'
        return '\n\n'.join([f'the test command {outcome}; it reported no tests', *details])


def select_tests(path: str, keyword: str) -> list[str]:
    """Return pytest options that select tests by path in the folder and by keyword; '' selects all."""
    return [*(['-k', keyword] if keyword else []), *([f'./{"/".join(split_path(path))}'] if path else [])]


async def run_test_suite(  # noqa: PLR0913  (all but two have defaults)
    workspace: Workspace,
    sandbox: Sandbox,
    *,
    options: Sequence[str] = (),
    command: str = '',
    seconds: float = 120,
    setup: TestSetup | None = None,
    exit_counts: bool = True,
) -> SuiteResult:
    """Run tests in a folder.

    Args:
        workspace: the folder.
        sandbox: runs them.
        options: options for pytest.
        command: a shell command to use instead of pytest; `{report}` in it is the path for its report.
            Without a report, the tests count that its output mentions.
        seconds: the time limit.
        setup: the project's own environment; its command counts only if it is given as `command`.
        exit_counts: whether a command that reports no tests is judged by its exit code, as a person said.

    Raises:
        ToolError: commands cannot be run here.
    """
    mark, own = secrets.token_hex(16), setup or TestSetup()
    if not command:
        python, *arguments = PYTEST
        layout = await asyncio.to_thread(import_options, workspace.folder)
        test_command = shlex.join([own.python or python, *arguments, *layout, *options])
    else:
        test_command = command
    # The shell expands the report's name, however the command quotes it.
    line = test_command.replace(f"'{REPORT_PLACEHOLDER}'", '"$report"').replace(
        REPORT_PLACEHOLDER, '"$report"'
    )
    ran = await sandbox.run(
        ['sh', '-c', SCRIPT, 'sh', mark, line],
        workspace,
        Confinement(
            limits=Limits(seconds=seconds),
            variables=await command_variables(own, workspace, sandbox),
            mounts=own.mounts,
        ),
    )
    output, separator, xml = ran.output.rpartition(f'\n{mark}\n')
    report, counted = junit.parse_junit(xml.strip()) if separator else None, True
    if report is None and command and REPORT_PLACEHOLDER not in command and ran.ended == 'exit':
        tests = count_passed(output) if ran.code == 0 else 0
        failed = reports_failures(output)
        if ran.code != 0 or exit_counts or (tests and not failed):
            report, counted = _report_exit_code(command, ran, output, tests), tests > 0
        else:
            problem = (
                'its output reports failures' if failed else 'it reported no tests, which proves nothing'
            )
            output = f'{output.rstrip()}\n\nThe test command succeeded; {problem}. {EXIT_STATUS}'
    if report is not None and not _is_plausible(report, ran):
        report = None
    return SuiteResult(report=report, output=output if separator else ran.output, ran=ran, counted=counted)


def _is_plausible(report: junit.Report, ran: CommandResult) -> bool:
    """Return whether a report fits how the command ended: it can fail with all tests passed, or forge one."""
    bad = report.failed + report.errors
    return ran.ended == 'exit' and bool(bad or (report.passed and ran.code == 0))


def _report_exit_code(command: str, ran: CommandResult, output: str, tests: int) -> junit.Report:
    """Report a command without its own report, with the tests that its output counts, or as one test."""
    failed = ran.code != 0
    failure = junit.Failure(name=command, detail=output.strip()[-junit.MAX_DETAIL :])
    return junit.Report(
        passed=tests or int(not failed),
        failed=int(failed),
        errors=0,
        skipped=0,
        seconds=ran.seconds,
        failures=(failure,) if failed else (),
    )
