"""run_tests: pytest in the agent's folder, inside the sandbox, with a short report."""

from __future__ import annotations

import secrets
import sys
from typing import Annotated

from pydantic import Field

from engine import junit
from engine.beneath import parts_of
from engine.limits import Limits
from engine.tool import ToolContext, tool

LONGEST = 600
MOST_OUTPUT = 4_000
"""Characters of what pytest itself says, where it made no report."""
SCRIPT = """
report=$(mktemp) && mark=$1 && shift || exit 99
"$@" --junitxml="$report"
code=$?
printf '\\n%s\\n' "$mark"
cat "$report"
rm -f "$report"
exit $code
"""


@tool(category='commands', side_effects=True, seconds=LONGEST + 30)
async def run_tests(
    context: ToolContext,
    path: Annotated[str, Field(description='A file or a folder with tests; nothing for all of them')] = '',
    keyword: Annotated[str, Field(max_length=200, description='Only tests whose names fit this')] = '',
    seconds: Annotated[float, Field(gt=0, le=LONGEST, description='How long they may take')] = 120,
) -> str:
    """Run your tests with pytest: how many passed, and what went wrong in the others."""
    mark = secrets.token_hex(16)
    options = ['-q', '-p', 'no:cacheprovider', '-o', 'junit_family=xunit2', '--color=no', '--tb=short']
    chosen = [f'./{"/".join(parts_of(path))}'] if path else []
    pytest = [sys.executable, '-m', 'pytest', *options, *(['-k', keyword] if keyword else []), *chosen]
    ran = await context.commands.run(
        ['sh', '-c', SCRIPT, 'sh', mark, *pytest], context.files, limits=Limits(seconds=seconds)
    )
    output, _, xml = ran.output.rpartition(f'\n{mark}\n')
    report = junit.read(xml.strip()) if output else None
    if ran.ended != 'exit' or report is None or not report.passed + report.failed + report.errors:
        said = (output or ran.output).strip()
        return f'{said[-MOST_OUTPUT:]}\n{ran.said}'.lstrip('\n')
    return f'{report.text}\n{ran.said}' if ran.unsafe else report.text
