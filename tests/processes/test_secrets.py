"""No key is stored or shown: a whole run with keys, then a search for them."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import re
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from engine import Catalog, LocalConductor
from engine.history import ForkOverrides
from engine.models.recording.exchange import read_exchanges, unpack
from engine.records import RunId, RunQuery
from storage import open_journal
from tests.bench.servers.processes import free_port
from tests.models.server import Server, Wire, serving
from tests.models.speech import AnthropicSpeech, OpenAISpeech, anthropic
from tests.support import forkserver
from tests.tree import ROOT
from ui.web.exports.formats import FORMATS, stream_export

SECRETS = {
    'OPENAI_API_KEY': 'sk-first-secret-11111',
    'WORK_KEY': 'sk-second-secret-22222',
    'WORK_TEAM': 'Bearer third-secret-33333',
    'WORK_QUERY': 'fourth-secret-44444',
    'SMALL_TOKEN': 'fifth-secret-55555',
}
BASE64 = re.compile(r'[A-Za-z0-9+/]{24,}')
HIDDEN = re.compile('(first|second|third|fourth|fifth)-secret')

PATTERN = '''
"""A pattern for one test."""

from engine import Memory, Pattern, agent


class Leaky(Pattern):
    """One agent with a server's tools and a file."""

    class Memory(Memory):
        said: str = ''

    initial = 'working'
    answer = 'said'
    states = (
        agent('working', tools=('mcp:small', 'write_file'), then='keep'),
        {'name': 'over', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    )
    transitions = (['done', 'working', 'over'], ['failed', 'working', 'lost'])

    def prompt_working(self, memory):
        return 'do it'

    def keep(self, memory, event):
        memory.said = event.data['text']
'''

CONFIGURATION = """
[endpoints.work]
url = "{url}/second"
dialect = "anthropic"
key = "env:WORK_KEY"
headers = {{x-team = "env:WORK_TEAM"}}
query = {{api-key = "env:WORK_QUERY"}}

[mcp.small]
command = "{python}"
args = ["{root}/tests/support/mcp/server.py", "stdio"]
start = 60
env = {{SMALL_TOKEN = "env:SMALL_TOKEN"}}
"""


class Standin:
    """Two providers in one server that echo the keys in all errors."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.asked: list[str] = []
        self.holds, self.came, self.let_go = False, asyncio.Event(), asyncio.Event()
        self.seen: list[str] = []
        """Files that contained a key during the run."""

    async def __call__(self, wire: Wire) -> None:
        head = wire.request.decode()
        kind = 'work' if '/second/' in head.partition('\r\n')[0] else 'openai'
        self.asked.append(kind)
        self.came.set()
        if self.holds:
            await self.let_go.wait()
        echo = ' '.join(head.split('\r\n'))
        speech = AnthropicSpeech() if kind == 'work' else OpenAISpeech()
        nth = self.asked.count(kind)
        if nth == 1 or kind == 'openai':
            body = speech.refusal(f'You sent: {echo}', 'api_error' if nth == 1 else 'authentication_error')
            await wire.head('500 Oh no' if nth == 1 else '401 No', content_type='application/json')
            await wire.chunk(body)
        elif nth == 2:
            # One is split in the middle of a key, inside an answer.
            error = anthropic('error', error={'type': 'overloaded_error', 'message': echo})
            at = error.index(b'second-secret') + 6
            await wire.head()
            await wire.chunk(error[:at])
            await asyncio.sleep(0.02)
            await wire.chunk(error[at:])
        else:
            self.seen = find_leaks(self._home)
            await wire.head()
            await wire.chunk(calling() if nth == 3 else speech.start + speech.say('all done') + speech.stop)
            await wire.chunk(speech.end)
        await wire.end()


def calling() -> bytes:
    tool_calls = [
        ('small_leak', {'how': 'error'}),
        ('small_leak', {'how': 'text'}),
        ('write_file', {'path': 'notes.txt', 'text': 'nothing secret'}),
    ]
    body = anthropic('message_start', message={'id': '1', 'model': 'm', 'usage': {'input_tokens': 3}})
    for index, (name, arguments) in enumerate(tool_calls):
        block = {'type': 'tool_use', 'id': f't{index}', 'name': name, 'input': arguments}
        body += anthropic('content_block_start', index=index, content_block=block)
        body += anthropic('content_block_stop', index=index)
    return body + anthropic('message_delta', delta={'stop_reason': 'tool_use'}, usage={'output_tokens': 5})


def find_leaks(home: Path) -> list[str]:
    files = [path for path in home.rglob('*') if path.is_file() and path.name != 'endpoints.toml']
    return [path.name for path in files if HIDDEN.search(path.read_bytes().decode('latin-1'))]


async def hemicycle(home: Path, url: str, *arguments: str) -> tuple[int | None, str]:
    output = home.with_name(f'{home.name}.said')  # outside the home, which is searched for keys
    output.unlink(missing_ok=True)
    process = forkserver.start([*arguments], environment(home, url), output)
    await asyncio.to_thread(process.join, 240)
    return process.exitcode, output.read_text('utf-8')


@asynccontextmanager
async def leaking(home: Path, standin: Standin) -> AsyncIterator[Server]:
    """The providers, configured in a home with the pattern."""
    (home / 'patterns').mkdir()
    (home / 'patterns' / 'leaky.py').write_text(PATTERN)
    async with serving(standin) as server:
        text = CONFIGURATION.format(url=server.url, python=sys.executable, root=ROOT)
        (home / 'endpoints.toml').write_text(text)
        yield server


@asynccontextmanager
async def serving_pages(home: Path, url: str) -> AsyncIterator[str]:
    """The address of a dashboard whose output goes to a file in the home."""
    port = free_port()
    command = ['serve', '--port', str(port), '--patterns', str(home / 'patterns')]
    (home / 'server.out').touch()
    process = forkserver.start(command, environment(home, url), home / 'server.out')
    try:
        yield f'http://127.0.0.1:{port}'
    finally:
        process.terminate()
        await asyncio.to_thread(process.join, 60)
        process.kill()


async def page(http: httpx.AsyncClient, address: str, having: str = '') -> str:
    """A page of the dashboard, once it answers with this text."""
    for _ in range(600):
        try:
            text = (await http.get(address, timeout=30)).text
            if having in text:
                return text
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.1)
    raise AssertionError(f'the server does not say {having!r}')


def environment(home: Path, url: str) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in ('PATH', 'HOME', 'LANG') if name in os.environ}
    return {
        **inherited,
        **SECRETS,
        'HEMICYCLE_HOME': str(home),
        'HEMICYCLE_OPENAI_URL': f'{url}/openai',
        'HEMICYCLE_ENDPOINTS': str(home / 'endpoints.toml'),
        'COLUMNS': '200',
    }


async def read_everything(home: Path) -> str:
    """Read all journaled data, decompressed, and the unpacked archive of the files."""
    texts: list[str] = []
    async with LocalConductor(
        await open_journal(home / 'hemicycle.db'), workspaces=home / 'workspaces'
    ) as reader:
        for info in (await reader.runs(RunQuery())).runs:
            view = await reader.view(info.id)
            texts += [repr(info), repr(await reader.transitions(info.id)), repr(view)]
            for agent, snapshot in view.files.items():
                archive = home / f'{info.id}-{agent}.zip'
                await reader.workspaces.export(info.id, snapshot, archive)
                with zipfile.ZipFile(archive) as opened:
                    texts += [opened.read(name).decode('latin-1') for name in opened.namelist()]
            recording = reader.recordings.path(info.id)
            for take in read_exchanges(recording) if recording.exists() else ():
                pieces = b''.join(unpack(piece) for _, piece in take.pieces)
                texts += [repr(take), pieces.decode('latin-1')]
    return '\n'.join(texts)


async def test_no_key_is_stored_or_printed(tmp_path: Path) -> None:
    standin = Standin(tmp_path)
    async with leaking(tmp_path, standin) as server:
        command = (
            'run',
            'leaky',
            '--patterns',
            str(tmp_path / 'patterns'),
            '--record',
            '--approvals',
            'none',
        )
        code, output = await hemicycle(
            tmp_path, server.url, *command, '--json', '--model', 'openai/m, work/m'
        )
        assert code == 0, output
        assert standin.asked.count('work') == 4
        code, failed = await hemicycle(tmp_path, server.url, *command, '--model', 'openai/m')
        assert code == 1 and 'You sent' in failed
        commands = (
            ('show', 'last', '--json'),
            ('runs', 'audit', 'last', *command[2:4]),
        )
        others = [await hemicycle(tmp_path, server.url, *arguments) for arguments in commands]
        run, request_count = RunId(json.loads(output.splitlines()[0])['run']), len(standin.asked)
        replayed = await hemicycle(tmp_path, server.url, *command[:4], '--approvals', 'none', '--replay', run)
        assert replayed[0] == 0 and 'all done' in replayed[1], replayed[1]
        assert len(standin.asked) == request_count
    everything = await read_everything(tmp_path)
    # The keys did reach the journal, where they are hidden.
    assert everything.count('[hidden]') > 5 and 'bad token [hidden]' in everything
    assert 'nothing secret' in everything and 'the token is [hidden]' in everything
    for text in (everything, output, failed, *(out for _, out in others), replayed[1]):
        assert not HIDDEN.search(text), HIDDEN.search(text)
    assert standin.seen == [] and find_leaks(tmp_path) == []


def layers(data: bytes) -> str:
    """The whole contents of an export, decompressed and decoded from base64."""
    if data[:2] == b'\x1f\x8b':
        return layers(gzip.decompress(data))
    text = data.decode('latin-1')
    words = [word[:-1] if len(word) % 4 == 1 else word for word in BASE64.findall(text)]
    inside = [base64.b64decode(word + '=' * (-len(word) % 4)) for word in words]
    return '\n'.join([text, *map(layers, inside)])


async def fork_variants(home: Path, run: RunId) -> tuple[str, list[RunId]]:
    """Fork two variants of a run, and return their tag and ids; one has other instructions and wins."""
    catalog = Catalog.load([home / 'patterns'], home / 'endpoints.toml')
    journal = await open_journal(home / 'hemicycle.db')
    async with LocalConductor(journal, catalog=catalog, workspaces=home / 'workspaces') as conductor:
        at = next(
            step.seq for step in await conductor.transitions(run) if 'working.using_tools' in step.entered
        )
        overrides = ForkOverrides(instructions={'working': 'Say less.'}, after='recorded')
        forks = await conductor.fork_all(
            run, at, {'same': ForkOverrides(after='recorded'), 'told': overrides}
        )
        for fork in forks:
            assert (await conductor.result(fork)).status == 'done'
        await conductor.mark_winner(forks[1])
        return (await conductor.lineage(forks[0])).children[0].group, forks


@pytest.mark.long
async def test_no_key_is_exported_or_shown_by_the_debugger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    async with leaking(tmp_path, Standin(tmp_path)) as server:
        command = (
            'leaky',
            '--patterns',
            str(tmp_path / 'patterns'),
            '--record',
            '--approvals',
            'none',
            '--json',
        )
        code, output = await hemicycle(tmp_path, server.url, 'run', *command, '--model', 'openai/m, work/m')
        assert code == 0, output
        run = RunId(json.loads(output.splitlines()[0])['run'])
        group, forks = await fork_variants(tmp_path, run)
        pages = [
            *(f'runs/{run}{end}' for end in ('', '/fork?at=4', '/family')),
            f'variants/{group}', f'variants/{group}?blind=1', f'compare?a={run}&b={forks[1]}&at=5',
            *(f'runs/{run}?at={step}' for step in (2, 4, 6)), f'runs/{forks[1]}?at=5',
            'patterns/leaky/traffic', 'launch/leaky', f'launch/leaky?replay={run}', 'trash',
        ]  # fmt: skip
        files: dict[str, bytes] = {}
        async with serving_pages(tmp_path, server.url) as address, httpx.AsyncClient() as http:
            page_texts = {name: await page(http, f'{address}/{name}') for name in pages}
            for form in FORMATS:
                answer = await http.get(f'{address}/runs/{forks[1]}/export/{form}', timeout=60)
                assert answer.status_code == 200, answer.text
                files[f'{form} of the fork'] = answer.content
        body = b''.join(files.values()).decode(errors='replace')
        assert 'bad token [hidden]' in body and 'Say less.' in body
        assert f'{forks[0]}' in page_texts[f'variants/{group}']
        for name, text in page_texts.items():
            assert not HIDDEN.search(text), (name, HIDDEN.search(text))
        assert find_leaks(tmp_path) == []  # from here on only text written by people
        catalog = Catalog.load(endpoints=tmp_path / 'endpoints.toml')
        journal = await open_journal(tmp_path / 'hemicycle.db')
        async with LocalConductor(journal, catalog=catalog, workspaces=tmp_path / 'workspaces') as writer:
            key = SECRETS['WORK_KEY']
            await writer.annotate(run, title=f'With {key}', note=key, tags=[key])
            await writer.write_note(run, f'the key is {SECRETS["SMALL_TOKEN"]}', at=4)
            for form in FORMATS:
                files[f'{form}, annotated'] = b''.join(
                    [piece async for piece in stream_export(writer, run, form)]
                )
        arguments = ('runs', 'export', run, '--bundle', '--family', '-o', str(tmp_path / 'family'))
        code, output = await hemicycle(tmp_path, server.url, *arguments)
        assert code == 0 and not HIDDEN.search(output), output
        files['of the command line'] = (tmp_path / 'family').read_bytes()
    for name, data in files.items():
        text = layers(data)
        assert '[hidden]' in text, name
        assert not HIDDEN.search(text), (name, HIDDEN.search(text))


async def test_a_server_logs_and_shows_no_key(tmp_path: Path) -> None:
    standin = Standin(tmp_path)
    async with leaking(tmp_path, standin) as server:
        standin.holds = True
        command = ('run', 'leaky', '--patterns', str(tmp_path / 'patterns'), '--json', '--model', 'openai/m')
        cut_off = forkserver.Command([*command], environment(tmp_path, server.url))
        run = json.loads(await asyncio.wait_for(asyncio.to_thread(cut_off.stdout.readline), 120))['run']
        await asyncio.wait_for(standin.came.wait(), 120)
        cut_off.kill()
        await asyncio.to_thread(cut_off.communicate)
        standin.holds = False
        standin.let_go.set()
        # The server continues the run, is refused with the key in the message, and logs that.
        async with serving_pages(tmp_path, server.url) as address, httpx.AsyncClient() as http:
            for _ in range(600):
                if 'is failed' in (log := (tmp_path / 'server.out').read_text()):
                    break
                await asyncio.sleep(0.1)
            names = (f'runs/{run}', f'runs/{run}/export/markdown', '', 'runs', 'settings', 'tools')
            page_texts = [await page(http, f'{address}/{name}') for name in names]
    assert 'is failed' in log and '[hidden]' in log
    for text in (log, *page_texts):
        assert not HIDDEN.search(text), HIDDEN.search(text)
    assert find_leaks(tmp_path) == []
