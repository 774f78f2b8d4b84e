"""search: finds lines in the files of the agent's folder, with ripgrep if available."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated

from pydantic import Field

from engine.errors import ToolError
from engine.tools.protocol import ToolContext, tool
from engine.workspace.confined_dir import split_path
from engine.workspace.sandbox.limits import Confinement, Limits
from engine.workspace.workspace import Workspace

MAX_LINES = 200
"""Maximum number of lines shown."""
MAX_WIDTH = 300
SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin'
"""Where ripgrep is visible inside the sandbox."""
CONFINEMENT = Confinement(limits=Limits(seconds=30, output=1 << 20))


@tool(category='files', seconds=60)
async def search(
    context: ToolContext,
    pattern: Annotated[str, Field(min_length=1, max_length=1_000, description='A regular expression')],
    path: Annotated[str, Field(description='A file or folder; empty for your whole folder')] = '',
    literal: Annotated[bool, Field(description='Treat the pattern as plain text')] = False,
) -> str:
    """Find matching lines in your files; each is shown with its file and line number."""
    place = '/'.join(split_path(path)) or '.'
    if await context.commands.problem() and not context.commands.unsafe:
        # A regular expression that never finishes could not be interrupted in this process.
        if not literal:
            raise ToolError(
                f'only plain text can be searched for here: set literal. {await context.commands.problem()}'
            )
        return _report(await _search_files(context.files, pattern, place))
    ripgrep = shutil.which('rg', path=SEARCH_PATH)
    own = [sys.executable, '-I', '-c', PROGRAM, str(int(literal)), pattern, place]
    by_ripgrep = ['rg', '--line-number', '--no-heading', '--with-filename', '--color=never', '--sort=path']
    by_ripgrep += ['--hidden', '--glob=!.git', f'--max-columns={MAX_WIDTH}', *(['--fixed-strings'] * literal)]
    command = [*by_ripgrep, '-e', pattern, '--', place] if ripgrep else own
    ran = await context.commands.run(command, context.files, CONFINEMENT)
    nothing = ran.code == 1 and not ran.output
    if ran.ended not in ('exit', 'output') or (ran.ended == 'exit' and ran.code and not nothing):
        raise ToolError(f'{ran.output.strip()[:1_000]} {ran.summary}')
    return _report([line.removeprefix('./') for line in ran.output.splitlines()])


def _report(lines: list[str]) -> str:
    if not lines:
        return 'Nothing matches.'
    more = [f'[there is more: only the first {MAX_LINES} lines are shown]'] if len(lines) > MAX_LINES else []
    return '\n'.join([*lines[:MAX_LINES], *more])


async def _search_files(files: Workspace, text: str, place: str) -> list[str]:
    """Search for plain text, without a sandbox."""
    try:
        paths = [entry.path for entry in await files.entries(place) if entry.kind == 'a file']
    except ToolError:
        paths = [place]
    matches: list[str] = []
    for path in paths:
        lines = (await files.read(path)).decode(errors='replace').split('\n')
        hits = (f'{path}:{number}:{line[:MAX_WIDTH]}' for number, line in enumerate(lines, 1) if text in line)
        matches.extend(hits)
        if len(matches) > MAX_LINES:
            break
    return matches


PROGRAM = f"""
import os, re, sys
literal, pattern, place = sys.argv[1:]
try:
    matches = re.compile(re.escape(pattern) if literal == '1' else pattern).search
except (re.error, OverflowError) as error:
    print(error)
    sys.exit(2)
def walk(place):
    if not os.path.isdir(place):
        yield place
    for folder, inner, names in os.walk(place):
        inner[:] = sorted(name for name in inner if name != '.git')
        for name in sorted(names):
            yield os.path.join(folder, name)
if not os.path.exists(place):
    print(place + ': there is no such file or folder')
    sys.exit(2)
found = False
for path in walk(place):
    if os.path.islink(path) or not os.path.isfile(path):
        continue
    try:
        with open(path, 'rb') as file:
            data = file.read()
    except OSError:
        continue
    if b'\\0' in data[:8000]:
        continue
    for number, line in enumerate(data.decode(errors='replace').split('\\n'), 1):
        if matches(line):
            found = True
            print(f'{{path}}:{{number}}:{{line[:{MAX_WIDTH}]}}')
sys.exit(0 if found else 1)
"""
