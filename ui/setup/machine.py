"""This machine on the settings page: whether commands are shut in, and where everything is kept."""

from __future__ import annotations

import asyncio
import os
import platform
from pathlib import Path

from nicegui import ui

from engine import Sandbox, folder_bytes, program
from ui.door import Door
from ui.parts import Text, attach
from ui.presenters.words import size
from ui.theme import button, notice

EXAMPLE = """\
[endpoints.work]
url = "https://models.example/v1"   # anything that speaks OpenAI chat completions
key = "env:WORK_KEY"                # or "keyring:hemicycle/work"; never the key itself
at_once = 4                         # calls under way at a time

[endpoints.anthropic]
models = ["claude-sonnet-4-5"]      # offer these only

[endpoints.lab]
provider = "ollama"                 # like a known one, elsewhere
url = "http://gpu.example:11434/v1"

[mcp.files]                         # the tools of an MCP server: a program, or an address with url
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

[prices."work/large"]               # dollars for a million tokens
input = 2.5
output = 10

[retention]                         # what is deleted by itself; without it nothing is
days = 90                           # runs that ended longer ago
runs = 200                          # all but the newest of each pattern
size = "20 GB"                      # the oldest, until all fit
"""
VARIABLES = (
    ('HEMICYCLE_UNSAFE_COMMANDS', 'commands also where there is no sandbox, with all your rights'),
    ('HEMICYCLE_COMMAND_NETWORK', 'the network to commands'),
    ('HEMICYCLE_PRIVATE_ADDRESSES', 'pages of this machine and of your own network to fetch_page'),
)


class Commands:
    """Whether agents' commands can run here, and what they may do."""

    def __init__(self, door: Door) -> None:
        """Draw it; `load` finds out."""
        self._sandbox: Sandbox = door().sandbox
        private = door().services.private_addresses
        Text('h2', 'Commands of agents', id='commands')
        with ui.element('div').classes('card endpoint'):
            with ui.element('div').classes('endpoint-head'):
                Text('h3', 'Sandbox')
                self._pill = Text('span', 'Looking', 'pill')
            self._said = Text('p', 'Trying whether bubblewrap works here …', 'endpoint-said', role='status')
            self._loud = ui.element('div').classes('ghost')
            with ui.element('dl').classes('facts wide'):
                for (name, allows), on in zip(
                    VARIABLES, (self._sandbox.unsafe, self._sandbox.network, private), strict=True
                ):
                    with ui.element('div'):
                        with ui.element('dt'):
                            Text('code', name)
                        Text('dd', f'{"On: it allows" if on else "Off. If it is 1, it allows"} {allows}')

    async def load(self) -> None:
        """Try the sandbox, unless that has been done."""
        problem = await self._sandbox.problem()
        if self._pill.is_deleted:
            return
        network = 'and the network' if self._sandbox.network else 'no network'
        if not problem:
            self._pill.show('Works')
            self._pill.classes('done')
            self._said.show(
                'Commands run under bubblewrap: the system read-only, nothing of your home, no secrets from '
                f'the environment, {network}, and limits on time, memory, processes, files and output.'
            )
            return
        self._pill.show('Off' if not self._sandbox.unsafe else 'Not there')
        self._pill.classes('failed' if self._sandbox.unsafe else 'waiting')
        self._said.show(f'{problem} Then start the server again.')
        if self._sandbox.unsafe:
            with self._loud, notice('fail', 'gpp_maybe'):
                Text('b', 'Commands run without a sandbox.')
                Text(
                    'p',
                    'HEMICYCLE_UNSAFE_COMMANDS is on: what a model writes is run on this machine with all'
                    ' your rights. It can read, change and send away whatever you can.',
                )


class Kept:
    """The configuration file, the database, the files of agents: where they are, and how large."""

    def __init__(self, door: Door) -> None:
        """Draw it; `load` measures."""
        self._door, places = door, door.places
        Text('h2', 'Configuration', id='configuration')
        if places is None:
            Text('p', 'This server reads no configuration file, and keeps runs in memory only.', 'muted')
        else:
            there = (
                'It is read when the server starts.' if places.endpoints.exists() else 'It is not there yet.'
            )
            with ui.element('p'):
                Text('span', 'Endpoints, MCP servers and prices are in ')
                Text('code', str(places.endpoints))
                Text('span', f'. {there}')
        with ui.element('div').classes('copied'):
            with ui.element('pre').classes('listing') as shown:
                Text('code', EXAMPLE)
            attach(shown, tabindex='0', aria_label='An example of the file')
            copy = button('Copy', icon='content_copy', kind='small')
            attach(copy, aria_label='Copy the example')
            copy.on('click', lambda: ui.notify('Copied'), js_handler=COPY)
        Text('h2', 'Where things are kept', id='kept')
        with ui.element('dl').classes('card facts kept'):
            self._database = self._fact('Database', str(places.database) if places else 'in memory')
            root = door().workspaces.root if places else 'a temporary folder'
            self._files = self._fact('Files of agents', str(root))
            self._fact('Logs and sessions', str(places.home) if places else 'nowhere')
            self._fact('Version', f'Hemicycle {program()}, Python {platform.python_version()}')

    @staticmethod
    def _fact(name: str, text: str) -> Text:
        with ui.element('div'):
            Text('dt', name)
            with ui.element('dd'):
                Text('code' if os.sep in text and ',' not in text else 'span', text)
                return Text('span', '', 'muted num')

    async def load(self) -> None:
        """Say how large they are."""
        places = self._door.places
        if places is None:
            return
        for told, path in ((self._database, places.database), (self._files, self._door().workspaces.root)):
            found = await asyncio.to_thread(_size, path)
            if told.is_deleted:
                return
            told.show(size(found))


COPY = """async () => {
    await navigator.clipboard.writeText(document.querySelector('.copied code').textContent);
    emit();
}"""


def _size(path: Path) -> int:
    """Bytes of a folder, or of a database with the files beside it. Follows no link."""
    if path.is_dir():
        return round(folder_bytes(path, shared=True))
    beside = (path.with_name(f'{path.name}{end}') for end in ('', '-wal', '-shm'))
    return sum(found.stat().st_size for found in beside if found.is_file())
