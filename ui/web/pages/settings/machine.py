"""This machine on the settings page: the command sandbox, configuration and storage."""

from __future__ import annotations

import asyncio
import os
import platform
from pathlib import Path

from engine.history import folder_bytes, program_version
from engine.workspace import Sandbox
from ui.app.backend import Backend
from ui.formatting.values import byte_size
from ui.web.components.copy_buttons import copy_text
from ui.web.components.theme import button, notice
from ui.web.components.widgets import Box, Text, set_attributes

EXAMPLE = """\
[endpoints.work]
url = "https://models.example/v1"   # any API compatible with OpenAI chat completions
key = "env:WORK_KEY"                # or "keyring:hemicycle/work"; never the key itself
at_once = 4                         # concurrent calls

[endpoints.anthropic]
models = ["claude-sonnet-4-5"]      # offer only these

[endpoints.lab]
provider = "ollama"                 # a known provider at another address
url = "http://gpu.example:11434/v1"

[mcp.files]                         # an MCP server: a program, or an address with url
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

[prices."work/large"]               # dollars per million tokens
input = 2.5
output = 10

[retention]                         # deletes runs automatically; off by default
days = 90                           # runs that ended longer ago
runs = 200                          # all but the newest of each pattern
size = "20 GB"                      # the oldest, until all fit
"""
VARIABLES = (
    ('HEMICYCLE_UNSAFE_COMMANDS', 'commands without a sandbox, with all your permissions'),
    ('HEMICYCLE_COMMAND_NETWORK', 'network access for commands'),
    ('HEMICYCLE_PRIVATE_ADDRESSES', 'fetch_page to reach this machine and the local network'),
)


class CommandSandbox:
    """The status and permissions of the sandbox for agents' commands."""

    def __init__(self, backend: Backend) -> None:
        """Draw it; `load` checks."""
        self._sandbox: Sandbox = backend.root.sandbox
        private = backend.root.services.private_addresses
        Text('h2', 'Agent commands', id='commands')
        with Box('card endpoint'):
            with Box('endpoint-head'):
                Text('h3', 'Sandbox')
                self._pill = Text('span', 'Checking', 'pill')
            self._status = Text(
                'p', 'Checking whether bubblewrap works here…', 'endpoint-status', role='status'
            )
            self._loud = Box('ghost')
            with Box('facts wide', 'dl'):
                for (name, allows), on in zip(
                    VARIABLES, (self._sandbox.unsafe, self._sandbox.network, private), strict=True
                ):
                    with Box():
                        with Box(tag='dt'):
                            Text('code', name)
                        Text('dd', f'{"On: allows" if on else "Off. Set it to 1 to allow"} {allows}')

    async def load(self) -> None:
        """Check the sandbox, unless it has been checked."""
        problem = await self._sandbox.problem()
        if self._pill.is_deleted:
            return
        network = 'and the network' if self._sandbox.network else 'no network'
        if not problem:
            self._pill.show('Works')
            self._pill.classes('done')
            self._status.show(
                'Commands run under bubblewrap: read-only system, no home directory, no secrets from '
                f'the environment, {network}, and limits on time, memory, processes, files and output.'
            )
            return
        self._pill.show('Off' if not self._sandbox.unsafe else 'Not installed')
        self._pill.classes('failed' if self._sandbox.unsafe else 'cancelled')
        self._status.show(f'{problem} Then restart the server.')
        if self._sandbox.unsafe:
            with self._loud, notice('fail', 'gpp_maybe'):
                Text('b', 'Commands run without a sandbox.')
                Text(
                    'p',
                    'HEMICYCLE_UNSAFE_COMMANDS is on: commands written by a model run on this machine with'
                    ' all your permissions. They can read, change and send anything you can.',
                )


class StorageFacts:
    """Locations and sizes: configuration file, database, agents' files."""

    def __init__(self, backend: Backend) -> None:
        """Draw it; `load` measures."""
        self._backend, places = backend, backend.places
        Text('h2', 'Configuration', id='configuration')
        if places is None:
            Text('p', 'This server has no configuration file and keeps runs in memory only.', 'muted')
        else:
            there = (
                'It is read when the server starts.'
                if places.endpoints.exists()
                else 'The file does not exist yet.'
            )
            with Box(tag='p'):
                Text('span', 'Endpoints, MCP servers and prices are in ')
                Text('code', str(places.endpoints))
                Text('span', f'. {there}')
        with Box('copied'):
            with Box('listing', 'pre') as listing:
                Text('code', EXAMPLE)
            set_attributes(listing, tabindex='0', aria_label='Example file')
            copy = button('Copy', icon='content_copy', kind='small', aria_label='Copy example')
            copy.on('click', lambda: copy_text(EXAMPLE))
        Text('h2', 'Storage', id='kept')
        with Box('card facts kept', 'dl'):
            self._database = self._draw_fact('Database', str(places.database) if places else 'in memory')
            root = backend.root.workspaces.root if places else 'a temporary folder'
            self._files = self._draw_fact('Agent files', str(root))
            self._draw_fact('Logs and sessions', str(places.home) if places else 'nowhere')
            self._draw_fact('Version', f'Hemicycle {program_version()}, Python {platform.python_version()}')

    @staticmethod
    def _draw_fact(name: str, text: str) -> Text:
        with Box():
            Text('dt', name)
            with Box(tag='dd'):
                Text('code' if os.sep in text and ',' not in text else 'span', text)
                return Text('span', '', 'muted num')

    async def load(self) -> None:
        """Measure the sizes."""
        places = self._backend.places
        if places is None:
            return
        for text, path in (
            (self._database, places.database),
            (self._files, self._backend.root.workspaces.root),
        ):
            if isinstance(path, str):  # a database server, whose size is not measured
                continue
            total = await asyncio.to_thread(_size, path)
            if text.is_deleted:
                return
            text.show(byte_size(total))


def _size(path: Path) -> int:
    """Bytes of a folder, or of a database and its companion files. Does not follow links."""
    if path.is_dir():
        return round(folder_bytes(path, shared=True))
    files = (path.with_name(f'{path.name}{end}') for end in ('', '-wal', '-shm'))
    return sum(file.stat().st_size for file in files if file.is_file())
