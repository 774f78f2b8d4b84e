"""The tools of the scripted agent: files and commands, all of them through its client."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.models.protocol import ToolSpec

MAX_LISTED = 500
SKIPPED_DIRS = frozenset({'.git', '__pycache__', 'node_modules', '.venv'})
EDITS, RUNS, READS, SEARCHES, THINKS = 'edit', 'execute', 'read', 'search', 'think'


class Refused(Exception):
    """A tool could not do what was asked."""


@dataclass(kw_only=True)
class Toolbox:
    """The tools of one session.

    Args:
        client: the connection.
        session: the session's id.
        folder: where it works.
    """

    client: Any
    session: str
    folder: Path
    notes: dict[str, str] = field(default_factory=dict)

    async def use(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Run a tool. Raises `Refused`."""
        from acp import RequestError

        tool = TOOLS.get(name)
        if tool is None:
            raise Refused(f'there is no tool {name!r}; available: {", ".join(TOOLS)}')
        try:
            return await tool.call(self, arguments)
        except RequestError as error:
            details = (
                error.data.get('details') or error.data.get('uri') if isinstance(error.data, dict) else ''
            )
            raise Refused(str(details or error)) from None
        except KeyError as error:
            raise Refused(f'it needs {error.args[0]}') from None

    async def _read(self, path: str) -> str:
        response = await self.client.read_text_file(path=str(self.folder / path), session_id=self.session)
        return str(response.content)

    async def read_file(self, arguments: Mapping[str, Any]) -> str:
        """The text of a file."""
        return await self._read(arguments['path'])

    async def write_file(self, arguments: Mapping[str, Any]) -> str:
        """Write a file."""
        path, text = str(arguments['path']), str(arguments['text'])
        await self.client.write_text_file(content=text, path=str(self.folder / path), session_id=self.session)
        return f'{path}: {len(text.splitlines())} lines'

    async def edit_file(self, arguments: Mapping[str, Any]) -> str:
        """Replace a passage that occurs once."""
        path, old, new = str(arguments['path']), str(arguments['old']), str(arguments['new'])
        text = await self._read(path)
        if text.count(old) != 1:
            raise Refused(f'{path}: the passage occurs {text.count(old)} times')
        return await self.write_file({'path': path, 'text': text.replace(old, new)})

    async def list_files(self, arguments: Mapping[str, Any]) -> str:
        """The files of the folder."""
        files = _walk_files(self.folder)
        return '\n'.join(files[:MAX_LISTED]) or 'There are no files yet.'

    async def search(self, arguments: Mapping[str, Any]) -> str:
        """Lines of files that fit a pattern."""
        pattern = re.compile(str(arguments.get('pattern') or arguments.get('query') or ''))
        hits = []
        for path in (await self.list_files({})).splitlines()[:MAX_LISTED]:
            place = self.folder / path
            if place.is_file():
                lines = place.read_text('utf-8', 'replace').splitlines()
                hits += [
                    f'{path}:{number}: {line}' for number, line in enumerate(lines, 1) if pattern.search(line)
                ]
        return '\n'.join(hits[:MAX_LISTED]) or 'Nothing was found.'

    async def run_command(self, arguments: Mapping[str, Any]) -> str:
        """Run a command in a terminal of the client's."""
        return await self._run(str(arguments['command']))

    async def run_tests(self, arguments: Mapping[str, Any]) -> str:
        """Run the tests; the counts come first."""
        tests = [str(arguments['path'])] if arguments.get('path') else []
        options = ['-q', '-p', 'no:cacheprovider', '--color=no', '--tb=short']
        try:
            return _lead_with_counts(
                await self._run(shlex.join([sys.executable, '-m', 'pytest', *options, *tests]))
            )
        except Refused as error:
            raise Refused(_lead_with_counts(str(error))) from None

    async def git(self, arguments: Mapping[str, Any]) -> str:
        """Run git."""
        return await self._run(shlex.join(['git', *map(str, arguments.get('arguments', ['status']))]))

    async def note(self, arguments: Mapping[str, Any]) -> str:
        """Write a note, or read all."""
        if arguments.get('action') == 'write':
            self.notes[str(arguments.get('title', ''))] = str(arguments.get('text', ''))
        return json.dumps(self.notes, ensure_ascii=False)

    async def _run(self, command: str) -> str:
        terminal = await self.client.create_terminal(
            command=command, session_id=self.session, cwd=str(self.folder), output_byte_limit=20_000
        )
        ended = await self.client.wait_for_terminal_exit(
            session_id=self.session, terminal_id=terminal.terminal_id
        )
        response = await self.client.terminal_output(
            session_id=self.session, terminal_id=terminal.terminal_id
        )
        await self.client.release_terminal(session_id=self.session, terminal_id=terminal.terminal_id)
        if ended.exit_code != 0:
            raise Refused(f'{response.output.strip()}\n[exit status {ended.exit_code}]'.strip())
        return str(response.output).strip()


def _lead_with_counts(report: str) -> str:
    """Put the counts at the front of a pytest report, passed ones first: scenarios look for them there."""
    last = re.findall(r'^(.*\bin [\d.]+)s(?: \(.*\))?$', report, re.MULTILINE)
    named = {what: count for count, what in re.findall(r'(\d+) (\w+)', last[-1])} if last else {}
    counts = [f'{named[what]} {what}' for what in ('passed', 'failed', 'errors', 'skipped') if what in named]
    seconds = last[-1].rpartition(' in ')[2] if last else ''
    return f'{", ".join(counts)} in {seconds} s\n\n{report}' if counts else report


def _walk_files(folder: Path) -> list[str]:
    paths: list[str] = []
    for around, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_DIRS)
        paths += [os.path.relpath(os.path.join(around, name), folder) for name in sorted(names)]
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool: its kind in the protocol, and what it does."""

    kind: str
    call: Callable[[Toolbox, Mapping[str, Any]], Awaitable[str]]
    needs: tuple[str, ...] = ()

    def spec(self, name: str) -> ToolSpec:
        """Return the tool's definition for the scripted model."""
        properties = {field: {'type': 'string'} for field in self.needs}
        schema = {'type': 'object', 'properties': properties, 'required': list(self.needs)}
        return ToolSpec(name=name, description=self.call.__doc__ or '', schema=schema)


TOOLS: Mapping[str, AgentTool] = {
    'list_files': AgentTool(kind=SEARCHES, call=Toolbox.list_files),
    'read_file': AgentTool(kind=READS, call=Toolbox.read_file, needs=('path',)),
    'write_file': AgentTool(kind=EDITS, call=Toolbox.write_file, needs=('path', 'text')),
    'edit_file': AgentTool(kind=EDITS, call=Toolbox.edit_file, needs=('path', 'old', 'new')),
    'search': AgentTool(kind=SEARCHES, call=Toolbox.search, needs=('pattern',)),
    'run_command': AgentTool(kind=RUNS, call=Toolbox.run_command, needs=('command',)),
    'run_tests': AgentTool(kind=RUNS, call=Toolbox.run_tests),
    'git': AgentTool(kind=RUNS, call=Toolbox.git),
    'notes': AgentTool(kind=THINKS, call=Toolbox.note),
}
