"""Runs the tests of a folder inside the sandbox, and reads their report."""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from engine.commands import junit
from engine.commands.limits import Limits
from engine.commands.process import Ran
from engine.commands.sandbox import Sandbox
from engine.files.workspace import Workspace

MOST_OUTPUT = 4_000
"""Characters of what the tests themselves say, where they made no report."""
REPORT = '{report}'
"""Stands in a command for the file that takes the report, in JUnit's XML."""
PYTEST = (
    sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-o', 'junit_family=xunit2', '--color=no',
    '--tb=short', f'--junitxml={REPORT}',
)  # fmt: skip
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
class Tested:
    """What came of running tests."""

    report: junit.Report | None
    """None where there is no report: they did not start, were ended, or found no test."""
    output: str
    """What they printed."""
    ran: Ran

    @property
    def passed(self) -> bool:
        """Whether there are tests, and none of them failed."""
        report = self.report
        if report is None or self.ran.code != 0:
            return False
        return report.passed > 0 and report.failed + report.errors == 0

    @property
    def text(self) -> str:
        """The counts and the failures; or the end of what was printed, and how it ended."""
        if self.report is None:
            return f'{self.output.strip()[-MOST_OUTPUT:]}\n{self.ran.said}'.lstrip('\n')
        return f'{self.report.text}\n{self.ran.said}' if self.ran.unsafe else self.report.text


async def run_suite(
    workspace: Workspace,
    sandbox: Sandbox,
    *,
    options: Sequence[str] = (),
    command: str = '',
    seconds: float = 120,
) -> Tested:
    """Run tests in a folder.

    Args:
        workspace: the folder.
        sandbox: what runs them.
        options: for pytest.
        command: a shell command in place of pytest; `{report}` in it stands for the file that takes its
            report. One that makes no report is judged by its exit code alone, as one test.
        seconds: how long they may take.

    Raises:
        ToolError: nothing can be run here.
    """
    mark = secrets.token_hex(16)
    wanted = command or shlex.join([*PYTEST, *options])
    # Quoted as it may be, the name of the report is the shell's to fill in.
    line = wanted.replace(f"'--junitxml={REPORT}'", '--junitxml="$report"').replace(REPORT, '"$report"')
    ran = await sandbox.run(['sh', '-c', SCRIPT, 'sh', mark, line], workspace, limits=Limits(seconds=seconds))
    output, found, xml = ran.output.rpartition(f'\n{mark}\n')
    report = junit.read(xml.strip()) if found else None
    if report is None and command and REPORT not in command and ran.ended == 'exit':
        report = _alone(command, ran, output)
    if report is not None and (ran.ended != 'exit' or not report.passed + report.failed + report.errors):
        report = None
    return Tested(report=report, output=output if found else ran.output, ran=ran)


def _alone(command: str, ran: Ran, output: str) -> junit.Report:
    """A command without a report, as a report of one test."""
    failed = ran.code != 0
    failure = junit.Failure(name=command, detail=output.strip()[-junit.MOST_DETAIL :])
    return junit.Report(
        passed=int(not failed),
        failed=int(failed),
        errors=0,
        skipped=0,
        seconds=0.0,
        failures=(failure,) if failed else (),
    )
